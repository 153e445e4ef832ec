"""Lorebooks: entries that enter the prompt when their keys occur.

One model for all formats: V2's and V3's `character_book` with SillyTavern's `extensions`, SillyTavern's
world-info files, Agnai's memory books, and the lorebooks of RisuAI and NovelAI. Entries and books keep
their original JSON.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.values import (
    Json,
    flag,
    integer,
    items,
    mapping,
    maybe_flag,
    maybe_integer,
    number,
    text,
    texts,
)

Logic = Literal["and_any", "not_all", "not_any", "and_all"]
Position = Literal[
    "before_char",
    "after_char",
    "before_note",
    "after_note",
    "at_depth",
    "before_examples",
    "after_examples",
    "outlet",
]
Role = Literal["system", "user", "assistant"]
LorebookFormat = Literal["card", "world", "agnai", "risu", "novelai"]
MatchSource = Literal[
    "persona_description",
    "character_description",
    "character_personality",
    "character_depth_prompt",
    "scenario",
    "creator_notes",
]

LOGICS: tuple[Logic, ...] = get_args(Logic)
"""SillyTavern's `selectiveLogic`, by number."""
POSITIONS: tuple[Position, ...] = get_args(Position)
"""SillyTavern's `position`, by number."""
ROLES: tuple[Role, ...] = get_args(Role)
"""SillyTavern's `role`, by number."""

_Choice = TypeVar("_Choice", bound=str)

DEFAULT_ORDER = 100.0
DEFAULT_DEPTH = 4
MOST_ENTRIES = 20_000


@dataclass(frozen=True)
class LoreEntry:
    """One entry of a lorebook."""

    uid: str
    """Unique within the book."""
    content: str = ""
    """The text to insert, with V3's decorators at its head."""
    keys: tuple[str, ...] = ()
    secondary_keys: tuple[str, ...] = ()
    logic: Logic = "and_any"
    """How the secondary keys are combined."""
    name: str = ""
    enabled: bool = True
    constant: bool = False
    use_regex: bool | None = None
    """V3's flag, which we ignore: the slashes of `/…/i` make a key a regular expression."""
    order: float = DEFAULT_ORDER
    """Entries with a lower order come first in the prompt."""
    priority: float | None = None
    """Entries with a lower priority are dropped first; None for the order."""
    position: Position = "before_char"
    depth: int = DEFAULT_DEPTH
    """For `at_depth`: the number of messages after the entry."""
    role: Role = "system"
    outlet: str = ""
    case_sensitive: bool | None = None
    whole_words: bool | None = None
    scan_depth: int | None = None
    probability: float = 100.0
    """Probability in per cent."""
    groups: tuple[str, ...] = ()
    """Inclusion groups, of each of which at most one entry is active."""
    group_override: bool = False
    group_weight: float = 100.0
    group_scoring: bool | None = None
    exclude_recursion: bool = False
    """Whether other entries' content cannot activate the entry."""
    prevent_recursion: bool = False
    """Whether the content cannot activate other entries."""
    delay_until_recursion: int = 0
    """If positive, only other entries' content activates the entry, from this level on."""
    sticky: int = 0
    """The number of messages for which the entry stays active."""
    cooldown: int = 0
    """The number of messages for which the entry cannot be active again."""
    delay: int = 0
    """The least number of messages of a chat in which the entry can be active."""
    ignore_budget: bool = False
    character_names: tuple[str, ...] = ()
    character_tags: tuple[str, ...] = ()
    character_exclude: bool = False
    """Whether the entry is for all characters except the named ones."""
    triggers: tuple[str, ...] = ()
    """The kinds of generation that use the entry, for example `normal` or `continue`; empty for all."""
    match_sources: tuple[MatchSource, ...] = ()
    """Texts beside the chat that are scanned for the entry's keys."""
    raw: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """The entry's original JSON."""


@dataclass(frozen=True)
class Lorebook:
    """A collection of lore entries, with the settings that control when they are activated."""

    entries: tuple[LoreEntry, ...] = ()
    name: str = ""
    scan_depth: int | None = None
    token_budget: int | None = None
    recursive: bool | None = None
    raw: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """The book's original JSON."""


def read_lorebook(document: Json) -> Lorebook:
    """Read a lorebook of any known format, or the lorebook of a card.

    Args:
        document: a JSON object.

    Raises:
        CardError: the object is not a lorebook, or has too many entries.
    """
    book = mapping(document)
    for key in lorebook_place(document):
        book = mapping(book.get(key))
    form = lorebook_format(book)
    return _book(book, items(book.get("data" if form == "risu" else "entries")), _READERS[form])


def lorebook_place(document: Json) -> tuple[str, ...]:
    """The keys that lead to the lorebook in a JSON object; none if the object is the lorebook.

    Raises:
        CardError: the object is a card without a lorebook.
    """
    book = mapping(document)
    data = mapping(book.get("data"))
    if "character_book" in data or "character_book" in book:
        place = ("data", "character_book") if data else ("character_book",)
        inner = mapping((data or book).get("character_book"))
        if inner:
            return (*place, *lorebook_place(inner))
        raise CardError("The card has no lorebook; name a card or a file that has one.")
    if text(book.get("spec")).startswith("lorebook") and data:
        return ("data", *lorebook_place(data))
    return ()


