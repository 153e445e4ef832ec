"""A stranger's JSON shown to people: where a value stands, and without what a terminal would obey."""

import re

_INVISIBLE = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def within(where: str, step: str | int) -> str:
    """The path of a member: `data.name`, `data.tags[0]`; an odd key in quotes, as in `extensions['a b']`.

    Args:
        where: the path of the object or list; empty for the document itself.
        step: the member's key or place.
    """
    if isinstance(step, str) and step.isidentifier():
        return f"{where}.{step}" if where else step
    return f"{where}[{step!r}]"


def printable(words: str) -> str:
    """The same text with escapes for control characters, halves of characters and what turns the line."""
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), words)
