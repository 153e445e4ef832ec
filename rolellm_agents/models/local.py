"""What models in this process can do besides answering: be loaded early, read ahead, count tokens."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage

from rolellm_agents.text import estimated_tokens


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
