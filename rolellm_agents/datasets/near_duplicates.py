"""Find all near duplicates among up to a hundred thousand questions.

The similarity of two texts is the Jaccard index of their sets of words (in Chinese, of characters). The few
rarest words of two similar texts must have one in common (prefix filtering: Chaudhuri et al. 2006; Bayardo
et al. 2007). So only texts that share a rare word are compared, and of these only the ones with similar
bitmaps of 128 bits (Sandes et al. 2020). Unlike MinHash this is exact.

`rolellm_agents.text.near_copies` instead finds texts that occur inside other texts.
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rolellm_agents.text.near_copies import units_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAR: Final = 0.8
"""The least Jaccard index of two questions that count as near duplicates."""
_BITS = 128
_LAST_64 = 2**64 - 1
_ROUNDING = 1e-9


class NearDuplicate(NamedTuple):
    """The places of two texts in the sequence, and their Jaccard index."""

    first: int
    second: int
    likeness: float


def near_duplicates(texts: Sequence[str], *, at_least: float = NEAR) -> Iterator[NearDuplicate]:
    """Yield each pair of similar texts once, in no particular order.

    Case, punctuation and word order do not count. A text without words is similar only to its copies. The
    memory grows with the number of texts, not of pairs.

    Args:
        texts: texts in any language. Equal texts are pairs too, so n copies give n(n-1)/2 pairs.
        at_least: the least Jaccard index, above 0 and up to 1.
    """
    words = _numbered(texts)
    for one, other in _candidates(words, at_least):
        likeness = _jaccard(words[one], words[other])
        if likeness >= at_least:
            yield NearDuplicate(min(one, other), max(one, other), likeness)


def near_groups(
    texts: Sequence[str], *, at_least: float = NEAR, also: Iterable[NearDuplicate] = ()
) -> list[list[int]]:
    """Group texts so that similar texts are in one group (single linkage).

    Args:
        texts: as for `near_duplicates`.
        at_least: as for `near_duplicates`.
        also: further pairs of similar texts, such as paraphrases.

    Returns:
        The places of each group's texts in order; the groups by their first text. Each text is in exactly
        one group.
    """
    words = _numbered(texts)
    head = list(range(len(texts)))

    def head_of(place: int) -> int:
        while head[place] != place:
            head[place] = place = head[head[place]]
        return place

    def join(one: int, other: int) -> None:
        heads = head_of(one), head_of(other)
        head[max(heads)] = min(heads)

    # Texts with equal sets of words are grouped first, so that many copies of one question cost nothing.
    first: dict[tuple[int, ...], int] = {}
    for place, held in enumerate(words):
        head[place] = first.setdefault(held, place)
    different = list(first.values())
    for one, other in _candidates([words[place] for place in different], at_least):
        pair = different[one], different[other]
        if head_of(pair[0]) != head_of(pair[1]) and _jaccard(*(words[place] for place in pair)) >= at_least:
            join(*pair)
    for further in also:
        join(further.first, further.second)
    groups: dict[int, list[int]] = defaultdict(list)
    for place in range(len(texts)):
        groups[head_of(place)].append(place)
    return list(groups.values())


def _numbered(texts: Sequence[str]) -> list[tuple[int, ...]]:
    """The distinct words of each text as numbers, rarest first."""
    numbers: dict[str, int] = {}
    held = [
        {numbers.setdefault(word, len(numbers)) for word in units_of(text) or [text.strip()]}
        for text in texts
    ]
    times = Counter(number for words in held for number in words)
    by_rarity = sorted(range(len(numbers)), key=lambda number: (times[number], number))
    rank = {number: place for place, number in enumerate(by_rarity)}
    return [tuple(sorted(rank[number] for number in words)) for words in held]


def _candidates(words: Sequence[tuple[int, ...]], at_least: float) -> Iterator[tuple[int, int]]:
    """Pairs that may be similar, each once; includes all pairs that are."""
    import numpy as np

    by_size = sorted(range(len(words)), key=lambda place: len(words[place]))
    sizes = np.fromiter((len(words[place]) for place in by_size), np.int64, len(words))
    marks = _marks([words[place] for place in by_size])
    most_apart = (1 - at_least) / (1 + at_least)  # of all their words, for two texts that are near
    holders: dict[int, array[int]] = defaultdict(lambda: array("q"))
    for number, place in enumerate(by_size):
        size = len(words[place])
        fewest = math.ceil(at_least * size - _ROUNDING)  # words in common with whatever is near
        long_enough = int(np.searchsorted(sizes, fewest))
        prefix = words[place][: size - fewest + 1]
        others = np.concatenate([_from(holders[word], long_enough) for word in prefix])
        for word in prefix:
            holders[word].append(number)
        apart = np.bitwise_count(marks[others] ^ marks[number]).sum(axis=1)
        near = others[apart <= most_apart * (sizes[others] + size) + _ROUNDING]
        yield from ((place, by_size[other]) for other in np.unique(near).tolist())


def _from(numbers: "array[int]", least: int) -> "NDArray[np.int64]":
    """The numbers of an ordered array from `least` on, without a copy."""
    import numpy as np

    held = np.frombuffer(numbers, np.int64)
    return held[np.searchsorted(held, least) :]


def _marks(words: Sequence[tuple[int, ...]]) -> "NDArray[np.uint64]":
    """A bitmap of 128 bits for each text; two bitmaps differ in at most as many bits as the texts in words.

    Each word turns one bit over.
    """
    import numpy as np

    marks = np.zeros((len(words), _BITS // 64), np.uint64)
    for number, held in enumerate(words):
        bits = 0
        for word in held:
            bits ^= 1 << (word % _BITS)
        marks[number] = [bits >> shift & _LAST_64 for shift in range(0, _BITS, 64)]
    return marks


def _jaccard(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    common = len(set(one).intersection(other))
    return common / (len(one) + len(other) - common)
