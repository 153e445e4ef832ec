"""Commands under their old spelling, which works for one more version."""

import functools
from collections.abc import Callable
from typing import Any

from rolellm_tui.output import complain

_GONE_IN = "0.3"


def renamed(command: Callable[..., None], old: str, new: str) -> Callable[..., None]:
    """The command, which first tells on standard error how it is spelled now.

    Args:
        command: a command function.
        old: the spelling that was used, without `rolellm`.
        new: the spelling to use.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        complain(f"“rolellm {old}” is now “rolellm {new}”; the old spelling stops working in {_GONE_IN}.")
        command(*args, **options)

    return run
