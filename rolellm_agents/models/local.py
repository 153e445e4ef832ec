"""What models in this process can do besides answering.

They can be loaded early, read ahead, count tokens, and keep the beginning of a prompt on disk.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage

from rolellm_agents.text import estimated_tokens

CACHED_PREFIX = "cached_prefix"
"""In `additional_kwargs` of a first message: the text at its beginning that may be written to disk."""


class Cancellable(Protocol):
    """Work that may have become pointless."""

    def cancel(self) -> None:
        """End it soon."""


@runtime_checkable
class LocalModel(Protocol):
    """A chat model that keeps what it has read."""

    def load(self) -> object:
        """Open its file now rather than at its first answer."""

    def prefetch(self, messages: Sequence[BaseMessage]) -> Cancellable:
        """Read the beginning of a coming prompt while nobody waits for an answer."""


def load_model(model: BaseChatModel) -> None:
    """Open a local model's file now rather than at its first answer; others need nothing.

    Raises:
        ModelError: the file cannot be loaded.
    """
    if isinstance(model, LocalModel):
        model.load()


def cacheable(message: BaseMessage) -> BaseMessage:
    """A system message whose text a model in this process may keep on disk, as it has computed it.

    The permission holds for the text that the message has now. Text that is added behind it later is not
    written, and text that is put before it withdraws the permission. Other models take no notice.

    Args:
        message: the first message of prompts that come again, such as a persona's instruction.
    """
    marks = {**message.additional_kwargs, CACHED_PREFIX: message.text}
    return message.model_copy(update={"additional_kwargs": marks})


def cached_prefix(messages: Sequence[BaseMessage]) -> str | None:
    """The text at the beginning of a prompt that may be written to disk; None when nothing may be."""
    if not messages or messages[0].type != "system":
        return None
    prefix = messages[0].additional_kwargs.get(CACHED_PREFIX)
    return prefix if isinstance(prefix, str) and prefix else None


def count_tokens(model: BaseChatModel, text: str) -> tuple[int, bool]:
    """How many tokens a text takes, and whether that is exact.

    A model in this process counts with its own tokenizer, others are estimated: LangChain would download
    another model's tokenizer for them, which counts no better.

    Raises:
        ModelError: the model's file cannot be loaded.
    """
    if isinstance(model, LocalModel) and type(model).get_token_ids is not BaseLanguageModel.get_token_ids:
        return model.get_num_tokens(text), True
    return estimated_tokens(text), False
