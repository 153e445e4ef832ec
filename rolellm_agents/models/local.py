"""What models in this process can do besides answering: be loaded early, and read ahead."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage


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
