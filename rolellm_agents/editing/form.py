"""Forms: the rows of a document, the fields of each row, and changes of the data.

A row is a part of the document, such as a persona's description or one entry of a lorebook. Data are plain
values, as in the file; each change returns new data.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rolellm_agents.text import one_line

Path = tuple[str | int, ...]
Data = dict[str, Any]
Kind = Literal["line", "text", "words", "number", "flag", "choice"]
"""`words` is a list of texts, one on each line."""
_SHOWN = 40
"""Maximum length of the text of a row, in characters."""


@dataclass(frozen=True)
class FormField:
    """One value that can be edited."""

    path: Path
    label: str
    kind: Kind = "line"
    value: Any = None
    """As the prompt uses it: with the default if the file has none."""
    choices: tuple[tuple[str, Any], ...] = ()
    """Labels and values, for `choice`."""
    written: "Callable[[Data, Path, Any], Data] | None" = None
    """Gives the data with another value at the path; None for `with_value`."""


@dataclass(frozen=True)
class FormRow:
    """A part of the document, with fields."""

    path: Path
    label: str
    fields: tuple[FormField, ...]
    items: "ItemList | None" = None
    """The list that the row is an item of, or the head of; None for other rows."""


@dataclass(frozen=True)
class ItemList:
    """A list whose items can be added, removed and moved. A mapping's items cannot be moved."""

    path: Path
    label: str
    fields: Callable[[Any], Sequence[FormField]]
    """The fields of an item, with paths within it."""
    new: Callable[[str | int], Any]
    """A new item for an index or a key."""
    head: tuple[FormField, ...] = ()
    """Fields of the list as a whole."""

    def rows(self, data: Data) -> Iterator[FormRow]:
        """The head of the list, and a row for each item."""
        items = value_at(data, self.path)
        keys = _keys(items)
        yield FormRow(self.path, f"{self.label} ({len(keys)})", self.head, self)
        for number, key in enumerate(keys, 1):
            own = tuple(replace(one, path=(*self.path, key, *one.path)) for one in self.fields(items[key]))
            yield FormRow((*self.path, key), f"  {number} {_shown(items[key])}", own, self)


def _keys(items: Any) -> list[Any]:
    if isinstance(items, dict):
        return list(items)
    return list(range(len(items))) if isinstance(items, list) else []


def _shown(item: Any) -> str:
    texts = [item] if isinstance(item, str) else list(_texts_of(item))
    return one_line(next((text for text in texts if text.strip()), "…"), _SHOWN)


def _texts_of(item: Any) -> Iterator[str]:
    for key in ("comment", "name", "title", "user", "keys", "key", "content", "text", "persona", "id"):
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

    Mappings on the way that are missing are created, and one at the top that becomes empty is removed.
    """
    changed = copy.deepcopy(data)
    holder = _holder(changed, path)
    if value in (None, "", []) and isinstance(holder, dict) and path[-1] not in _REQUIRED:
        holder.pop(path[-1], None)
        if not holder and len(path) == 2:
            del changed[str(path[0])]
    else:
        holder[path[-1]] = value
    return changed


def with_field(data: Data, field: FormField, value: Any) -> Data:
    """The data with another value of a field."""
    return (field.written or with_value)(data, field.path, value)


_REQUIRED = frozenset(
    {
        *("name", "description", "user", "reply", "title", "text", "setting", "steps"),
        *("keys", "key", "keysecondary", "content"),
    }
)


def _holder(data: Any, path: Path) -> Any:
    """The collection that has the last part of a path; missing ones are created."""
    for part in path[:-1]:
        if isinstance(data, dict) and not isinstance(data.get(part), dict | list):
            data[part] = {}
        data = data[part]
    return data


def with_item(data: Data, items: ItemList, after: str | int | None) -> tuple[Data, Path]:
    """The data with a new item below another one, or at the top of the list; and the item's path."""
    changed = copy.deepcopy(data)
    holder = _holder(changed, items.path)
    present = holder.get(items.path[-1])
    if isinstance(present, dict):
        key: str | int = str(max((int(one) for one in present if one.isdigit()), default=-1) + 1)
        present[key] = items.new(key)
    else:
        if not isinstance(present, list):
            present = holder[items.path[-1]] = []
        key = 0 if after is None else int(after) + 1
        present.insert(key, items.new(len(present)))
    return changed, (*items.path, key)


def without_item(data: Data, path: Path) -> Data:
    """The data without the item at a path; an empty list at the top is removed as well."""
    changed = copy.deepcopy(data)
    *rest, key = path
    items = value_at(changed, rest)
    del items[key]
    if not items and len(rest) == 1:
        del changed[str(rest[0])]
    return changed


def with_item_moved(data: Data, path: Path, step: int) -> Data:
    """The data with an item of a list moved; unchanged when it would leave the list, or cannot move."""
    *rest, key = path
    items = value_at(data, rest)
    if not isinstance(items, list) or not 0 <= int(key) + step < len(items):
        return data
    changed = copy.deepcopy(data)
    items = value_at(changed, rest)
    items.insert(int(key) + step, items.pop(int(key)))
    return changed
