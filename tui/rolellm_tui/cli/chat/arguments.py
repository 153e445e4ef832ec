"""The arguments of the running command, to start the same command in another process."""

from collections.abc import Collection
from typing import Any

import typer


def repeated_arguments(context: typer.Context, *, but: Collection[str]) -> list[str]:
    """The arguments that were typed after the command's name.

    Args:
        context: the context of the running command.
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
    # After “--”, a value that begins with a dash is not read as an option.
    return [*options, "--", *values]


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _option(option: Any, value: Any) -> list[str]:
    name = max(option.opts, key=len)
    if option.is_flag:
        return [name if value else max(option.secondary_opts, key=len)]
    return [f"{name}={one}" for one in (value if option.multiple else [value])]
