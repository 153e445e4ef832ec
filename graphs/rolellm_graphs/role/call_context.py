"""The context of a graph's call, also for a graph within another graph."""

from typing import Any, TypeVar

from langgraph.runtime import get_runtime

Context = TypeVar("Context")


def context_of(schema: type[Context]) -> Context:
    """The running call's context if it has this type; otherwise the defaults.

    LangGraph passes the outer graph's context to an inner graph, whatever its type, and None if the caller
    gave no context.

    Args:
        schema: the graph's context schema; each of its fields has a default.
    """
    context: Any = get_runtime().context
    return context if isinstance(context, schema) else schema()
