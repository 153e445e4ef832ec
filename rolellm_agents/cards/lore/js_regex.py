r"""Translate JavaScript's regular expressions for the library `regex`.

`\w`, `\d` and `\b` are ASCII-only as in JavaScript. Features that only `regex` has, such as recursion, are
rejected, because the expressions are untrusted.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import regex

LONGEST = 2_000
"""The most characters of an expression."""
MOST_REPEATS = 10_000


@dataclass(frozen=True, slots=True)
class Translated:
    """A regular expression for `regex`."""

    pattern: str
    flags: int
    cost: int
    """The cost of compilation in characters, including repetitions, which `regex` expands."""


_ESCAPE = (
    r"\\(?:u\{(?:[0-9A-Fa-f]{1,5}|10[0-9A-Fa-f]{4})\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|c[A-Za-z]|k<\w+>"
    r"|[pP]\{[\w=]+\}|[1-9][0-9]*|.)"
)
_PART = re.compile(
    rf"\[\^?\]|\[(?:\\.|[^\\\]])+\]|{_ESCAPE}|\(\?(?:<?[=!]|:|<\w+>)?|\{{[0-9]+(?:,[0-9]*)?\}}|.", re.DOTALL
)
_IN_SET = re.compile(rf"{_ESCAPE}|\[", re.DOTALL)

# The underscore is not last, so that a following hyphen does not form a range, as in `[\w-.]`.
_W = "A-Za-z_0-9"
_EVERYWHERE = {r"\v": r"\x0b", r"\0": r"\x00", r"\s": r"\s", r"\S": r"\S"}
_SETS = {**_EVERYWHERE, r"\d": "0-9", r"\D": r"\D", r"\w": _W, r"\W": r"\W", r"\b": r"\x08", "[": r"\["}
_PARTS = {
    **_EVERYWHERE,
    "[]": "(?!)",
    "[^]": r"[\s\S]",
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": f"[{_W}]",
    r"\W": f"[^{_W}]",
    r"\b": f"(?:(?<=[{_W}])(?![{_W}])|(?<![{_W}])(?=[{_W}]))",
    r"\B": f"(?:(?<=[{_W}])(?=[{_W}])|(?<![{_W}])(?![{_W}]))",
    "{": r"\{",
    "}": r"\}",
    "]": r"\]",
}
_FLAGS = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}


@lru_cache(maxsize=4096)
def translate(source: str, flags: str) -> Translated | None:
    """Translate an expression and its flags; None when it is invalid or too long."""
    if len(source) > LONGEST or len(set(flags)) < len(flags):
        return None
    parts = _PART.findall(source)
    if "(?" in parts or "[" in parts:
        return None
    repeats = 1
    for part in parts:
        if part[0] == "{" and len(part) > 1:
            repeats = min(repeats * max(1, int(part[1:-1].split(",")[0])), MOST_REPEATS + 1)
    if repeats > MOST_REPEATS:
        return None
    numbers = [int(_FLAGS[flag]) for flag in flags if flag in _FLAGS]
    pattern = "".join(_translated(part, flags) for part in parts)
    return Translated(pattern, int(regex.VERSION0) | sum(numbers), len(source) + repeats)


@lru_cache(maxsize=4096)
def compile_translated(translated: Translated) -> regex.Pattern[str] | None:
    """Compile a translated expression; None when it is invalid."""
    try:
        return regex.compile(translated.pattern, translated.flags)
    except (regex.error, RecursionError, OverflowError):
        return None


def _translated(part: str, flags: str) -> str:
    if part == "$":
        return "$" if "m" in flags else r"\Z"  # in `regex`, `$` also matches before a final line break
    if part in _PARTS:
        return _PARTS[part]
    if part[0] == "[":
        return f"[{_IN_SET.sub(lambda found: _SETS.get(found[0]) or _escape(found[0], flags), part[1:-1])}]"
    return _escape(part, flags) if part[0] == "\\" else part


def _escape(part: str, flags: str) -> str:
    kind, rest = part[1], part[2:]
    if rest.startswith("{") and kind == "u":
        return regex.escape(chr(int(rest[1:-1], 16)))
    if rest.startswith("<"):
        return f"(?P={rest[1:]}".replace(">", ")")
    if kind == "c" and rest:
        return regex.escape(chr(ord(rest) % 32))
    if kind in "pP" and rest:
        return part if "u" in flags else regex.escape(part[1:])
    # JavaScript reads every other escaped letter as itself; `regex` may not.
    return part if rest or kind in "tnrf123456789" else regex.escape(kind)
