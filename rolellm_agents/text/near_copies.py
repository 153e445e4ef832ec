"""Find texts that are copies of each other, or nearly so, among many, by the runs of words they share."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_UNITS = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’][^\W_]+)*")
_RUN = 4
"""So many units in a row are rarely the same by chance."""
_COMMON = 50
"""A run that stands in more texts than this is a formula of the language, or of the collection."""


class NearCopy(NamedTuple):
    """Two texts by their places in the sequence, and the share of the shorter one's runs that both hold."""

    first: int
    second: int
    share: float


def near_copies(texts: Sequence[str], *, at_least: float = 0.5) -> Iterator[NearCopy]:
    """Pairs of texts of which the shorter one stands in the other, wholly or in great part.

    Texts shorter than a run are compared whole. The time grows with the texts and the pairs that share
    something, not with all pairs.

    Args:
        texts: any language.
        at_least: the share, from 0 to 1, of the shorter text's runs that the longer must hold.
    """
    runs = [_runs(text) for text in texts]
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, held in enumerate(runs):
        for run in held:
            holders[run].append(number)
    for number, held in enumerate(runs):
        shared: dict[int, int] = defaultdict(int)
        for run in held:
            # The formula itself, when it is all there is, is still a copy.
            if len(holders[run]) <= _COMMON or len(held) == 1:
                for other in holders[run]:
                    if other > number:
                        shared[other] += 1
        for other, times in sorted(shared.items()):
            share = times / min(len(held), len(runs[other]))
            if share >= at_least:
                yield NearCopy(number, other, share)


def units_of(text: str) -> list[str]:
    """What texts are compared by: Chinese characters, and the words of languages that set words apart."""
    return _UNITS.findall(text.casefold())


def _runs(text: str) -> set[tuple[str, ...]]:
    units = units_of(text)
    if len(units) <= _RUN:
        return {tuple(units)} if units else set()
    return {tuple(units[start : start + _RUN]) for start in range(len(units) - _RUN + 1)}