def lorebook_format(book: Mapping[str, Json]) -> LorebookFormat:
    """The format of a lorebook's entries.

    Raises:
        CardError: it has no entries.
    """
    if book.get("type") == "risu":
        return "risu"
    if "entries" not in book:
        raise CardError(
            "This is not a lorebook: it has no “entries”; give a card, a lorebook or a world-info file."
        )
    first = mapping(next(iter(items(book["entries"])), {}))
    if "lorebookVersion" in book:
        return "novelai"
    if "keywords" in first or "entry" in first:
        return "agnai"
    return "world" if "key" in first or "uid" in first else "card"


def _book(
    book: Mapping[str, Json],
    entries: tuple[Json, ...],
    read: Callable[[Mapping[str, Json], str], LoreEntry | None],
) -> Lorebook:
    if len(entries) > MOST_ENTRIES:
        raise CardError(f"The lorebook has {len(entries):,} entries; at most {MOST_ENTRIES:,} are read.")
    found: list[LoreEntry] = []
    taken: set[str] = set()
    for number_, raw in enumerate(entries):
        if not isinstance(raw, dict):
            continue
        wanted = text(raw.get("uid", raw.get("id")), str(number_)) or str(number_)
        uid = wanted if wanted not in taken else f"{wanted}#{number_}"
        entry = read(raw, uid)
        if entry is not None:
            taken.add(uid)
            found.append(entry)
    return Lorebook(
        entries=tuple(found),
        name=text(book.get("name")),
        scan_depth=maybe_integer(book.get("scan_depth")),
        token_budget=maybe_integer(book.get("token_budget")),
        recursive=maybe_flag(book.get("recursive_scanning")),
        raw=book,
    )


def _card_entry(raw: Mapping[str, Json], uid: str) -> LoreEntry:
    """An entry of V2 or V3, with SillyTavern's `extensions`."""
    more = mapping(raw.get("extensions"))
    position: Position = "after_char" if raw.get("position") == "after_char" else "before_char"
    if more.get("position") is not None:
        position = _by_number(POSITIONS, more["position"], position)
    selective = flag(raw.get("selective"))
    return LoreEntry(
        uid=uid,
        content=text(raw.get("content")),
        keys=texts(raw.get("keys")),
        secondary_keys=texts(raw.get("secondary_keys")) if selective else (),
        logic=_by_number(LOGICS, more.get("selectiveLogic"), "and_any"),
        name=text(raw.get("comment")) or text(raw.get("name")),
        enabled=flag(raw.get("enabled"), True),
        constant=flag(raw.get("constant")),
        use_regex=maybe_flag(raw.get("use_regex")),
        order=number(raw.get("insertion_order"), DEFAULT_ORDER),
        priority=None if raw.get("priority") is None else number(raw["priority"]),
        position=position,
        case_sensitive=maybe_flag(raw.get("case_sensitive", more.get("case_sensitive"))),
        raw=raw,
        **_fine_settings(more, CARD_KEYS),
    )


def _world_entry(raw: Mapping[str, Json], uid: str) -> LoreEntry:
    """An entry of SillyTavern's world info."""
    selective = flag(raw.get("selective"), True)
    return LoreEntry(
        uid=uid,
        content=text(raw.get("content")),
        keys=texts(raw.get("key")),
        secondary_keys=texts(raw.get("keysecondary")) if selective else (),
        logic=_by_number(LOGICS, raw.get("selectiveLogic"), "and_any"),
        name=text(raw.get("comment")),
        enabled=not flag(raw.get("disable")),
        constant=flag(raw.get("constant")),
        order=number(raw.get("order"), DEFAULT_ORDER),
        position=_by_number(POSITIONS, raw.get("position"), "before_char"),
        case_sensitive=maybe_flag(raw.get("caseSensitive")),
        raw=raw,
        **_fine_settings(raw, WORLD_KEYS),
    )


def _agnai_entry(raw: Mapping[str, Json], uid: str) -> LoreEntry:
    return LoreEntry(
        uid=uid,
        content=text(raw.get("entry")),
        keys=texts(raw.get("keywords")),
        name=text(raw.get("name")),
        enabled=flag(raw.get("enabled"), True),
        order=number(raw.get("weight"), DEFAULT_ORDER),
        priority=number(raw["priority"]) if raw.get("priority") is not None else None,
        raw=raw,
    )


def _risu_entry(raw: Mapping[str, Json], uid: str) -> LoreEntry | None:
    if raw.get("mode") == "folder":
        return None
    return LoreEntry(
        uid=uid,
        content=text(raw.get("content")),
        keys=texts(raw.get("key")),
        secondary_keys=texts(raw.get("secondkey")) if flag(raw.get("selective")) else (),
        name=text(raw.get("comment")),
        constant=flag(raw.get("alwaysActive")),
        use_regex=maybe_flag(raw.get("useRegex")),
        order=number(raw.get("insertorder"), DEFAULT_ORDER),
        probability=number(raw.get("activationPercent"), 100.0),
        raw=raw,
    )


