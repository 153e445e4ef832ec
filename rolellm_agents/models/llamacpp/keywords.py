"""The keyword arguments that `ChatLlamaCpp` and its calls take; any other is refused."""

from collections.abc import Collection, Iterable
from typing import Final

from rolellm_agents.errors import ModelError
from rolellm_agents.text import did_you_mean

_OF_SERVERS: Final = frozenset(("api_key", "max_retries", "streaming", "timeout"))
"""LangChain's standard arguments of all chat models that mean nothing in this process."""

_OF_CALLS: Final = frozenset(
    (
        "choices",
        "grammar",
        "json_schema",
        "parallel_tool_calls",
        "response_format",
        "seed",
        "stop",
        "strict",
        "thinking",
        "tool_choice",
        "tools",
    )
)
_OF_LANGCHAIN: Final = frozenset(
    (
        "config",
        "ls_structured_output_format",
        "run_manager",
        "stream",
        "stream_usage",
        "structured_output_format",
    )
)
"""What LangChain's own code adds to calls."""


def check_fields(given: Iterable[str], known: Collection[str]) -> None:
    """Check the names of a new model's arguments.

    Args:
        given: the names.
        known: the model's fields.

    Raises:
        ModelError: the model has no such field.
    """
    _check(given, known, _OF_SERVERS, "ChatLlamaCpp has no field")


def check_options(given: Iterable[str], sampling: Collection[str]) -> None:
    """Check the names of a call's keyword arguments.

    Args:
        given: the names.
        sampling: the fields of the model that a call may override.

    Raises:
        ModelError: a call has no such argument.
    """
    _check(
        given,
        {*sampling, *_OF_CALLS},
        _OF_SERVERS | _OF_LANGCHAIN,
        "A call of ChatLlamaCpp has no argument",
    )


def _check(given: Iterable[str], known: Collection[str], silent: Collection[str], complaint: str) -> None:
    for name in given:
        if name not in known and name not in silent:
            hint = did_you_mean(name, known) or f"; it knows {', '.join(sorted(known))}"
            raise ModelError(f"{complaint} {name!r}{hint}.")
