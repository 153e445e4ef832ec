"""Numbers within bounds, as grammars: digits can be compared from the left."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from rolellm_agents.models.llamacpp.grammar.rules import InexpressibleError, Language, literal, repeated

_EXACT = 15
"""Digits that a double keeps apart."""
_FRACTION = 6
"""Digits after the point, unless a bound has more."""
_LONGEST = 25
"""What `decimal` computes with exactly is a little more."""
_MOST_MULTIPLES = 512

ANY_INTEGER: Language = ('"-"? [1-9] [0-9]{0,14}', '"0"')
ANY_NUMBER: Language = (
    '"-"? [1-9] [0-9]{0,14} ("." [0-9]{1,9})? ([eE] [-+]? [1-9] [0-9]?)?',
    '"-"? "0" ("." [0-9]{1,9})?',
)


@dataclass(frozen=True)
class Bounds:
    """From where to where; None is no bound."""

    low: Decimal | None = None
    low_open: bool = False
    """Whether the lower bound itself is out."""
    high: Decimal | None = None
    high_open: bool = False

    @property
    def empty(self) -> bool:
        """Whether no number lies between."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def meet(self, other: "Bounds") -> "Bounds":
        """What lies within both."""
        met = self
        if other.low is not None and (
            met.low is None or (other.low, other.low_open) > (met.low, met.low_open)
        ):
            met = replace(met, low=other.low, low_open=other.low_open)
        if other.high is not None and (
            met.high is None or (-other.high, other.high_open) > (-met.high, met.high_open)
        ):
            met = replace(met, high=other.high, high_open=other.high_open)
        return met

    def holds(self, value: Decimal) -> bool:
        """Whether `value` lies within."""
        return not self.meet(Bounds(low=value, high=value)).empty


NO_BOUNDS = Bounds()


def integers(bounds: Bounds) -> Language:
    """Whole numbers within bounds; where there is none, of at most 15 digits."""
    if bounds.low is None and bounds.high is None:
        return ANY_INTEGER
    low, high = _whole(_closed_off(bounds))
    language: list[str] = []
    if low < 0:
        language += [f'"-" {digits}' for digits in _integers(max(1, -high), -low)]
    if high >= 0:
        language += _integers(max(0, low), high)
    return tuple(language)


def numbers(bounds: Bounds) -> Language:
    """Decimal numbers within bounds; where there is none, of at most 15 digits before the point."""
    if bounds.low is None and bounds.high is None:
        return ANY_NUMBER
    bounds = _closed_off(bounds)
    if bounds.empty or bounds.low is None or bounds.high is None:
        return ()
    language: list[str] = []
    if bounds.low < 0:
        # 0 itself is written without a sign.
        mirrored = Bounds(-bounds.high, bounds.high_open, -bounds.low, bounds.low_open)
        language += [f'"-" {digits}' for digits in _decimals(mirrored.meet(Bounds(Decimal(0), True)))]
    if bounds.high >= 0:
        language += _decimals(bounds.meet(Bounds(Decimal(0))))
    return tuple(language)


def multiples(bounds: Bounds, step: Decimal, *, whole: bool) -> Language:
    """Multiples of `step` within bounds.

    Raises:
        InexpressibleError: there are too many to write each down.
    """
    if step <= 0:
        raise InexpressibleError(f"asks for multiples of {step}; give multipleOf a number above 0.")
    if bounds.low is None or bounds.high is None:
        raise InexpressibleError(
            f"asks for multiples of {step} without bounds; give a minimum and a maximum."
        )
    _check_length(bounds)
    first, last = math.ceil(bounds.low / step), math.floor(bounds.high / step)
    if last - first > _MOST_MULTIPLES:
        raise InexpressibleError(
            f"allows more than {_MOST_MULTIPLES} multiples of {step}; narrow its bounds."
        )
    found = [step * number for number in range(first, last + 1)]
    return tuple(
        literal(format(value.normalize(), "f"))
        for value in found
        if bounds.holds(value) and _divides(step, value) and not (whole and value % 1)
    )


def _divides(step: Decimal, value: Decimal) -> bool:
    """Whether a validator finds so too; it computes with doubles."""
    return (float(value) / float(step)).is_integer()


def _closed_off(bounds: Bounds) -> Bounds:
    """With both bounds: the missing one is far away."""
    _check_length(bounds)
    if bounds.low is None and bounds.high is not None:
        return replace(bounds, low=-_beyond(bounds.high))
    if bounds.high is None and bounds.low is not None:
        return replace(bounds, high=_beyond(bounds.low))
    return bounds


def _beyond(bound: Decimal) -> Decimal:
    return Decimal(10 ** max(_EXACT, bound.adjusted() + 2) - 1)


def _check_length(bounds: Bounds) -> None:
    for bound in (bounds.low, bounds.high):
        if bound is not None and not (bound.is_finite() and abs(bound.adjusted()) < _LONGEST):
            raise InexpressibleError(f"has the bound {bound:.6g}; give one of less than {_LONGEST} digits.")


