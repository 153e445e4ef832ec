"""Deprecated spellings of commands, which work for one more version."""

import functools
from collections.abc import Callable
from typing import Any

from rolellm_tui.output import complain

_GONE_IN = "0.3"


def renamed(command: Callable[..., None], old: str, new: str) -> Callable[..., None]:
    """Wrap a command so that it first prints its new spelling on standard error.

    Args:
        command: a command function.
        old: the deprecated spelling, without `rolellm`.
        new: the present spelling.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        complain(f"“rolellm {old}” is now “rolellm {new}”; the old spelling stops working in {_GONE_IN}.")
        command(*args, **options)

    return run
