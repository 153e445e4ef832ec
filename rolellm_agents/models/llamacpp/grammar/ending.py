"""Where in a grammar a text stands, and the shortest way from there to an end.

A text is followed as llama.cpp does it: a set of places, each of which knows where to go on when its rule
is done. The shortest rest is then exact, not a guess, and follows from the grammar alone; what llama.cpp
allows and what is written here cannot differ. See `docs/design/structured-output.md`.
"""

import codecs
from dataclasses import dataclass
from functools import lru_cache

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.grammar.reading import (
    Call,
    Chars,
    Grammar,
    Repeat,
    Sequence,
    Symbol,
    read_grammar,
)

_FILLERS = (ord("x"), ord("0"))
"""What stands for any character, where a text must be longer than it is."""
_HIGHEST = 0x10FFFF
_BY_WIDTH = [(0x20, 0x7E), (0, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, _HIGHEST)]
"""Code points that UTF-8 can write, those of the fewest bytes first."""
_NEVER = 10**9


@dataclass(frozen=True, eq=False, slots=True)
class _Place:
    """Before a symbol of a sequence, which has been repeated `count` times; then goes on with `then`."""

    sequence: Sequence
    index: int
    count: int
    then: "_Place | None"

    @property
    def symbol(self) -> Symbol:
        """What comes next."""
        return self.sequence[self.index]


def shortest_length(grammar: str) -> int:
    """The fewest bytes that fulfil a grammar.

    Raises:
        ModelError: the grammar cannot be read.
    """
    return _shortest(read_grammar(grammar))["root"][0]


class Follower:
    """Follows one text through a grammar."""

    def __init__(self, grammar: str) -> None:
        """Begin before the first character.

        Raises:
            ModelError: the grammar cannot be read, or no text can ever fulfil it.
        """
        self._rules = read_grammar(grammar)
        self._shortest = _shortest(self._rules)
        if self._shortest["root"][0] >= _NEVER:
            raise ModelError("The grammar goes on forever; give each of its rules a way to end.")
        self._made: dict[tuple[int, int, int, int], _Place] = {}
        self._opened: dict[int, tuple[_Place | None, ...]] = {}
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._places = self._begin()

    def follow(self, text: bytes) -> None:
        """Go on by `text`, which may end within a character.

        Raises:
            RuntimeError: the grammar does not allow it.
        """
        for character in self._decoder.decode(text):
            code = ord(character)
            moved: dict[_Place | None, None] = {}
            for place in self._places:
                if place is not None and _matches(place.symbol, code):
                    moved.update(dict.fromkeys(self._after(place)))
            if not moved:
                raise RuntimeError(f"{character!r} is out of form")
            self._places = tuple(moved)

    @property
    def begun(self) -> bytes:
        """The bytes at the text's end that are no whole character yet."""
        return self._decoder.getstate()[0]

    def shortest_rest(self) -> bytes:
        """The fewest bytes that bring the text to an end."""
        begun = self.begun
        if not begun and None in self._places:
            return b""
        found = [
            (self._cost_after(place) + len(character), character, place)
            for place in self._places
            if place is not None and (character := _character(place.symbol, begun))
        ]
        if not found:
            raise RuntimeError("this half character cannot be completed in form")
        _, character, place = min(found, key=lambda one: one[0])
        return character + self._write_after(place)

    # Moving

    def _begin(self) -> tuple[_Place | None, ...]:
        found: dict[_Place | None, None] = {}
        for sequence in self._rules["root"]:
            found.update(dict.fromkeys(self._open(self._place(sequence, 0, 0, None))))
        return tuple(found)

    def _after(self, place: _Place) -> tuple[_Place | None, ...]:
        return self._open(self._place(place.sequence, place.index + 1, 0, place.then))

    def _open(self, start: "_Place | None") -> tuple[_Place | None, ...]:
        """The places before a character, or None for the end, that `start` comes down to."""
        known = self._opened.get(id(start))
        if known is not None:
            return known
        seen: set[_Place | None] = {start}
        waiting = [start]
        found = []
        while waiting:
            place = waiting.pop()
            if place is None or isinstance(place.symbol, Chars):
                found.append(place)
                continue
            for entered in self._enter(place):
                if entered not in seen:
                    seen.add(entered)
                    waiting.append(entered)
        self._opened[id(start)] = tuple(found)
        return self._opened[id(start)]

    def _enter(self, place: _Place) -> "list[_Place | None]":
        """One step into a rule or a repetition."""
        symbol = place.symbol
        after = self._place(place.sequence, place.index + 1, 0, place.then)
        if isinstance(symbol, Chars):
            return [place]
        if isinstance(symbol, Call):
            return [self._place(sequence, 0, 0, after) for sequence in self._rules[symbol.rule]]
        entered: list[_Place | None] = [after] if place.count >= symbol.least else []
        if symbol.most is None or place.count < symbol.most:
            # Without an upper bound it does not matter how often beyond the lower one.
            count = place.count + 1 if symbol.most is not None else min(place.count + 1, symbol.least)
            again = self._place(place.sequence, place.index, count, place.then)
            entered.append(self._place(symbol.item, 0, 0, again))
        return entered

    def _place(self, sequence: Sequence, index: int, count: int, then: "_Place | None") -> "_Place | None":
        """The one object for this place, so that places can be told apart by identity."""
        if index == len(sequence):
            return then
        key = (id(sequence), index, count, id(then))
        place = self._made.get(key)
        if place is None:
            place = self._made[key] = _Place(sequence, index, count, then)
        return place

    # Ending

    def _cost_after(self, place: _Place) -> int:
        """The bytes needed once the character at `place` is there."""
        cost = 0
        at: _Place | None = self._place(place.sequence, place.index + 1, 0, place.then)
        while at is not None:
            cost += sum(_cost(symbol, count, self._shortest) for symbol, count in _still(at))
            at = at.then
        return cost

    def _write_after(self, place: _Place) -> bytes:
        written = bytearray()
        waiting: list[tuple[Symbol, int]] = []
        at: _Place | None = self._place(place.sequence, place.index + 1, 0, place.then)
        while at is not None:
            waiting += _still(at)
            at = at.then
        waiting.reverse()
        while waiting:
            symbol, count = waiting.pop()
            if isinstance(symbol, Chars):
                written += _character(symbol, b"")
            else:
                inner = (
                    symbol.item * max(symbol.least - count, 0)
                    if isinstance(symbol, Repeat)
                    else self._shortest[symbol.rule][1]
                )
                waiting += [(part, 0) for part in reversed(inner)]
        return bytes(written)


