"""Replace macros such as `{{char}}` in a card's texts.

The macros are V3's, and those of SillyTavern that cards use. One pass from left to right replaces inner
macros before outer ones, without recursion. Each piece of text is marked as written by the author or
inserted by a macro: a user named `{{char}}` keeps the name, and the comma of “Smith, John” does not split
an author's list.
"""

import hashlib
import math
import random
import re
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import islice
from typing import Literal, TypeAlias

from rolellm_agents.cards.values import number

Purpose = Literal["prompt", "scan", "display"]
"""The use of a text: for the model, for the search of lorebook keys, or for display."""

MOST_MADE = 1_000_000
"""The most characters that the macros of one text may produce; later macros are not replaced."""


@dataclass(frozen=True)
class MacroScope:
    """The values of macros. They are inserted unchanged, and macros inside them are not replaced."""

    char: str
    """The character's nickname, else the name."""
    user: str = "User"
    original: str | None = None
    """The prompt that the card's own prompt replaces; None keeps `{{original}}`."""
    persona: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    mes_examples: str = ""
    last_message: str = ""
    last_user_message: str = ""
    last_char_message: str = ""
    group: tuple[str, ...] = ()
    """The names of a group's members; empty outside of groups."""
    muted: tuple[str, ...] = ()
    """The members who do not speak."""
    now: datetime | None = None
    """The time of `{{time}}` and similar macros; the current time when None."""
    seed: int = 0
    """The seed of random macros. `{{pick}}` depends only on the seed and on its place."""
    variables: MutableMapping[str, str] | None = None
    """The variables of `{{setvar}}` and similar macros; None for variables of a single call."""


def substitute(text: str, scope: MacroScope, purpose: Purpose = "prompt") -> str:
    """Replace the macros of a text; unknown and malformed macros stay.

    Args:
        text: a text of the card.
        scope: the values of macros; macros such as `{{setvar}}` change its variables.
        purpose: `{{comment: …}}` yields text only for “display”, and `{{hidden_key:…}}` only for “scan”.
    """
    # Fast path: lorebooks have thousands of keys, most of them without macros.
    return _Pass(text, scope, purpose).result() if "{{" in text or "<" in text else text


def unknown_macros(text: str) -> tuple[str, ...]:
    """The names of the macros that `substitute` does not replace, each once, in order of appearance.

    Malformed macros with a known name count, for example `{{setvar::name}}`. `{{original}}` is known.
    """
    found = _Pass(text, MacroScope(char="", original=""), "prompt")
    found.result()
    return tuple(name for key, name in found.left.items() if key)


class _Kind(Enum):
    TEXT = 0
    VALUE = 1
    OPEN = 2
    CLOSE = 3


_Piece: TypeAlias = tuple[str, _Kind]
_OPEN: _Piece = ("{{", _Kind.OPEN)
_CLOSE: _Piece = ("}}", _Kind.CLOSE)
_VALUE_MARK, _OPAQUE_MARK = "\0", "\1"

_TOKENS = re.compile(r"\{{2,}|\}{2,}|<(?:user|char|bot)>", re.IGNORECASE | re.ASCII)
_HEAD = re.compile(r"\s*(?P<name>//|[^\s:{}]*)(?P<separator>\s*::?|\s*)")
_NEWLINES = re.compile(r"[\r\n]*")
_COLONS = re.compile("::?")
_ESCAPED_COMMA = re.compile(r"\\,")
_LIST_SEPARATORS = (re.compile("::"), re.compile(r"(?<!\\),"), re.compile(":"))
_DICE = re.compile(r"(?:(\d{0,4})d)?(\d{1,30})(?: *([+-] ?\d{1,30}))?", re.IGNORECASE | re.ASCII)
_PLACE = 256
"""The number of characters of a macro that identify its place."""


@dataclass(frozen=True)
class _Argument:
    """A macro's argument, and a mask of the same length that hides what the author did not write."""

    text: str
    mask: str

    @classmethod
    def of(cls, pieces: Sequence[_Piece]) -> "_Argument":
        mask: list[str] = []
        depth = 0
        for words, kind in pieces:
            depth += kind is _Kind.OPEN
            if depth:  # a macro that was not replaced: its colons and commas do not count
                mask.append(_OPAQUE_MARK * len(words))
            else:
                mask.append(_VALUE_MARK * len(words) if kind is _Kind.VALUE else words)
            depth -= kind is _Kind.CLOSE
        return cls("".join(words for words, _ in pieces), "".join(mask))

    def cut(self, start: int, end: int | None = None) -> "_Argument":
        return _Argument(self.text[start:end], self.mask[start:end])

    def strip(self) -> "_Argument":
        """Strip the author's white space, but not inserted white space such as `{{newline}}`."""
        start = len(self.mask) - len(self.mask.lstrip())
        return self.cut(start, max(start, len(self.mask.rstrip())))

    def split(self, separator: re.Pattern[str], most: int | None = None) -> list["_Argument"]:
        spans = [found.span() for found in islice(separator.finditer(self.mask), most)]
        starts = [0, *(end for _, end in spans)]
        ends = [*(start for start, _ in spans), len(self.mask)]
        return [self.cut(start, end) for start, end in zip(starts, ends, strict=True)]


