"""Features of models in this process: early loading, prefetch, token counts, prompt prefixes on disk."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage

from rolellm_agents.models.streamed import StreamedChatModel
from rolellm_agents.text import estimated_tokens

CACHED_PREFIX = "cached_prefix"
"""A key in `additional_kwargs` of a first message: the prefix of its text that may be written to disk."""


class Cancellable(Protocol):
    """Work that can be cancelled."""

    def cancel(self) -> None:
        """End the work soon."""


@runtime_checkable
class LocalModel(Protocol):
    """A chat model that caches the prompts that it has computed."""

    def load(self) -> object:
        """Open the model's file now rather than at the first answer."""

    def prefetch(self, messages: Sequence[BaseMessage]) -> Cancellable:
        """Prefill the prefix of a coming prompt while no answer is pending."""


def runs_here(model: BaseChatModel) -> bool:
    """Whether a model computes in this process, as all classes of ours do; other classes ask a server."""
    return isinstance(model, StreamedChatModel)


def load_model(model: BaseChatModel) -> None:
    """Open a local model's file now rather than at the first answer; do nothing for other models.

    Raises:
        ModelError: the file cannot be loaded.
    """
    if isinstance(model, LocalModel):
        model.load()


def cacheable(message: BaseMessage) -> BaseMessage:
    """Allow a model in this process to cache the computed text of a system message on disk.

    The permission covers the current text of the message. Text that is appended later is not written, and
    text that is inserted before it withdraws the permission. Other models ignore the mark.

    Args:
        message: the first message of recurring prompts, such as a persona's instruction.
    """
    marks = {**message.additional_kwargs, CACHED_PREFIX: message.text}
    return message.model_copy(update={"additional_kwargs": marks})


def cached_prefix(messages: Sequence[BaseMessage]) -> str | None:
    """The prefix of a prompt's text that may be written to disk; None if there is none."""
    if not messages or messages[0].type != "system":
        return None
    prefix = messages[0].additional_kwargs.get(CACHED_PREFIX)
    return prefix if isinstance(prefix, str) and prefix else None


def count_tokens(model: BaseChatModel, text: str) -> tuple[int, bool]:
    """The number of tokens of a text, and whether that is exact.

    A model in this process counts with its own tokenizer. For other models the number is estimated:
    LangChain would download the tokenizer of a different model, which is no more accurate.

    Raises:
        ModelError: the model's file cannot be loaded.
    """
    if isinstance(model, LocalModel) and type(model).get_token_ids is not BaseLanguageModel.get_token_ids:
        return model.get_num_tokens(text), True
    return estimated_tokens(text), False
