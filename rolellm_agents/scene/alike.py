"""Whether two lines say the same."""

import re

from rolellm_agents.scene.names import HAN

_SIGNS = re.compile(r"[\W_]+")
_HAN = re.compile(f"[{HAN}]")
_LONGEST = 1_000
"""Characters that are compared: the time of a comparison grows with their square."""
_SHORT = 24
_LONG = 80
"""Characters, of which a Chinese one counts as three."""
_ALIKE, _ALIKE_WHEN_LONG = 90, 80
"""Per cent. Lines of more than a few words in novels and in RoleBench stay below 80, but for copies."""


def comparable(text: str) -> str:
    """A text without case and signs, as far as it is compared."""
    return _SIGNS.sub(" ", text[: 2 * _LONGEST].casefold()).strip()[:_LONGEST]


def size_of(text: str) -> int:
    """How much a text says: its characters, of which a Chinese one counts as three."""
    return len(text) + 2 * len(_HAN.findall(text))


def is_short(text: str) -> bool:
    """Whether it is no more than people say again and again, as “Yes, sir”."""
    return size_of(text) < _SHORT


def nearly_the_same(one: str, other: str) -> bool:
    """Whether two texts, as `comparable` gives them, say the same: by their Indel similarity."""
    if one == other:
        return True
    size = min(size_of(one), size_of(other))
    if size < _SHORT:
        return False
    from rapidfuzz import fuzz

    least = _ALIKE_WHEN_LONG if size >= _LONG else _ALIKE
    return fuzz.ratio(one, other, score_cutoff=least) > 0
