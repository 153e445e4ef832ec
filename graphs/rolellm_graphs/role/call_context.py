"""The context of a graph's call, also for a graph within another graph."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from langgraph.runtime import get_runtime
from pydantic import TypeAdapter, ValidationError

from rolellm_agents.errors import SettingsError

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


def configured(schema: type[Context], configurable: Mapping[str, Any]) -> Context:
    """The configurable values of a call as its context; empty values are left out.

    Args:
        schema: the graph's context schema, a dataclass.
        configurable: may have other values, too.

    Raises:
        SettingsError: a value has the wrong type for its field.
    """
    names = [field.name for field in fields(schema)]  # type: ignore[arg-type]  # a dataclass
    values = {name: configurable[name] for name in names if configurable.get(name) not in (None, "")}
    try:
        return TypeAdapter(schema).validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        raise SettingsError(
            f"{name!r} cannot be {values[name]!r} ({first['msg'].lower()}); choose another."
        ) from error
