"""Regular expressions as grammars. A string is the pattern's match and nothing around it."""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Python's own parser of regular expressions: private in name only, hypothesis too builds on it.
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

from rolellm_agents.models.llamacpp.grammar.reading import inverse, joined
from rolellm_agents.models.llamacpp.grammar.rules import (
    EMPTY,
    InexpressibleError,
    Language,
    Ranges,
    Rules,
    repeated,
)
from rolellm_agents.models.llamacpp.grammar.strings import QUOTE, common, spelled

_LONGEST = 1000
_DEEPEST = 50
_ASCII: Ranges = ((0x20, 0x7E),)
_BEYOND: Ranges = ((0x80, 0x10FFFF),)
_CONTROL: Ranges = ((0, 0x1F), (0x7F, 0x7F))
_CLASSES: dict[str, Ranges] = {
    "DIGIT": ((0x30, 0x39),),
    "SPACE": ((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20)),
    "WORD": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
}
_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))


def matches(rules: Rules, pattern: str, least: int, most: int | None) -> Language:
    """JSON strings that are a match of `pattern`, of so many characters.

    Raises:
        InexpressibleError: the pattern needs more than a grammar can say.
    """
    if len(pattern) > _LONGEST:
        raise InexpressibleError(f"has a pattern longer than {_LONGEST:,} characters; shorten it.")
    part = _narrowed(_parsed(pattern), least, most)
    if part is None:
        raise InexpressibleError(
            "has a pattern beside minLength or maxLength; put the lengths into the pattern."
        )
    content = _term(part, rules)
    return () if content is None else (f"{QUOTE} {content} {QUOTE}",)


@dataclass(frozen=True)
class _Part:
    """A piece of a pattern, and how many characters it can match."""

    least: int
    most: int | None


@dataclass(frozen=True)
class _Character(_Part):
    ranges: Ranges


@dataclass(frozen=True)
class _Several(_Part):
    """One after the other."""

    parts: tuple[_Part, ...]


@dataclass(frozen=True)
class _Either(_Part):
    parts: tuple[_Part, ...]


@dataclass(frozen=True)
class _Repeated(_Part):
    part: _Part
    times_least: int
    times_most: int | None


def _character(ranges: Ranges) -> _Part:
    return _Character(1, 1, ranges)


def _several(parts: Sequence[_Part]) -> _Part:
    most = None if any(part.most is None for part in parts) else sum(part.most or 0 for part in parts)
    return _Several(sum(part.least for part in parts), most, tuple(parts))


def _either(parts: Sequence[_Part]) -> _Part:
    most = None if any(part.most is None for part in parts) else max(part.most or 0 for part in parts)
    return _Either(min(part.least for part in parts), most, tuple(parts))


def _times(part: _Part, least: int, most: int | None) -> _Part:
    if most is None and part.least == 0:
        raise InexpressibleError("has a pattern that repeats what may be empty; let it match something.")
    longest = None if most is None or part.most is None else part.most * most
    return _Repeated(part.least * least, longest, part, least, most)


# Reading


def _parsed(pattern: str) -> _Part:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = sre_parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InexpressibleError(f"has a pattern that cannot be read ({error}); put it right.") from error
    _refuse_flags(tree.state.flags)
    return _sequence(list(tree), first=True, last=True, depth=0)


def _refuse_flags(flags: int) -> None:
    if flags & re.IGNORECASE:
        raise InexpressibleError("has a pattern that ignores case; spell both cases out.")


def _sequence(nodes: list[Any], *, first: bool, last: bool, depth: int) -> _Part:
    """Nodes in a row; `first` and `last` tell whether they begin and end the whole."""
    if depth > _DEEPEST:
        raise InexpressibleError(
            f"has a pattern with more than {_DEEPEST} brackets in each other; simplify it."
        )
    parts: list[_Part] = []
    for place, (kind, argument) in enumerate(nodes):
        at_begin = first and not parts
        at_end = last and all(later is sre.AT for later, _ in nodes[place + 1 :])
        if kind is sre.AT:
            _check_anchor(argument, at_begin=at_begin, at_end=at_end)
        else:
            parts.append(_part(kind, argument, first=at_begin, last=at_end, depth=depth + 1))
    return _several(parts)


def _check_anchor(kind: Any, *, at_begin: bool, at_end: bool) -> None:
    """An anchor says nothing where a match begins and ends anyway."""
    begins = kind in {sre.AT_BEGINNING, sre.AT_BEGINNING_STRING}
    ends = kind in {sre.AT_END, sre.AT_END_STRING}
    if not (begins and at_begin) and not (ends and at_end):
        raise InexpressibleError("has a pattern with an anchor or boundary in the middle; leave it out.")


