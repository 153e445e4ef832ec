"""Find copies and near copies among many texts, by the sequences of words that they share."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_UNITS = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’][^\W_]+)*")
_RUN = 4
"""Units in a run; two texts rarely share so many consecutive units by chance."""
_COMMON = 50
"""Runs in more texts than this are ignored: they are common phrases of the language or the collection."""


class NearCopy(NamedTuple):
    """The indices of two texts, and the share of the shorter text's runs that the longer one contains."""

    first: int
    second: int
    share: float


def near_copies(texts: Sequence[str], *, at_least: float = 0.5) -> Iterator[NearCopy]:
    """Yield pairs of texts of which the longer one contains most of the shorter one.

    Texts shorter than a run are compared as a whole. The time grows with the number of texts and of pairs
    that share a run, not with the number of all pairs.

    Args:
        texts: in any language.
        at_least: the least share, from 0 to 1, of the shorter text's runs that the longer contains.
    """
    runs = [_runs(text) for text in texts]
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, held in enumerate(runs):
        for run in held:
            holders[run].append(number)
    for number, held in enumerate(runs):
        shared: dict[int, int] = defaultdict(int)
        for run in held:
            # A text that consists of a single common run still counts as a copy.
            if len(holders[run]) <= _COMMON or len(held) == 1:
                for other in holders[run]:
                    if other > number:
                        shared[other] += 1
        for other, times in sorted(shared.items()):
            share = times / min(len(held), len(runs[other]))
            if share >= at_least:
                yield NearCopy(number, other, share)


def units_of(text: str) -> list[str]:
    """The units of comparison: Chinese characters, and words of languages with spaces between words."""
    return _UNITS.findall(text.casefold())


def _runs(text: str) -> set[tuple[str, ...]]:
    units = units_of(text)
    if len(units) <= _RUN:
        return {tuple(units)} if units else set()
    return {tuple(units[start : start + _RUN]) for start in range(len(units) - _RUN + 1)}