def _novelai_entry(raw: Mapping[str, Json], uid: str) -> LoreEntry:
    context = mapping(raw.get("contextConfig"))
    content = text(context.get("prefix")) + text(raw.get("text")) + text(context.get("suffix")).rstrip("\n")
    return LoreEntry(
        uid=uid,
        content=content,
        keys=texts(raw.get("keys")),
        name=text(raw.get("displayName")),
        enabled=flag(raw.get("enabled"), True),
        constant=flag(raw.get("forceActivation")),
        order=number(context.get("budgetPriority"), DEFAULT_ORDER),
        raw=raw,
    )


_READERS: Mapping[LorebookFormat, Callable[[Mapping[str, Json], str], LoreEntry | None]] = {
    "card": _card_entry,
    "world": _world_entry,
    "agnai": _agnai_entry,
    "risu": _risu_entry,
    "novelai": _novelai_entry,
}

CARD_KEYS = {
    "depth": "depth",
    "role": "role",
    "outlet": "outlet_name",
    "whole_words": "match_whole_words",
    "scan_depth": "scan_depth",
    "probability": "probability",
    "use_probability": "useProbability",
    "group": "group",
    "group_override": "group_override",
    "group_weight": "group_weight",
    "group_scoring": "use_group_scoring",
    "exclude_recursion": "exclude_recursion",
    "prevent_recursion": "prevent_recursion",
    "delay_until_recursion": "delay_until_recursion",
    "sticky": "sticky",
    "cooldown": "cooldown",
    "delay": "delay",
    "ignore_budget": "ignore_budget",
    "triggers": "triggers",
    "match_persona_description": "match_persona_description",
    "match_character_description": "match_character_description",
    "match_character_personality": "match_character_personality",
    "match_character_depth_prompt": "match_character_depth_prompt",
    "match_scenario": "match_scenario",
    "match_creator_notes": "match_creator_notes",
}
"""Our names of SillyTavern's finer settings, and those it gives them in a card's `extensions`."""

WORLD_KEYS = {
    **{ours: theirs for ours, theirs in CARD_KEYS.items() if "_" not in theirs},
    "outlet": "outletName",
    "whole_words": "matchWholeWords",
    "scan_depth": "scanDepth",
    "group_override": "groupOverride",
    "group_weight": "groupWeight",
    "group_scoring": "useGroupScoring",
    "exclude_recursion": "excludeRecursion",
    "prevent_recursion": "preventRecursion",
    "delay_until_recursion": "delayUntilRecursion",
    "ignore_budget": "ignoreBudget",
    "match_persona_description": "matchPersonaDescription",
    "match_character_description": "matchCharacterDescription",
    "match_character_personality": "matchCharacterPersonality",
    "match_character_depth_prompt": "matchCharacterDepthPrompt",
    "match_scenario": "matchScenario",
    "match_creator_notes": "matchCreatorNotes",
}
"""The same in a world-info file."""

_SOURCES: tuple[MatchSource, ...] = get_args(MatchSource)


def _fine_settings(raw: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Any]:
    """SillyTavern's further settings of an entry, by the given field names."""
    given = {ours: raw.get(theirs) for ours, theirs in names.items()}
    of_character = mapping(raw.get("characterFilter", raw.get("character_filter")))
    by_chance = flag(given["use_probability"], True)
    return {
        "depth": integer(given["depth"], DEFAULT_DEPTH),
        "role": _by_number(ROLES, given["role"], "system"),
        "outlet": text(given["outlet"]),
        "whole_words": maybe_flag(given["whole_words"]),
        "scan_depth": maybe_integer(given["scan_depth"]),
        "probability": number(given["probability"], 100.0) if by_chance else 100.0,
        "groups": texts(text(given["group"])),
        "group_override": flag(given["group_override"]),
        "group_weight": number(given["group_weight"], 100.0),
        "group_scoring": maybe_flag(given["group_scoring"]),
        "exclude_recursion": flag(given["exclude_recursion"]),
        "prevent_recursion": flag(given["prevent_recursion"]),
        "delay_until_recursion": integer(given["delay_until_recursion"]),
        "sticky": integer(given["sticky"]),
        "cooldown": integer(given["cooldown"]),
        "delay": integer(given["delay"]),
        "ignore_budget": flag(given["ignore_budget"]),
        "character_names": texts(of_character.get("names")),
        "character_tags": texts(of_character.get("tags")),
        "character_exclude": flag(of_character.get("isExclude")),
        "triggers": texts(given["triggers"]),
        "match_sources": tuple(source for source in _SOURCES if flag(given[f"match_{source}"])),
    }


def _by_number(choices: tuple[_Choice, ...], value: Json, default: _Choice) -> _Choice:
    """A choice by number or name."""
    if isinstance(value, str):
        for choice in choices:
            if choice == value.strip().casefold():
                return choice
    at = maybe_integer(value)
    return choices[at] if at is not None and 0 <= at < len(choices) else default