class _Substitution:
    """The state of one pass: scope, time, random generator, variables and remaining allowance."""

    def __init__(self, scope: MacroScope, purpose: Purpose) -> None:
        self.scope = scope
        self.purpose = purpose
        self.now = scope.now or datetime.now().astimezone()
        self.draw = random.Random(scope.seed)  # noqa: S311 (a story's dice, no secret)
        self.variables: MutableMapping[str, str] = {} if scope.variables is None else scope.variables
        self.exhausted = False
        self._allowance = MOST_MADE

    def spend(self, characters: int) -> bool:
        """Reduce the allowance; a request that exceeds it ends it for all later macros."""
        self.exhausted = self.exhausted or characters > self._allowance
        self._allowance -= characters
        return not self.exhausted


@dataclass(frozen=True)
class _Call:
    run: _Substitution
    argument: _Argument
    place: str
    """The macro's position in the text, and its first characters."""


class _Pass:
    """One pass over a text; `left` has the names of macros that were not replaced, by lower case."""

    def __init__(self, text: str, scope: MacroScope, purpose: Purpose) -> None:
        self.left: dict[str, str] = {}
        self._text = text
        self._at = 0
        self._run = _Substitution(scope, purpose)
        # One flat list, in which the contents of unknown macros stay in place: nesting costs nothing.
        self._pieces: list[_Piece] = []
        # For each open macro: the index of its first piece, and where its inside begins in the text.
        self._frames: list[tuple[int, int]] = []

    def result(self) -> str:
        for token in _TOKENS.finditer(self._text):
            self._keep(self._text[self._at : token.start()])
            self._at = token.end()
            if token[0][0] == "{":
                self._open(token.start(), token.end())
            elif token[0][0] == "}":
                self._close_all(token.start(), token.end())
            else:
                self._angle(token[0])
        self._keep(self._text[self._at :])
        return "".join(words for words, _ in self._pieces)

    def _keep(self, words: str) -> None:
        if words:
            self._pieces.append((words, _Kind.TEXT))

    def _angle(self, token: str) -> None:
        value = self._run.scope.user if token.lower() == "<user>" else self._run.scope.char
        fits = self._run.spend(len(value))
        self._pieces.append((value, _Kind.VALUE) if fits else (token, _Kind.TEXT))

    def _open(self, start: int, end: int) -> None:
        odd = (end - start) % 2  # `{{{char}}}` is a macro in braces
        self._keep("{" * odd)
        for begin in range(start + odd + 2, end + 1, 2):
            self._frames.append((len(self._pieces), begin))
            self._pieces.append(_OPEN)

    def _close_all(self, start: int, end: int) -> None:
        while self._frames and start + 2 <= end:
            start += 2
            self._close(start)
        self._keep(self._text[start:end])

    def _close(self, end: int) -> None:
        first, begin = self._frames.pop()
        # A macro's name must be in text by the author; inserted values cannot form names.
        words, kind = (*self._pieces[first + 1 : first + 2], _CLOSE)[0]
        head = next(_HEAD.finditer(words if kind is _Kind.TEXT else ""))
        name = head["name"].lower()
        place = f"{begin} {self._text[begin : min(end, begin + _PLACE)]}"
        known = name in _KNOWN and not self._run.exhausted
        value = self._value(name, head, self._pieces[first + 1 :], place) if known else None
        if value is None:
            self._pieces.append(_CLOSE)
            self.left.setdefault(name, head["name"])
            return
        del self._pieces[first:]
        if name == "trim":
            self._trim(end)
        self._pieces.append((value, _Kind.VALUE))

    def _value(self, name: str, head: re.Match[str], inside: Sequence[_Piece], place: str) -> str | None:
        """The value of a macro; None to keep the macro."""
        complete = _Argument.of(inside)
        call = _Call(self._run, complete.cut(head.end()).strip(), place)
        value = _evaluate(name, head["separator"], call)
        # Malformed macros cost too, because nested ones are read once per level.
        cost = len(complete.text) + len(inside) if value is None else len(value)
        return value if self._run.spend(cost) else None

    def _trim(self, end: int) -> None:
        # The only macro that affects text outside its braces.
        if self._pieces and self._pieces[-1][1] is _Kind.TEXT:
            self._pieces[-1] = (self._pieces[-1][0].rstrip("\r\n"), _Kind.TEXT)
        self._at = max(self._at, next(_NEWLINES.finditer(self._text, end)).end())


def _evaluate(name: str, separator: str, call: _Call) -> str | None:
    some = bool(call.argument.text)
    if name in _VALUES:
        return None if some or ":" in separator else _VALUES[name](call.run)
    given = ":" in separator or name == "//" or (some and separator)
    return _FUNCTIONS[name](call) if given else None


