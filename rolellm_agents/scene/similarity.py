"""Similarity of lines, to find repetitions."""

import re

from rolellm_agents.scene.names import HAN

_SIGNS = re.compile(r"[\W_]+")
_HAN = re.compile(f"[{HAN}]")
_LONGEST = 1_000
"""Characters that are compared; the time of a comparison grows with their square."""
_SHORT = 24
_LONG = 80
"""Sizes as `size_of` counts them."""
_ALIKE, _ALIKE_WHEN_LONG = 90, 80
"""Per cent. Different lines of more than a few words in novels and in RoleBench stay below 80."""


def comparable(text: str) -> str:
    """The beginning of a text that is compared, case-folded and without punctuation."""
    return _SIGNS.sub(" ", text[: 2 * _LONGEST].casefold()).strip()[:_LONGEST]


def size_of(text: str) -> int:
    """The size of a text in characters; a Chinese character counts as three."""
    return len(text) + 2 * len(_HAN.findall(text))


def is_short(text: str) -> bool:
    """Whether a text is too short to count as a repetition, for example “Yes, sir”."""
    return size_of(text) < _SHORT


def is_nearly_equal(one: str, other: str) -> bool:
    """Whether two results of `comparable` are equal or have a high Indel similarity."""
    if one == other:
        return True
    size = min(size_of(one), size_of(other))
    if size < _SHORT:
        return False
    from rapidfuzz import fuzz

    least = _ALIKE_WHEN_LONG if size >= _LONG else _ALIKE
    return fuzz.ratio(one, other, score_cutoff=least) > 0
