"""A command's arguments once more, for another process of the same command."""

from collections.abc import Collection
from typing import Any

import typer


def given_again(context: typer.Context, *, but: Collection[str]) -> list[str]:
    """What the person typed after the command's name, as a list for a process of its own.

    Args:
        context: of the command that runs.
        but: the names of parameters to leave out.
    """
    # Click's own classes are private in Typer.
    parameters: list[Any] = list(context.command.params)
    given = [
        (parameter, context.params[parameter.name])
        for parameter in parameters
        if parameter.name not in but and _is_given(context, parameter.name)
    ]
    options = [
        word for one, value in given if one.param_type_name == "option" for word in _option(one, value)
    ]
    values = [str(value) for one, value in given if one.param_type_name == "argument"]
    # After it even a value that begins with a dash is no option.
    return [*options, "--", *values]


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _option(option: Any, value: Any) -> list[str]:
    name = max(option.opts, key=len)
    if option.is_flag:
        return [name if value else max(option.secondary_opts, key=len)]
    return [f"{name}={one}" for one in (value if option.multiple else [value])]