def _group(run: _Substitution) -> str:
    return ", ".join(run.scope.group) or run.scope.char


def _group_not_muted(run: _Substitution) -> str:
    speaking = (name for name in run.scope.group if name not in run.scope.muted)
    return ", ".join(speaking) if run.scope.group else run.scope.char


def _clock(run: _Substitution) -> str:
    return f"{run.now.hour % 12 or 12}:{run.now:%M} {'AM' if run.now.hour < 12 else 'PM'}"


def _only_for(purpose: Purpose) -> Callable[[_Call], str]:
    return lambda call: call.argument.text if call.run.purpose == purpose else ""


def _choices(argument: _Argument) -> list[str]:
    """Split a list at `::`, else at commas, else at `:`."""
    # In `{{random:{{getvar::colours}}}}` the inserted value is the list itself and may be split.
    view = argument if argument.mask.strip(_VALUE_MARK) else _Argument(argument.text, argument.text)
    ways = (view.split(separator) for separator in _LIST_SEPARATORS)
    parts = next((parts for parts in ways if len(parts) > 1), [argument])
    return [",".join(piece.text for piece in part.strip().split(_ESCAPED_COMMA)) for part in parts]


def _random(call: _Call) -> str:
    return call.run.draw.choice(_choices(call.argument))


def _pick(call: _Call) -> str:
    # Includes the first characters; else every text that begins with {{pick}} would pick the same place.
    place = f"{call.run.scope.seed} {call.place}".encode("utf-8", "surrogatepass")
    choices = _choices(call.argument)
    return choices[int.from_bytes(hashlib.blake2b(place, digest_size=8).digest(), "big") % len(choices)]


def _roll(call: _Call) -> str | None:
    """Roll `6`, `d6`, `2d6` or `2d6+3`; empty for invalid dice."""
    dice = _DICE.fullmatch(call.argument.text)
    if dice is None:
        return ""
    count, sides, more = int(dice[1] or 1), int(dice[2]), int((dice[3] or "0").replace(" ", ""))
    if not count or not sides:
        return ""
    if not call.run.spend(count):
        return None
    return str(sum(call.run.draw.randint(1, sides) for _ in range(count)) + more)


def _with_value(change: Callable[[_Substitution, str, str], str | None]) -> Callable[[_Call], str | None]:
    """A macro with a variable's name and a value, which may have colons; its own value is empty."""

    def changed(call: _Call) -> str | None:
        name, *value = (part.strip().text for part in call.argument.split(_COLONS, 1))
        return "" if value and change(call.run, name, value[0]) is not None else None

    return changed


def _set(run: _Substitution, name: str, value: str) -> str:
    run.variables[name] = value
    return value


def _increase(run: _Substitution, name: str, more: str) -> str | None:
    """Add a number to a number, otherwise append a text; None when the result is too long."""
    old = run.variables.get(name, "")
    total = number(old, math.nan) + number(more, math.nan)
    new = old + more
    if math.isfinite(total):
        new = str(int(total)) if total.is_integer() else str(total)
    return _set(run, name, new) if run.spend(len(new)) else None


_VALUES: dict[str, Callable[[_Substitution], str | None]] = {
    "char": lambda run: run.scope.char,
    "user": lambda run: run.scope.user,
    "original": lambda run: run.scope.original,
    "persona": lambda run: run.scope.persona,
    "description": lambda run: run.scope.description,
    "personality": lambda run: run.scope.personality,
    "scenario": lambda run: run.scope.scenario,
    "mesexamples": lambda run: run.scope.mes_examples,
    "lastmessage": lambda run: run.scope.last_message,
    "lastusermessage": lambda run: run.scope.last_user_message,
    "lastcharmessage": lambda run: run.scope.last_char_message,
    "group": _group,
    "charifnotgroup": _group,
    "groupnotmuted": _group_not_muted,
    "newline": lambda _: "\n",
    "trim": lambda _: "",
    "noop": lambda _: "",
    "time": _clock,
    "date": lambda run: f"{run.now:%B} {run.now.day}, {run.now.year}",
    "weekday": lambda run: f"{run.now:%A}",
    "isotime": lambda run: f"{run.now:%H:%M}",
    "isodate": lambda run: run.now.date().isoformat(),
}
"""Macros without an argument."""

_FUNCTIONS: dict[str, Callable[[_Call], str | None]] = {
    "//": lambda _: "",
    "comment": _only_for("display"),
    "hidden_key": _only_for("scan"),
    "reverse": lambda call: call.argument.text[::-1],
    "random": _random,
    "pick": _pick,
    "roll": _roll,
    "getvar": lambda call: call.run.variables.get(call.argument.text, ""),
    "setvar": _with_value(_set),
    "addvar": _with_value(_increase),
    "incvar": lambda call: _increase(call.run, call.argument.text, "1"),
    "decvar": lambda call: _increase(call.run, call.argument.text, "-1"),
}
"""Macros with an argument after `:`, `::` or a space."""

_KNOWN = _VALUES.keys() | _FUNCTIONS.keys()
