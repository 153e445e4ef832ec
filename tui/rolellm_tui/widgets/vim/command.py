"""The commands of Vim's normal mode, as they are typed."""

import re
from dataclasses import dataclass
from typing import Literal

Operator = Literal["", "d", "c", "y"]

_OPERATORS: dict[str, Operator] = {"": "", "d": "d", "c": "c", "y": "y"}
_MOTIONS = "hjklwbe0$^G;,"
_ACTIONS = "iaIAoOxXDCYsSpPu"
_TYPED = re.compile(r"([1-9]\d*)?([dcy])?([1-9]\d*)?(.*)", re.DOTALL)
_MOST = 9_999
"""The largest count."""


@dataclass(frozen=True)
class VimCommand:
    """A complete command."""

    name: str
    """A motion, an action, or an operator's own letter, as in `dd`."""
    operator: Operator = ""
    count: int | None = None
    letter: str = ""
    """The character of `f`, `F`, `t`, `T` and `r`."""

    @property
    def times(self) -> int:
        """The count, or 1."""
        return self.count or 1


def parsed(typed: str) -> VimCommand | Literal["unfinished", "unknown"]:
    """Read the keys of a command."""
    match = _TYPED.fullmatch(typed)
    assert match is not None  # noqa: S101 - every part is optional
    first, typed_operator, second, rest = match.groups(default="")
    operator = _OPERATORS[typed_operator]
    count = _product(first, second)
    name, letter = rest[:1], rest[1:]
    if not name:
        return "unfinished"
    if name in "fFtT" or (name == "r" and not operator):
        return VimCommand(name, operator, count, letter) if letter else "unfinished"
    if name == "g":
        return (
            "unfinished"
            if not letter
            else VimCommand("gg", operator, count)
            if letter == "g"
            else "unknown"
        )
    if name == operator or name in _MOTIONS or (name in _ACTIONS and not operator):
        return VimCommand(name, operator, count)
    return "unknown"


def _product(first: str, second: str) -> int | None:
    """The count of a command; the counts before and after an operator are multiplied."""
    if not first and not second:
        return None
    return min(_MOST, min(_MOST, int((first or "1")[:6])) * min(_MOST, int((second or "1")[:6])))
