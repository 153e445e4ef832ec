"""Convert cards between versions of the specification and back without loss.

Data that an older version cannot hold is stored under our own key in `extensions`, which all programs must
keep, and is restored on the way back. `lost_fields` lists the data that other programs will not see.
"""

import copy
from collections.abc import Mapping
from typing import Any, Literal

from rolellm_agents.cards.lore.decorators import strip_decorators
from rolellm_agents.cards.lore.keys import parse_key
from rolellm_agents.cards.values import Json, items, mapping, text, texts, texts_as_they_are

STASH = "rolellm/v3"
"""The extension of a V2 card that holds fields of V3."""
UPGRADED = "rolellm/from_v2"
"""The extension of a V3 card that lists what it did not have as a V2 card."""

_V1_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
_V2_TEXTS = ("creator_notes", "system_prompt", "post_history_instructions", "creator", "character_version")
_V3_ONLY = (
    "assets",
    "nickname",
    "creator_notes_multilingual",
    "source",
    "group_only_greetings",
    "creation_date",
    "modification_date",
)
_ABSENT = "rolellm/absent"
_Document = dict[str, Any]


def convert(document: Mapping[str, Json], spec: Literal["v2", "v3"]) -> _Document:
    """Convert a card's JSON to a version; a card of that version is copied."""
    card: _Document = copy.deepcopy(dict(document))
    said = text(card.get("spec"))
    if said not in ("chara_card_v2", "chara_card_v3"):
        card = _v1_to_v2(card) if "data" not in card else {**card, **_head("v2")}
        said = "chara_card_v2"
    if spec == "v3" and said == "chara_card_v2":
        return _v2_to_v3(card)
    if spec == "v2" and said == "chara_card_v3":
        return _v3_to_v2(card)
    return card


def lost_fields(document: Mapping[str, Json], spec: Literal["v2", "v3"]) -> list[str]:
    """Describe, in a few words each, the fields that other programs will not see in a version."""
    if spec == "v3" or text(document.get("spec")) != "chara_card_v3":
        return []
    data = mapping(document.get("data"))
    lost = [name for name in _V3_ONLY if data.get(name) not in (None, "", [], {})]
    entries = _entries(data)
    if any(strip_decorators(text(entry.get("content"))) != text(entry.get("content")) for entry in entries):
        lost.append("decorators of lore entries")
    return lost


def backfill(document: Mapping[str, Json]) -> _Document:
    """The V2 copy in a V3 file, for older programs; without the data that `convert` stores."""
    card = convert(document, "v2")
    data = _data(card)
    _taken(data, STASH)
    data["creator_notes"] = (
        "This card has a V3 part that your program has not read; some of it is missing here.\n\n"
        + text(data.get("creator_notes"))
    ).rstrip()
    return card


def _head(spec: Literal["v2", "v3"]) -> dict[str, str]:
    return {"spec": f"chara_card_{spec}", "spec_version": "2.0" if spec == "v2" else "3.0"}


def _v1_to_v2(card: _Document) -> _Document:
    """Move the known fields into `data`; other fields stay at the root."""
    data: _Document = {name: text(card.pop(name, "")) for name in _V1_FIELDS}
    data |= {name: text(card.pop(name, "")) for name in _V2_TEXTS}
    data["tags"] = list(texts(card.pop("tags", [])))
    data["alternate_greetings"] = list(texts(card.pop("alternate_greetings", [])))
    extensions = card.pop("extensions", {})
    data["extensions"] = extensions if isinstance(extensions, dict) else {}
    if isinstance(card.get("character_book"), dict):
        data["character_book"] = card.pop("character_book")
    return {**_head("v2"), "data": data, **card}


def _v2_to_v3(card: _Document) -> _Document:
    data = _data(card)
    if stash := _taken(data, STASH):
        _unstash(data, stash)
        return {**card, "spec": "chara_card_v3", "spec_version": text(stash.get("spec_version")) or "3.0"}
    added: _Document = {"spec_version": card.get("spec_version"), "entries": []}
    for number, entry in enumerate(_entries(data)):
        if "use_regex" not in entry:
            entry["use_regex"] = any(map(_is_regex, texts(entry.get("keys"))))
            added["entries"].append(number)
    if "group_only_greetings" not in data:
        data["group_only_greetings"] = []
        added["group_only_greetings"] = True
    _put(data, UPGRADED, added)
    return {**card, **_head("v3")}


