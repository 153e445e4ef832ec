"""Models that stop answering."""

from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

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


def refused(status: int, **headers: str) -> Exception:
    """A server's refusal, as its library raises it; underscores in headers stand for dashes."""
    error: Any = RuntimeError("refused")
    error.status_code = status
    error.response = SimpleNamespace(
        headers={key.replace("_", "-"): value for key, value in headers.items()}
    )
    return error  # type: ignore[no-any-return]


def refusing_first(
    *refusals: Exception, answer: Callable[[list[BaseMessage]], str]
) -> Callable[[list[BaseMessage]], str]:
    """The same function after so many calls that are refused."""
    coming = list(refusals)

    def refusing(messages: list[BaseMessage]) -> str:
        if coming:
            raise coming.pop(0)
        return answer(messages)

    return refusing