def _whole(bounds: Bounds) -> tuple[int, int]:
    low, high = bounds.low or Decimal(0), bounds.high or Decimal(0)
    first, last = math.ceil(low), math.floor(high)
    return first + (bounds.low_open and first == low), last - (bounds.high_open and last == high)


def _integers(low: int, high: int) -> Iterator[str]:
    """Digits of the whole numbers from `low` to `high`, neither below 0."""
    if low == 0 and high >= 0:
        yield '"0"'
        low = 1
    while low <= high:
        # Numbers of one length compare like words.
        last = min(high, 10 ** len(str(low)) - 1)
        yield from _words("", str(low), str(last))
        low = last + 1


def _words(before: str, low: str, high: str) -> Iterator[str]:
    while low and low[0] == high[0]:
        before, low, high = before + low[0], low[1:], high[1:]
    begin = f"{literal(before)} " if before else ""
    rest = f" {repeated('[0-9]', len(low) - 1, len(low) - 1)}" if len(low) > 1 else ""
    if not low:
        yield begin.strip()
        return
    first, last = int(low[0]), int(high[0])
    if low[1:].strip("0"):
        yield from _words(before + low[0], low[1:], "9" * len(low[1:]))
        first += 1
    if high[1:].strip("9"):
        yield from _words(before + high[0], "0" * len(high[1:]), high[1:])
        last -= 1
    if first <= last:
        yield f"{begin}{_digit(first, last)}{rest}"


def _digit(first: int, last: int) -> str:
    return f"[{first}]" if first == last else f"[{first}-{last}]"


def _decimals(bounds: Bounds) -> Iterator[str]:
    """Decimal numbers within bounds that are both there and not below 0."""
    if bounds.empty or bounds.low is None or bounds.high is None:
        return
    low, after_low = _parts(bounds.low)
    high, after_high = _parts(bounds.high)
    room = max(_FRACTION, len(after_low), len(after_high))
    _check_exact(bounds, room)
    begin = _Fraction(after_low, bounds.low_open, None, False)
    end = _Fraction(None, False, after_high, bounds.high_open)
    if low == high:
        yield from _Fraction(after_low, bounds.low_open, after_high, bounds.high_open).written(low, room)
        return
    yield from begin.written(low, room)
    for digits in _integers(low + 1, high - 1):
        yield f'{digits} ("." [0-9]{{1,{room}}})?'
    yield from end.written(high, room)


def _parts(number: Decimal) -> tuple[int, str]:
    before, _, after = format(number, "f").partition(".")
    return int(before), after.rstrip("0")


def _check_exact(bounds: Bounds, room: int) -> None:
    """Next to a bound that is out itself, a double must not round to it."""
    for bound, is_open in ((bounds.low, bounds.low_open), (bounds.high, bounds.high_open)):
        if is_open and bound and max(bound.adjusted(), 0) + room >= _EXACT:
            raise InexpressibleError(f"excludes exactly {bound}; give minimum or maximum instead.")


@dataclass(frozen=True)
class _Fraction:
    """What may follow the point, or the digits so far; None leaves it free on that side."""

    low: str | None
    low_open: bool
    high: str | None
    high_open: bool

    @property
    def may_end(self) -> bool:
        above = self.low is None or (self.low == "" and not self.low_open)
        below = self.high is None or self.high != "" or not self.high_open
        return above and below

    def written(self, whole: int, room: int) -> Iterator[str]:
        if self.may_end:
            yield f'{literal(str(whole))} ".0"?'
        for digits in self.digits("", room):
            yield f"{literal(f'{whole}.')} {digits}"

    def digits(self, before: str, room: int) -> Iterator[str]:
        """One digit or more after those `before`, and at most `room`."""
        if room == 0 or self.high == "":
            return
        free = [digit for digit in range(10) if self._after(digit) == _FREE]
        if free:
            begin = f"{literal(before)} " if before else ""
            more = f" {repeated('[0-9]', 0, room - 1)}" if room > 1 else ""
            yield f"{begin}{_digit(free[0], free[-1])}{more}"
        for digit in range(10):
            after = self._after(digit)
            if after is None or after == _FREE:
                continue
            if after.may_end:
                yield literal(f"{before}{digit}")
            yield from after.digits(f"{before}{digit}", room - 1)

    def _after(self, digit: int) -> "_Fraction | None":
        """What may follow one more digit; None if it cannot be."""
        low, high = self.low, self.high
        if low is not None:
            bound = int(low[:1] or "0")
            if digit < bound:
                return None
            low = None if digit > bound or (low == "" and not self.low_open) else low[1:]
        if high is not None:
            bound = int(high[:1] or "0")
            if digit > bound:
                return None
            high = None if digit < bound else high[1:]
        return _Fraction(low, self.low_open, high, self.high_open) if (low, high) != (None, None) else _FREE


_FREE = _Fraction(None, False, None, False)
