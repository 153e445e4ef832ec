"""Reading GBNF, llama.cpp's format of grammars, into something that can be followed from Python.

llama.cpp tells nothing of where in a grammar an answer stands; `ending` needs to know.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rolellm_agents.errors import ModelError

MOST_REPEATS = 2000
"""llama.cpp refuses more, and takes a larger upper bound for none at all."""
_HIGHEST = 0x10FFFF
_NESTING = 200

_TOKEN = re.compile(
    r"""
    (?P<skip>(?:[ \t\r\n]|\#[^\r\n]*)+)
    |(?P<begin>[A-Za-z0-9-]+)[ \t]*::=
    |(?P<name>[A-Za-z0-9-]+)
    |"(?P<literal>(?:[^"\\]|\\.)*)"
    |\[(?P<not>\^?)(?P<class>(?:[^\]\\]|\\.)*)\]
    |(?P<times>[*+?]|\{[ ]*\d{1,4}[ ]*(?:,[ ]*(?:\d{1,4})?[ ]*)?\})
    |(?P<mark>[|().])
    """,
    re.VERBOSE | re.DOTALL,
)
_CHARACTER = re.compile(
    r'\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\([trn\\"\[\]-])|([^\\])', re.DOTALL
)
_TIMES = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_LETTERS = {"t": "\t", "r": "\r", "n": "\n"}


@dataclass(frozen=True)
class Chars:
    """One character out of ranges of code points, which are sorted and do not touch."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Call:
    """Another rule."""

    rule: str


@dataclass(frozen=True)
class Repeat:
    """The same thing several times."""

    item: "Sequence"
    least: int
    most: int | None


Symbol = Chars | Call | Repeat
Sequence = tuple[Symbol, ...]
Grammar = dict[str, tuple[Sequence, ...]]
"""Each rule's alternatives; the answer is a `root`."""


@lru_cache(maxsize=32)
def read_grammar(text: str) -> Grammar:
    """The rules of a grammar.

    Raises:
        ModelError: the text is no grammar, or has no rule `root`.
    """
    reader = _Reader(text)
    reader.read()
    missing = {"root", *reader.called} - reader.rules.keys()
    if missing:
        raise ModelError(f"The grammar has no rule “{min(missing)}”; add it.")
    return reader.rules


class _Reader:
    """Recursive descent over the tokens of one grammar."""

    def __init__(self, text: str) -> None:
        self.rules: Grammar = {}
        self.called: set[str] = set()
        self._tokens = list(_tokens(text))
        self._place = 0
        self._groups = 0

    def read(self) -> None:
        """Read all rules."""
        while (token := self._next())[0]:
            kind, name = token[:2]
            if kind != "begin":
                raise ModelError(
                    f"The grammar has “{name}” where a rule should begin; see llama.cpp's GBNF."
                )
            self.rules[name] = self._alternatives(0)

    def _alternatives(self, depth: int) -> tuple[Sequence, ...]:
        if depth > _NESTING:
            raise ModelError("The grammar nests its brackets too deep; use rules instead.")
        found = [self._sequence(depth)]
        while self._peek() == ("mark", "|"):
            self._next()
            found.append(self._sequence(depth))
        return tuple(found)

    def _sequence(self, depth: int) -> Sequence:
        symbols: list[Symbol] = []
        last = 0
        while True:
            kind, value = self._peek()
            if kind in {"", "begin"} or (kind == "mark" and value in "|)"):
                return tuple(symbols)
            self._next()
            if kind == "times":
                if not symbols:
                    raise ModelError(
                        "The grammar repeats nothing; put something before each *, +, ? and {."
                    )
                # A literal is repeated as a whole, unlike in regular expressions.
                symbols[last:] = [Repeat(tuple(symbols[last:]), *_times(value))]
                continue
            last = len(symbols)
            symbols += self._atom(kind, value, depth)

    def _atom(self, kind: str, value: str, depth: int) -> Sequence:
        if kind == "name":
            self.called.add(value)
            return (Call(value),)
        if kind == "literal":
            return tuple(Chars(((code, code),)) for code in _codes(value))
        if kind in {"class", "not"}:
            ranges = _ranges(value)
            return (Chars(inverse(ranges) if kind == "not" else ranges),)
        if value == ".":
            return (Chars(((0, _HIGHEST),)),)
        group = self._group(self._alternatives(depth + 1))
        if self._next() != ("mark", ")"):
            raise ModelError("The grammar has a bracket that is not closed; close it.")
        return (group,)

    def _group(self, alternatives: tuple[Sequence, ...]) -> Call:
        self._groups += 1
        name = f"({self._groups})"
        self.rules[name] = alternatives
        return Call(name)

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._place] if self._place < len(self._tokens) else ("", "")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._place += 1
        return token


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ModelError(
                f"The grammar cannot be read from “{text[place : place + 20]}” on; see llama.cpp's GBNF."
            )
        place = match.end()
        kind = match.lastgroup or ""
        if kind == "class" and match["not"]:
            kind = "not"
        if kind != "skip":
            yield kind, match["class"] if kind == "not" else match[kind]


def _times(text: str) -> tuple[int, int | None]:
    if text in _TIMES:
        return _TIMES[text]
    least, comma, most = text.strip("{} ").partition(",")
    bounds = int(least), (int(most) if most.strip() else None) if comma else int(least)
    if bounds[0] > MOST_REPEATS or (bounds[1] or 0) > MOST_REPEATS:
        raise ModelError(f"The grammar repeats something {text} times; stay below {MOST_REPEATS}.")
    return bounds


def _codes(text: str) -> list[int]:
    return [code for code, _ in _characters(text)]


def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    characters = list(_characters(text))
    ranges = []
    place = 0
    while place < len(characters):
        first = last = characters[place][0]
        if place + 2 < len(characters) and characters[place + 1] == (ord("-"), False):
            last = characters[place + 2][0]
            place += 2
        ranges.append((first, last))
        place += 1
    return joined(ranges)


def _characters(text: str) -> Iterator[tuple[int, bool]]:
    """Code points, and whether each was escaped."""
    place = 0
    while place < len(text):
        match = _CHARACTER.match(text, place)
        if match is None:
            raise ModelError(f"The grammar has an unknown escape in “{text[:40]}”; see llama.cpp's GBNF.")
        place = match.end()
        two, four, eight, letter, plain = match.groups()
        code = two or four or eight
        if code:
            yield int(code, 16), True
        elif letter:
            yield ord(_LETTERS.get(letter, letter)), True
        else:
            yield ord(plain), False


def joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same code points in sorted ranges that do not touch."""
    result: list[tuple[int, int]] = []
    for first, last in sorted(pair for pair in ranges if pair[0] <= pair[1]):
        if result and first <= result[-1][1] + 1:
            result[-1] = result[-1][0], max(last, result[-1][1])
        else:
            result.append((first, last))
    return tuple(result)


def inverse(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """All other code points."""
    edges = [-1, *(edge for pair in ranges for edge in pair), _HIGHEST + 1]
    return joined([(edges[n] + 1, edges[n + 1] - 1) for n in range(0, len(edges), 2)])
