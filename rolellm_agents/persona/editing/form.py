"""The form of a persona: its rows, the fields of each row, and changes of the data.

A row is a part of the persona, such as the description or one demonstration. Data are plain values, as in
the file; each change returns new data.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rolellm_agents.text import one_line

Path = tuple[str | int, ...]
Data = dict[str, Any]
Kind = Literal["line", "text", "words", "number", "flag"]
"""`words` is a list of texts, one on each line."""
ABOUT: Path = ("about",)
"""The row of the short fields."""
ENTRIES: Path = ("lorebook", "entries")
_SHOWN = 40
"""Maximum length of the text of a row, in characters."""


@dataclass(frozen=True)
class FormField:
    """One value that can be edited."""

    path: Path
    label: str
    kind: Kind = "line"


@dataclass(frozen=True)
class FormRow:
    """A part of the persona, with fields."""

    path: Path
    label: str
    fields: tuple[FormField, ...]
    items: Path | None = None
    """The list that the row is an item of, or the head of; None for other rows."""


_ABOUT = (
    FormField(("name",), "Name"),
    FormField(("language",), "Language (en or zh)"),
    FormField(("category",), "Category"),
    FormField(("tags",), "Tags, one on each line", "words"),
    FormField(("source", "work"), "Work that the character is from"),
    FormField(("source", "year"), "Year of the work", "number"),
    FormField(("portrait",), "Portrait, a picture file beside the persona's file"),
)
_TEXTS = {
    "description": "Description",
    "greeting": "Greeting",
    "moment": "Moment of the story",
}
_LISTS: Mapping[Path, tuple[str, Any, tuple[FormField, ...]]] = {
    ("catchphrases",): ("Catchphrases", "", (FormField((), "Catchphrase", "text"),)),
    ("demonstrations",): (
        "Demonstrations",
        {"user": "", "reply": ""},
        (
            FormField(("user",), "The user says", "text"),
            FormField(("reply",), "The character answers", "text"),
            FormField(("place",), "Place in the source"),
        ),
    ),
    ("knowledge",): (
        "Knowledge",
        {"title": "", "text": ""},
        (
            FormField(("title",), "Title"),
            FormField(("text",), "What the character knows, in the first person", "text"),
            FormField(("place",), "Place in the source"),
        ),
    ),
    ENTRIES: (
        "Lorebook",
        {
            "comment": "",
            "keys": [],
            "content": "",
            "enabled": True,
            "insertion_order": 100,
            "extensions": {},
        },
        (
            FormField(("comment",), "Name"),
            FormField(("keys",), "Keys, one on each line", "words"),
            FormField(("content",), "Text for the prompt", "text"),
            FormField(("enabled",), "Switched on", "flag"),
            FormField(("constant",), "Always active", "flag"),
            FormField(("insertion_order",), "Order (lower comes first)", "number"),
            FormField(("position",), "Position (before_char or after_char)"),
            FormField(("selective",), "Use secondary keys", "flag"),
            FormField(("secondary_keys",), "Secondary keys, one on each line", "words"),
            FormField(("case_sensitive",), "Upper and lower case differ", "flag"),
            FormField(("priority",), "Priority (lower is dropped first)", "number"),
            FormField(("extensions", "probability"), "Probability in per cent", "number"),
            FormField(("extensions", "scan_depth"), "Messages to search", "number"),
            FormField(("extensions", "sticky"), "Stays active for messages", "number"),
            FormField(("extensions", "cooldown"), "Then waits for messages", "number"),
        ),
    ),
}


def rows_of(data: Data) -> list[FormRow]:
    """The rows of a persona's form, from top to bottom."""
    rows = [FormRow(ABOUT, "About", _ABOUT)]
    rows += [FormRow((key,), label, (FormField((key,), label, "text"),)) for key, label in _TEXTS.items()]
    for path, (label, _, fields) in _LISTS.items():
        items = value_at(data, path)
        items = items if isinstance(items, list) else []
        rows.append(FormRow(path, f"{label} ({len(items)})", (), path))
        for number, item in enumerate(items):
            own = tuple(
                FormField((*path, number, *field.path), field.label, field.kind)
                for field in fields
                if not field.path or isinstance(item, dict)
            )
            rows.append(FormRow((*path, number), f"  {number + 1} {_shown(item)}", own, path))
    return rows


def _shown(item: Any) -> str:
    texts = [item] if isinstance(item, str) else list(_texts_of(item))
    return one_line(next((text for text in texts if text.strip()), "…"), _SHOWN)


def _texts_of(item: Any) -> Iterator[str]:
    for key in ("comment", "name", "title", "user", "keys", "content"):
        value = item.get(key) if isinstance(item, dict) else None
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        if isinstance(value, str):
            yield value


def value_at(data: Any, path: Sequence[str | int]) -> Any:
    """The value at a path; None if there is none."""
    for part in path:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def with_value(data: Data, path: Path, value: Any) -> Data:
    """The data with another value; None and empty values of optional keys are removed.

    Mappings on the way that are missing are created, and those that become empty are removed.
    """
    changed = copy.deepcopy(data)
    holders: list[tuple[Any, str | int]] = []
    holder: Any = changed
    for part in path[:-1]:
        holders.append((holder, part))
        if isinstance(holder, dict) and holder.get(part) is None:
            holder[part] = {}
        holder = holder[part]
    if value in (None, "", []) and isinstance(holder, dict) and path[-1] not in _REQUIRED:
        holder.pop(path[-1], None)
        if not holder and len(holders) == 1 and isinstance(holders[0][0], dict):
            holders[0][0].pop(holders[0][1])
    else:
        holder[path[-1]] = value
    return changed


_REQUIRED = frozenset({"name", "description", "user", "reply", "title", "text", "keys", "content"})


def with_item(data: Data, path: Path, at: int) -> Data:
    """The data with a new empty item at a place of a list."""
    changed = copy.deepcopy(data)
    holder: Any = changed
    for part in path[:-1]:
        if holder.get(part) is None:
            holder[part] = {}
        holder = holder[part]
    holder.setdefault(path[-1], []).insert(at, copy.deepcopy(_LISTS[path][1]))
    return changed


def without_item(data: Data, path: Path, at: int) -> Data:
    """The data without an item of a list."""
    changed = copy.deepcopy(data)
    items = value_at(changed, path)
    del items[at]
    if not items and path != ENTRIES:
        del changed[str(path[0])]
    return changed


def with_item_moved(data: Data, path: Path, at: int, step: int) -> Data:
    """The data with an item of a list moved; unchanged when it would leave the list."""
    if not 0 <= at + step < len(value_at(data, path)):
        return data
    changed = copy.deepcopy(data)
    items = value_at(changed, path)
    items.insert(at + step, items.pop(at))
    return changed
