"""Compare two cards.

Members of lists are matched by identity, not by index: an entry inserted at the front of a lorebook is a
single change.
"""

import hashlib
import json
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal
from unicodedata import east_asian_width

from rolellm_agents.cards.card import Card
from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import json_path, printable
from rolellm_agents.cards.png import is_png, with_texts
from rolellm_agents.cards.values import Json, mapping, text, texts

Kind = Literal["added", "removed", "changed"]

_Identity = Callable[[Json], str]
"""Returns a key by which members of two lists are matched; empty for a member without one."""

_MOST_WORDS = 8_000
"""Including spaces. Longer texts are not compared word by word, which might take minutes."""
_SYLLABLES = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Chinese and Japanese, where each character counts as a word."""
_WORDS = re.compile(rf"\n|[^\S\n]+|[{_SYLLABLES}]|[^\W{_SYLLABLES}]+|[^\w\s]")
_NARROW = r"[^\s\u1100-\u115f\u2070-\U0010ffff]"
"""Characters that certainly take one terminal cell."""


@dataclass(frozen=True)
class Change:
    """One difference between two cards."""

    where: str
    """A path such as `data.tags[2]` in the new card, or `image`. A removed member has its old index."""
    kind: Kind
    old: Json
    """The old value; None for an added one. For a reordered list, the names of its members."""
    new: Json
    """The new value; None for a removed one."""


def diff(old: Card, new: Card) -> list[Change]:
    """Compare the JSON and the pictures of two cards; the order of an object's keys is ignored.

    Lore entries are matched by id, else by name and keys, else by index; assets by type and name; other
    members of lists by content, else by index. A picture is represented by its size and digest, without
    the text chunks of a PNG, which contain the card itself.
    """
    before = {"image": _picture(old.image)} if old.image is not None else {}
    after = {"image": _picture(new.image)} if new.image is not None else {}
    return [*_of_objects("", old.document, new.document), *_of_objects("", before, after)]


def side_by_side(change: Change, width: int) -> list[tuple[str, str]]:
    """The old and the new value in two columns of plain text, line by line.

    Words that occur on one side only are marked with `[-…-]` on the left, and with `{+…+}` on the right.

    Args:
        change: the change; values that are not texts are shown as JSON.
        width: the width of each column in terminal cells, at least 2; a Chinese character takes two cells.
    """
    values = {"added": (change.new,), "removed": (change.old,), "changed": (change.old, change.new)}
    # JSON on both sides distinguishes 1 from "1".
    show = printable if all(isinstance(value, str) for value in values[change.kind]) else _json
    left = "" if change.kind == "added" else show(change.old)
    right = "" if change.kind == "removed" else show(change.new)
    pieces = _marked(left, right) if change.kind == "changed" else [(left, right)]
    rows: list[tuple[str, str]] = []
    for one, other in pieces:
        rows += zip_longest(_wrapped(one, max(2, width)), _wrapped(other, max(2, width)), fillvalue="")
    return rows


def _of(where: str, old: Json, new: Json) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _of_objects(where, old, new)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(where, old, new)
    elif _content(old) != _content(new):
        yield Change(where, "changed", old, new)


def _of_objects(where: str, old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[Change]:
    for key in dict.fromkeys([*old, *new]):
        place = json_path(where, key)
        if key not in new:
            yield Change(place, "removed", old[key], None)
        elif key not in old:
            yield Change(place, "added", None, new[key])
        else:
            yield from _of(place, old[key], new[key])


def _of_lists(where: str, old: list[Json], new: list[Json]) -> Iterator[Change]:
    stayed = _pairs(old, new, *_known_by(where))
    in_order = sorted(stayed.values())
    if list(stayed.values()) != in_order:
        names = [_named(old[one]) for one in stayed]
        yield Change(where, "changed", names, [_named(new[other]) for other in in_order])
    for one, value in enumerate(old):
        if one not in stayed:
            yield Change(json_path(where, one), "removed", value, None)
    origin = {other: one for one, other in stayed.items()}
    for other, value in enumerate(new):
        if other not in origin:
            yield Change(json_path(where, other), "added", None, value)
        else:
            yield from _of(json_path(where, other), old[origin[other]], value)


def _pairs(
    old: list[Json], new: list[Json], identities: Sequence[_Identity], by_place: Callable[[Json], bool]
) -> dict[int, int]:
    """Indexes of matching members in the old and the new list, in the old list's order."""
    found: dict[int, int] = {}
    taken: dict[int, int] = {}
    for identity in identities:
        unmatched: dict[str, deque[int]] = defaultdict(deque)
        for one, value in enumerate(old):
            if one not in found:
                unmatched[identity(value)].append(one)
        unmatched.pop("", None)
        for other, value in enumerate(new):
            if other not in taken and (same := unmatched.get(identity(value))):
                found[same.popleft()] = taken[other] = other
    free = {place: other for other, place in _places(new, taken) if by_place(new[other])}
    for one, place in [*_places(old, found)]:
        if place in free and by_place(old[one]):
            found[one] = free[place]
    return dict(sorted(found.items()))


