"""The form of a lorebook: the settings of the book, and the fields of each entry.

Each setting of an entry has the path from which `read_lorebook` reads it, so what is shown is what counts.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.lore.lorebook import (
    CARD_KEYS,
    LOGICS,
    POSITIONS,
    ROLES,
    WORLD_KEYS,
    LoreEntry,
    Position,
    lorebook_format,
    read_lorebook,
)
from rolellm_agents.cards.values import flag, mapping, text, texts
from rolellm_agents.editing.form import Data, FormField, ItemList, Path, value_at, with_value

EditedFormat = Literal["card", "world"]
"""The formats of lorebooks that can be edited."""

POSITION_LABELS: Mapping[Position, str] = {
    "before_char": "before the description",
    "after_char": "after the description",
    "before_note": "before the author's note",
    "after_note": "after the author's note",
    "at_depth": "among the last messages",
    "before_examples": "before the examples",
    "after_examples": "after the examples",
    "outlet": "at the outlet's macro",
}
"""The positions in words."""
_LOGICS = {
    "and_any": "one of them must be found",
    "not_all": "not all of them may be found",
    "not_any": "none of them may be found",
    "and_all": "all of them must be found",
}
_AS_SET = (("as in the settings", None), ("yes", True), ("no", False))
_TOP: Mapping[EditedFormat, Mapping[str, str]] = {
    "card": {
        "keys": "keys",
        "secondary_keys": "secondary_keys",
        "order": "insertion_order",
    },
    "world": {
        "keys": "key",
        "secondary_keys": "keysecondary",
        "order": "order",
    },
}
_SOURCES = {
    "match_persona_description": "Also search the user's description",
    "match_character_description": "Also search the character's description",
    "match_character_personality": "Also search the character's personality",
    "match_character_depth_prompt": "Also search the character's note",
    "match_scenario": "Also search the scenario",
    "match_creator_notes": "Also search the creator's notes",
}


def book_list(data: Data, place: Path) -> ItemList | None:
    """The entries of the lorebook at a place; None if its format cannot be edited."""
    book = mapping(value_at(data, place))
    try:
        found = lorebook_format(book)
    except CardError:
        found = "card"
    if found not in ("card", "world"):
        return None
    # SillyTavern keeps entries in an object with numbers as keys.
    is_world = found == "world" or (isinstance(book.get("entries"), dict) and not book["entries"])
    kind: EditedFormat = "world" if is_world else "card"
    return ItemList(
        (*place, "entries"),
        "Lorebook",
        lambda entry: [*_entry_fields(entry, kind)],
        _new_world_entry if kind == "world" else _new_card_entry,
        tuple(_book_fields(book, place)),
    )


def _book_fields(book: Mapping[str, Any], place: Path) -> Iterator[FormField]:
    yield FormField((*place, "name"), "Name of the lorebook", "line", book.get("name"))
    yield FormField((*place, "scan_depth"), "Messages to search", "number", book.get("scan_depth"))
    yield FormField(
        (*place, "token_budget"), "At most tokens in the prompt", "number", book.get("token_budget")
    )
    recursive = book.get("recursive_scanning")
    yield FormField(
        (*place, "recursive_scanning"),
        "Entries activate each other",
        "choice",
        None if recursive is None else flag(recursive),
        _AS_SET,
    )


def _new_card_entry(_: str | int) -> dict[str, Any]:
    return {
        "comment": "",
        "keys": [],
        "content": "",
        "enabled": True,
        "insertion_order": 100,
        "extensions": {},
    }


def _new_world_entry(key: str | int) -> dict[str, Any]:
    return {
        "uid": int(key),
        "key": [],
        "keysecondary": [],
        "comment": "",
        "content": "",
        "constant": False,
        "selective": True,
        "order": 100,
        "position": 0,
        "disable": False,
    }


def _entry_fields(raw: Any, kind: EditedFormat) -> Iterator[FormField]:
    if not isinstance(raw, dict):
        return
    entry = _read(raw, kind)
    top = _TOP[kind]
    name = "name" if kind == "card" and not text(raw.get("comment")) and raw.get("name") else "comment"
    yield FormField((name,), "Name", "line", raw.get(name))
    yield FormField((top["keys"],), "Keys, one on each line", "words", texts(raw.get(top["keys"])))
    yield FormField(("content",), "Text for the prompt", "text", raw.get("content"))
    if kind == "card":
        yield FormField(("enabled",), "Switched on", "flag", entry.enabled)
    else:
        yield FormField(("disable",), "Switched off", "flag", not entry.enabled)
    yield FormField(("constant",), "Always active", "flag", entry.constant)
    yield FormField((top["order"],), "Order (lower comes first)", "number", raw.get(top["order"], 100))
    if kind == "card":
        yield FormField(("priority",), "Priority (lower is dropped first)", "number", raw.get("priority"))
    yield from _place_fields(raw, entry, kind)
    yield from _key_fields(raw, entry, kind)
    yield from _chance_fields(raw, entry, kind)
    yield from _filter_fields(raw, kind)


def _read(raw: Mapping[str, Any], kind: EditedFormat) -> LoreEntry:
    """The entry as prompts use it."""
    # The format is taken from the keys of the first entry.
    shown = {"uid": 0, **raw} if kind == "world" else {k: v for k, v in raw.items() if k not in _FOREIGN}
    return read_lorebook({"entries": [shown]}).entries[0]


_FOREIGN = ("uid", "key", "keywords", "entry")
"""Keys by which an entry of another format is known."""


def _path(kind: EditedFormat, ours: str) -> Path:
    return ("extensions", CARD_KEYS[ours]) if kind == "card" else (WORLD_KEYS[ours],)


def _place_fields(raw: Data, entry: LoreEntry, kind: EditedFormat) -> Iterator[FormField]:
    positions = tuple((POSITION_LABELS[one], one) for one in POSITIONS)
    place: Path = ("extensions", "position") if kind == "card" else ("position",)
    yield FormField(place, "Position", "choice", entry.position, positions, _with_position)
    yield _number(raw, kind, "depth", "Messages after it, among the last messages", entry.depth)
    roles = tuple((one, number) for number, one in enumerate(ROLES))
    role = ROLES.index(entry.role)
    yield FormField(_path(kind, "role"), "Role, among the last messages", "choice", role, roles)
    outlet = _path(kind, "outlet")
    yield FormField(outlet, "Name of the outlet", "line", value_at(raw, outlet))


def _key_fields(raw: Data, entry: LoreEntry, kind: EditedFormat) -> Iterator[FormField]:
    key = _TOP[kind]["secondary_keys"]
    yield FormField(
        ("selective",), "Use secondary keys", "flag", flag(raw.get("selective"), kind == "world")
    )
    yield FormField((key,), "Secondary keys, one on each line", "words", texts(raw.get(key)))
    logics = tuple((_LOGICS[one], number) for number, one in enumerate(LOGICS))
    path: Path = ("extensions", "selectiveLogic") if kind == "card" else ("selectiveLogic",)
    yield FormField(path, "Of the secondary keys,", "choice", LOGICS.index(entry.logic), logics)
    yield FormField(
        _case_path(raw, kind), "Upper and lower case differ", "choice", entry.case_sensitive, _AS_SET
    )
    yield FormField(
        _path(kind, "whole_words"), "Keys are whole words", "choice", entry.whole_words, _AS_SET
    )
    yield _number(raw, kind, "scan_depth", "Messages to search")
    for ours, label in _SOURCES.items():
        is_on = ours.removeprefix("match_") in entry.match_sources
        yield FormField(_path(kind, ours), label, "flag", is_on)
    yield _flag(kind, "exclude_recursion", "Other entries cannot activate it", entry.exclude_recursion)
    yield _flag(kind, "prevent_recursion", "It cannot activate other entries", entry.prevent_recursion)
    yield _number(
        raw, kind, "delay_until_recursion", "Only other entries activate it, from this round on",
        entry.delay_until_recursion,
    )  # fmt: skip


def _case_path(raw: Data, kind: EditedFormat) -> Path:
    if kind == "world":
        return ("caseSensitive",)
    is_inner = "case_sensitive" not in raw and "case_sensitive" in mapping(raw.get("extensions"))
    return ("extensions", "case_sensitive") if is_inner else ("case_sensitive",)


def _chance_fields(raw: Data, entry: LoreEntry, kind: EditedFormat) -> Iterator[FormField]:
    yield _number(raw, kind, "probability", "Probability in per cent", 100)
    by_chance = flag(value_at(raw, _path(kind, "use_probability")), True)
    yield _flag(kind, "use_probability", "Use the probability", by_chance)
    yield _number(raw, kind, "sticky", "Stays active for messages", entry.sticky)
    yield _number(raw, kind, "cooldown", "Then waits for messages", entry.cooldown)
    yield _number(raw, kind, "delay", "First possible after messages", entry.delay)
    group = _path(kind, "group")
    yield FormField(group, "Groups, with commas", "line", value_at(raw, group))
    yield _number(raw, kind, "group_weight", "Weight in its groups", 100)
    yield _flag(kind, "group_override", "Wins in its groups by order", entry.group_override)
    yield FormField(
        _path(kind, "group_scoring"),
        "More keys found win in its groups",
        "choice",
        entry.group_scoring,
        _AS_SET,
    )
    yield _flag(kind, "ignore_budget", "Also without room in the budget", entry.ignore_budget)


def _filter_fields(raw: Data, kind: EditedFormat) -> Iterator[FormField]:
    outer: Path = ("extensions",) if kind == "card" else ()
    holder = mapping(value_at(raw, outer)) if outer else raw
    camel = "characterFilter" in holder or (kind == "world" and "character_filter" not in holder)
    path: Path = (*outer, "characterFilter" if camel else "character_filter")
    given = mapping(value_at(raw, path))
    yield FormField(
        (*path, "names"), "Only for characters, one on each line", "words", texts(given.get("names"))
    )
    yield FormField((*path, "tags"), "Only for characters with tags", "words", texts(given.get("tags")))
    yield FormField(
        (*path, "isExclude"), "For all characters except these", "flag", flag(given.get("isExclude"))
    )
    triggers = _path(kind, "triggers")
    yield FormField(
        triggers,
        "Only for these kinds of answers: normal, continue, swipe …",
        "words",
        texts(value_at(raw, triggers)),
    )


def _number(
    raw: Data, kind: EditedFormat, ours: str, label: str, default: float | None = None
) -> FormField:
    path = _path(kind, ours)
    given = value_at(raw, path)
    shown = default if given is None else int(given) if isinstance(given, bool) else given
    return FormField(path, label, "number", shown)


def _flag(kind: EditedFormat, ours: str, label: str, value: bool) -> FormField:
    return FormField(_path(kind, ours), label, "flag", value)


def _with_position(data: Data, path: Path, value: Any) -> Data:
    """The data with another position of an entry.

    In a card's entry, SillyTavern's `extensions.position` wins when it is read; so it is written if it is
    there, or if the entry's own `position` has no such value.
    """
    number = POSITIONS.index(value)
    if "extensions" not in path[-2:]:
        return with_value(data, path, number)
    changed = data
    if value in ("before_char", "after_char"):
        changed = with_value(changed, (*path[:-2], "position"), value)
        if value_at(data, path) is None:
            return changed
    return with_value(changed, path, number)
