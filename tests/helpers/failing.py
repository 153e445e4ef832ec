"""Models that stop answering."""

from collections.abc import Callable
from itertools import count

from langchain_core.messages import BaseMessage

from rolellm_agents.errors import ModelError


def failing_after(
    calls: int, answer: Callable[[list[BaseMessage]], str]
) -> Callable[[list[BaseMessage]], str]:
    """The same function for so many calls; all later ones fail."""
    number = count()

    def limited(messages: list[BaseMessage]) -> str:
        if next(number) >= calls:
            raise ModelError("The model is asleep; wake it.")
        return answer(messages)

    return limited
