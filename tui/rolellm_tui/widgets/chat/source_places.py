"""Where the characters of a shown message are in its Markdown, so that copies are as it was written."""

import re

_MARKUP = frozenset("*_~`#>-+.[]()!\\|:&0123456789 \t\n")
"""Characters that Markdown may have between two shown ones."""
_FENCE = re.compile(r"(?<![^\s>])(?:`{3,}[^`\n]*|~{3,}[^\n]*)(?=\n|\Z)")
"""The line above a block of code, or below it."""
_WINDOW = 2_000
"""The longest distance between two shown characters, as the target of a link may be long."""
_KNOWN_AGAIN = 4
"""Characters that must be equal to go on after text that is shown otherwise than it is written."""


def source_of(shown: str, source: str, start: int, end: int) -> str:
    """The source of a part of what is shown.

    Args:
        shown: the text as it is shown, without the breaks of wrapped lines.
        source: the Markdown that it was made of.
        start: where the part begins in `shown`.
        end: where it ends; the end itself is not a part of it.
    """
    if start <= 0 and end >= len(shown):
        return source
    if shown == source:
        return source[start:end]
    places = [place for place in source_places(shown, source)[start:end] if place is not None]
    return source[places[0] : places[-1] + 1] if places else shown[start:end]


def source_places(shown: str, source: str) -> list[int | None]:
    """The place in the source of each shown character; None for what only the screen has, such as `•`.

    The places ascend, because both texts have the same order.
    """
    places: list[int | None] = []
    place = 0
    for index, character in enumerate(shown):
        found = _behind_markup(source, place, character)
        if found is None:
            found = _known_again(source, place, shown[index : index + _KNOWN_AGAIN])
        places.append(found)
        if found is not None:
            place = found + 1
    return places


def _behind_markup(source: str, place: int, character: str) -> int | None:
    found, end = place, min(len(source), place + _WINDOW)
    while found < end:
        if fence := _FENCE.match(source, found):
            found = fence.end()
        if source[found : found + 1] == character:
            return found
        if source[found : found + 1] not in _MARKUP:
            return None
        found += 1
    return None


def _known_again(source: str, place: int, piece: str) -> int | None:
    # A shorter piece, which the end of the text is, could be found anywhere.
    found = source.find(piece, place, place + _WINDOW) if len(piece) == _KNOWN_AGAIN else -1
    return None if found < 0 else found