def _part(kind: Any, argument: Any, *, first: bool, last: bool, depth: int) -> _Part:
    if kind is sre.LITERAL:
        return _character(((argument, argument),))
    if kind is sre.NOT_LITERAL:
        return _character(common(inverse(((argument, argument),)), inverse(_CONTROL)))
    if kind is sre.ANY:
        return _character(common(inverse(_LINE_ENDS), inverse(_CONTROL)))
    if kind is sre.IN:
        return _character(_set(argument))
    if kind is sre.BRANCH:
        branches = argument[1]
        return _either([_sequence(list(each), first=first, last=last, depth=depth) for each in branches])
    if kind is sre.SUBPATTERN:
        _, added, _, inner = argument
        _refuse_flags(added)
        return _sequence(list(inner), first=first, last=last, depth=depth)
    if kind in {sre.MAX_REPEAT, sre.MIN_REPEAT}:
        least, most, inner = argument
        part = _sequence(list(inner), first=False, last=False, depth=depth)
        return _times(part, int(least), None if most is sre.MAXREPEAT else int(most))
    raise InexpressibleError("has a pattern that looks around or back; say it without.")


def _set(items: Iterable[tuple[Any, Any]]) -> Ranges:
    """A `[…]`. Where readers of patterns differ, as on which letters `\\w` knows, only what all take."""
    negated = False
    sure: list[tuple[int, int]] = []
    possible: list[tuple[int, int]] = []
    for kind, argument in items:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.CATEGORY:
            certain, perhaps = _category(str(argument))
            sure += certain
            possible += perhaps
        else:
            span = (argument, argument) if kind is sre.LITERAL else argument
            sure.append(span)
            possible.append(span)
    return common(inverse(joined(possible)), inverse(_CONTROL)) if negated else joined(sure)


def _category(name: str) -> tuple[Ranges, Ranges]:
    """The characters surely in `\\d` and its like, and those that may be."""
    ranges = _CLASSES[name.rpartition("_")[2]]
    if "NOT" in name:
        return common(inverse(ranges), _ASCII), inverse(ranges)
    return ranges, joined([*ranges, *_BEYOND, *_CONTROL])


# Narrowing


def _narrowed(part: _Part, least: int, most: int | None) -> _Part | None:
    """Some of a part's matches, of so many characters; None if that cannot be said."""
    if part.least >= least and (most is None or (part.most is not None and part.most <= most)):
        return part
    if isinstance(part, _Either):
        kept = [found for each in part.parts if (found := _narrowed(each, least, most)) is not None]
        return _either(kept) if kept else None
    if isinstance(part, _Repeated):
        return _fewer_times(part, least, most)
    return _shared_out(part, least, most) if isinstance(part, _Several) else None


def _fewer_times(part: _Repeated, least: int, most: int | None) -> _Part | None:
    width = part.part.least
    if width == 0:
        return None
    fewest = max(part.times_least, -(-least // width))
    limit = part.times_most
    if most is not None:
        if part.part.most is None:
            return None
        limit = min(most // part.part.most, most if limit is None else limit)
    return _times(part.part, fewest, limit) if limit is None or fewest <= limit else None


def _shared_out(part: _Several, least: int, most: int | None) -> _Part | None:
    """What is missing comes from the first part that can give it; what is left is shared out equally."""
    missing = max(0, least - part.least)
    bounds = [(each.least, each.most) for each in part.parts]
    for place, (low, high) in enumerate(bounds):
        more = missing if high is None else min(missing, high - low)
        bounds[place] = low + more, high
        missing -= more
    if most is not None:
        bounds = _with_shares(bounds, most - sum(low for low, _ in bounds))
    if missing or any(high is not None and high < low for low, high in bounds):
        return None
    parts = [_narrowed(each, *bound) for each, bound in zip(part.parts, bounds, strict=True)]
    kept = [each for each in parts if each is not None]
    return _several(kept) if len(kept) == len(parts) else None


def _with_shares(bounds: list[tuple[int, int | None]], left: int) -> list[tuple[int, int | None]]:
    elastic = sum(high is None or high > low for low, high in bounds)
    shared: list[tuple[int, int | None]] = []
    for low, high in bounds:
        if high is None or high > low:
            share = left // elastic
            share = share if high is None else min(share, high - low)
            left, elastic = left - share, elastic - 1
            shared.append((low, low + share))
        else:
            shared.append((low, high))
    return shared


# Writing


def _term(part: _Part, rules: Rules) -> str | None:
    """A part as a grammar; None if nothing can match it."""
    if isinstance(part, _Character):
        language = spelled(part.ranges)
        return rules.term("one", language) if language else None
    if isinstance(part, _Several):
        terms = [_term(each, rules) for each in part.parts]
        found = [term for term in terms if term is not None]
        return None if len(found) < len(terms) else " ".join(found) or EMPTY
    if isinstance(part, _Either):
        choices = [term for each in part.parts if (term := _term(each, rules)) is not None]
        return rules.term("either", tuple(dict.fromkeys(choices))) if choices else None
    if isinstance(part, _Repeated):
        term = _term(part.part, rules)
        if term is None:
            return EMPTY if part.times_least == 0 else None
        return repeated(rules.term("part", (term,)), part.times_least, part.times_most)
    return None
