"""A system that answers questions of an evaluation."""

from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class AnsweringSystem:
    """A model with a strategy."""

    name: str
    """Unique among the systems."""
    model: BaseChatModel
    strategy: str