def _v3_to_v2(card: _Document) -> _Document:
    data = _data(card)
    added = _taken(data, UPGRADED)
    entries = _entries(data)
    for number in items(added.get("entries")):
        if isinstance(number, int) and number < len(entries):
            entries[number].pop("use_regex", None)
    if added.get("group_only_greetings") and data.get("group_only_greetings") == []:
        del data["group_only_greetings"]
    _stash(data, text(card.get("spec_version")), always=not added)
    version = added.get("spec_version", "2.0") if added else "2.0"
    head: _Document = {"spec": "chara_card_v2", "spec_version": version}
    return {**card, **head} if version is not None else {**card, "spec": "chara_card_v2"}


def _stash(data: _Document, spec_version: str, *, always: bool) -> None:
    """Stash the fields that V2 does not have; nothing for an unchanged card that was V2 before."""
    stash: _Document = {"spec_version": spec_version, "order": list(data)}
    stash["data"] = {name: data.pop(name) for name in _V3_ONLY if name in data}
    stash["entries"] = [_stashed_entry(entry, cut_decorators=always) for entry in _entries(data)]
    if always or stash["data"] or any(stash["entries"]):
        _put(data, STASH, stash)


def _put(data: _Document, name: str, value: _Document) -> None:
    """Set one of our extensions, and remember whether there were extensions at all."""
    extensions = data.get("extensions")
    if not isinstance(extensions, dict):
        value["extensions"] = extensions if "extensions" in data else _ABSENT
        extensions = {}
    data["extensions"] = {**extensions, name: value}


def _taken(data: _Document, name: str) -> _Document:
    """Remove and return one of our extensions, and remove `extensions` if it was created for it."""
    extensions = data.get("extensions")
    found = extensions.pop(name, None) if isinstance(extensions, dict) else None
    value: _Document = found if isinstance(found, dict) else {}
    if "extensions" in value and not extensions:
        if value["extensions"] == _ABSENT:
            del data["extensions"]
        else:
            data["extensions"] = value["extensions"]
    return value


def _stashed_entry(entry: _Document, *, cut_decorators: bool) -> _Document:
    """Remove from an entry what V2 does not have; the content is stashed only if it has decorators."""
    stashed = {"use_regex": entry.pop("use_regex")} if "use_regex" in entry else {}
    content = text(entry.get("content"))
    if cut_decorators and (bare := strip_decorators(content)) != content:
        stashed["content"], stashed["bare"] = content, bare
        entry["content"] = bare
    return stashed


def _unstash(data: _Document, stash: Mapping[str, Json]) -> None:
    """Restore stashed fields where the card was not changed since."""
    data |= dict(mapping(stash.get("data")))
    entries = _entries(data)
    stashed = items(stash.get("entries"))
    if len(stashed) == len(entries):
        for entry, kept in zip(entries, map(mapping, stashed), strict=True):
            if "content" in kept and entry.get("content") == kept.get("bare"):
                entry["content"] = kept["content"]
            if "use_regex" in kept:
                entry["use_regex"] = kept["use_regex"]
    order = [name for name in texts_as_they_are(stash.get("order")) if name in data]
    for name in [*order, *(name for name in list(data) if name not in order)]:
        data[name] = data.pop(name)


def _is_regex(key: str) -> bool:
    found = parse_key(key)
    return found is not None and found.source is not None


def _data(card: _Document) -> _Document:
    data = card.get("data")
    if not isinstance(data, dict):
        data = card["data"] = {}
    return data


def _entries(data: Mapping[str, Json]) -> list[_Document]:
    entries = mapping(data.get("character_book")).get("entries")
    held = entries.values() if isinstance(entries, dict) else entries if isinstance(entries, list) else ()
    return [entry for entry in held if isinstance(entry, dict)]