def _places(members: list[Json], anchors: Mapping[int, int]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Members without an anchor, each with the last anchor before it and the distance from it."""
    last, distance = -1, 0
    for at in range(len(members)):
        distance += 1
        if at in anchors:
            last, distance = anchors[at], 0
        else:
            yield at, (last, distance)


def _known_by(where: str) -> tuple[tuple[_Identity, ...], Callable[[Json], bool]]:
    """The identities that match a list's members, and which members may be matched by place alone."""
    if f".{where}".endswith(".character_book.entries"):
        # Entries with different ids never match.
        return (_content, _id, _name_and_keys), lambda entry: not _id(entry)
    if where in ("assets", "data.assets"):
        return (_content, _type_and_name), lambda _: False
    return (_content,), lambda _: True


def _content(value: Json) -> str:
    """The value as a text that distinguishes 1, 1.0, true and "1"."""
    return json.dumps(value, sort_keys=True)


def _id(entry: Json) -> str:
    return text(mapping(entry).get("id"))


def _name_and_keys(entry: Json) -> str:
    raw = mapping(entry)
    parts = [text(raw.get("comment")) or text(raw.get("name")), *texts(raw.get("keys"))]
    return json.dumps(parts) if any(parts) else ""


def _type_and_name(asset: Json) -> str:
    raw = mapping(asset)
    return json.dumps([text(raw.get("type")), text(raw.get("name"))])


def _named(value: Json) -> str:
    raw = mapping(value)
    known = (text(raw.get(key)) for key in ("comment", "name", "id", "type"))
    return text(value) or next(filter(None, known), "") or _json(value)


def _picture(image: bytes) -> str:
    content = image
    if is_png(image):
        try:
            content = with_texts(image, lambda _: True, (), "The picture")
        except CardError:
            content = image  # the file is truncated, so all of it counts
    return f"{len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}"


def _json(value: Json) -> str:
    return printable(json.dumps(value, ensure_ascii=False, indent=2))


def _marked(old: str, new: str) -> Iterator[tuple[str, str]]:
    """The two texts with marked differences, split after each common line break."""
    words, others = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(words), len(others)) > _MOST_WORDS:
        yield old, new
        return
    left = right = ""
    # A common space alone does not align the texts.
    matcher = SequenceMatcher(lambda word: word.isspace() and word != "\n", words, others)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        one, other = "".join(words[start:end]), "".join(others[other_start:other_end])
        if kind == "equal":
            *lines, rest = one.split("\n")
            for line in lines:
                yield left + line, right + line
                left = right = ""
            left, right = left + rest, right + rest
        else:
            left += f"[-{one}-]" if one else ""
            right += f"{{+{other}+}}" if other else ""
    yield left, right


def _wrapped(words: str, width: int) -> list[str]:
    """Wrap a text to the width, at spaces where possible."""
    rows: list[str] = []
    pieces = re.compile(rf"{_NARROW}{{1,{width}}}|\S|\s{{1,{width}}}")
    for line in words.split("\n"):
        row, room = "", width
        for piece in pieces.findall(line):
            needed = sum(2 if east_asian_width(character) in "WF" else 1 for character in piece)
            if needed > room:
                rows.append(row.rstrip())
                row, room = "", width
                if piece.isspace():
                    continue
            row, room = row + piece, room - needed
        rows.append(row.rstrip())
    return rows