def _still(place: _Place) -> list[tuple[Symbol, int]]:
    """The symbols from `place` to the end of its sequence, and how often each was there already."""
    rest = place.sequence[place.index :]
    return [(symbol, 0 if number else place.count) for number, symbol in enumerate(rest)]


def _shortest(rules: Grammar) -> dict[str, tuple[int, Sequence]]:
    """Each rule's fewest bytes, and the alternative that has them.

    An alternative is noted only when it is shorter than any before, so following the noted ones never
    comes back to where it began.
    """
    best: dict[str, tuple[int, Sequence]] = dict.fromkeys(rules, (_NEVER, ()))
    changed = True
    while changed:
        changed = False
        for name, alternatives in rules.items():
            for sequence in alternatives:
                cost = sum(_cost(symbol, 0, best) for symbol in sequence)
                if cost < best[name][0]:
                    best[name] = cost, sequence
                    changed = True
    return best


def _cost(symbol: Symbol, count: int, best: dict[str, tuple[int, Sequence]]) -> int:
    if isinstance(symbol, Chars):
        return len(_character(symbol, b"")) or _NEVER
    if isinstance(symbol, Repeat):
        once = sum(_cost(part, 0, best) for part in symbol.item)
        return min(once * max(symbol.least - count, 0), _NEVER)
    return best[symbol.rule][0]


def _matches(symbol: Symbol, code: int) -> bool:
    return isinstance(symbol, Chars) and any(first <= code <= last for first, last in symbol.ranges)


@lru_cache(maxsize=4096)
def _character(chars: Symbol, begun: bytes) -> bytes:
    """The fewest bytes that make one of the characters of what was `begun`; none if nothing does."""
    if not isinstance(chars, Chars):
        return b""
    spans = _spans(begun) if begun else _BY_WIDTH
    for low, high in spans:
        found = [max(first, low) for first, last in chars.ranges if max(first, low) <= min(last, high)]
        if found:
            usual = [code for code in _FILLERS if low <= code <= high and _matches(chars, code)]
            return chr((usual or found)[0]).encode()[len(begun) :]
    return b""


def _spans(begun: bytes) -> list[tuple[int, int]]:
    """The code points whose UTF-8 begins with these bytes."""
    length = 2 if begun[0] < 0xE0 else 3 if begun[0] < 0xF0 else 4
    value = begun[0] & (0xFF >> (length + 1))
    for byte in begun[1:]:
        value = value << 6 | byte & 0x3F
    shift = 6 * (length - len(begun))
    low = max(value << shift, (0, 0, 0x80, 0x800, 0x10000)[length])
    high = min((value + 1 << shift) - 1, _HIGHEST)
    return [(low, min(high, 0xD7FF)), (max(low, 0xE000), high)]
