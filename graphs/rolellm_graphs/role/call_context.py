"""What a call of one of our graphs was told as context, wherever the graph stands."""

from typing import Any, TypeVar

from langgraph.runtime import get_runtime

Context = TypeVar("Context")


def context_of(schema: type[Context]) -> Context:
    """The running call's context, if it is of this type, and one with nothing but defaults if not.

    LangGraph gives a graph within another one the context of the outer, of whatever type that is, and None
    to those who gave none.

    Args:
        schema: the graph's own; each of its fields has a default.
    """
    told: Any = get_runtime().context
    return told if isinstance(told, schema) else schema()
