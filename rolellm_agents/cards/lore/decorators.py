"""V3's decorators: lines such as `@@depth 4` at the head of an entry's content.

V3's `@@instruct_…` decorators are for text completion. They are unsupported here, so their fallbacks are
used.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from rolellm_agents.cards.lore.lorebook import Position, Role
from rolellm_agents.cards.values import texts

UiPrompt = Literal["post_history_instructions", "system_prompt"]


@dataclass(frozen=True)
class Decorators:
    """The settings that an entry's decorators make; None or empty where they make none."""

    activate: bool = False
    dont_activate: bool = False
    only_after: int | None = None
    """Not before the chat has this many assistant messages."""
    only_every: int | None = None
    """Only when this divides the number of assistant messages."""
    keep_after_match: bool = False
    """Once active, always active."""
    bar_after_match: bool = False
    """Once active, never again."""
    greeting: int | None = None
    """Only in chats that began with this greeting; 0 is the first message, 1 the first alternate."""
    user_icon: str | None = None
    """Only with the user icon of this name."""
    scan_depth: int | None = None
    """The number of messages that are scanned for keys."""
    additional_keys: tuple[tuple[str, ...], ...] = ()
    """At least one key of each list must be found too."""
    exclude_keys: tuple[str, ...] = ()
    """None of these may be found."""
    exclude_keys_all: tuple[str, ...] = ()
    """Not all of these may be found (RisuAI)."""
    depth: int | None = None
    """Position as a number of messages from the newest."""
    reverse_depth: int | None = None
    """Position as a number of messages from the oldest."""
    role: Role | None = None
    position: Position | None = None
    expendable: bool = False
    """Dropped first when there is no room, whatever the priority."""
    disabled_prompt: UiPrompt | None = None
    """A user prompt that is disabled while the entry is active."""
    probability: float | None = None
    """Probability in per cent (RisuAI)."""
    priority: float | None = None
    """Lower priorities are dropped first (RisuAI)."""
    whole_words: bool | None = None
    """Whether keys match whole words only (RisuAI)."""
    recursive: bool | None = None
    """Whether the content activates other entries; overrides book and settings (RisuAI)."""
    no_recursive_search: bool = False
    """Whether other entries' content cannot activate the entry (RisuAI)."""


NO_DECORATORS = Decorators()

_Reader = Callable[[str], Any]
"""Parses a value; returns None for an invalid one."""

_PLACES: dict[str, Position] = {
    "before_desc": "before_char",
    "after_desc": "after_char",
    # Both come after the description, and `after_char` is the position after them.
    "personality": "after_char",
    "scenario": "after_char",
}


def _always(setting: Any) -> _Reader:
    """A reader for decorators without a value; V3's examples also write “true”."""
    return lambda value: setting if value in ("", "true") else None


def _whole(least: int) -> _Reader:
    def read(value: str) -> int | None:
        found = int(value) if re.fullmatch(r"-?[0-9]{1,9}", value) else None
        return found if found is not None and found >= least else None

    return read


def _one_of(*choices: str) -> _Reader:
    return lambda value: value if value in choices else None


def _percent(value: str) -> float | None:
    found = float(value) if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?", value) else None
    return found if found is not None and found <= 100 else None


_ANY = -(10**9)
_REPEATABLE = "additional_keys"

_READERS: dict[str, tuple[str, _Reader]] = {
    "activate": ("activate", _always(True)),
    "dont_activate": ("dont_activate", _always(True)),
    "activate_only_after": ("only_after", _whole(0)),
    "activate_only_every": ("only_every", _whole(1)),
    "keep_activate_after_match": ("keep_after_match", _always(True)),
    "dont_activate_after_match": ("bar_after_match", _always(True)),
    "is_greeting": ("greeting", _whole(0)),
    "is_user_icon": ("user_icon", lambda value: value or None),
    "scan_depth": ("scan_depth", _whole(0)),
    _REPEATABLE: (_REPEATABLE, lambda value: texts(value) or None),
    "exclude_keys": ("exclude_keys", lambda value: texts(value) or None),
    "exclude_keys_all": ("exclude_keys_all", lambda value: texts(value) or None),
    "depth": ("depth", _whole(_ANY)),
    "end": ("depth", _always(0)),
    "reverse_depth": ("reverse_depth", _whole(_ANY)),
    "role": ("role", _one_of("system", "user", "assistant")),
    "position": ("position", _PLACES.get),
    "ignore_on_max_context": ("expendable", _always(True)),
    "disable_ui_prompt": ("disabled_prompt", _one_of("post_history_instructions", "system_prompt")),
    "probability": ("probability", _percent),
    "priority": ("priority", _whole(_ANY)),
    "match_full_word": ("whole_words", _always(True)),
    "match_partial_word": ("whole_words", _always(False)),
    "recursive": ("recursive", _always(True)),
    "unrecursive": ("recursive", _always(False)),
    "no_recursive_search": ("no_recursive_search", _always(True)),
}
"""The setting and the value's reader for each decorator."""

_LINE = re.compile(r"@@@?([a-z_]+)(?:[ \t]+(.*))?")


def parse_decorators(content: str) -> tuple[Decorators, str]:
    """Parse the decorators at the head of a content; returns them and the content below.

    A fallback, with three `@`, is used only when the lines above it are unknown or invalid. If a decorator
    is repeated, the first valid one is used. Content without decorators is returned unchanged.
    """
    if not content.lstrip().startswith("@@"):
        return NO_DECORATORS, content
    lines = content.split("\n")
    end = next(
        (at for at, line in enumerate(lines) if line.strip() and not line.startswith("@@")), len(lines)
    )
    head = [line.strip() for line in lines[:end] if line.strip()]
    found: dict[str, Any] = {}
    settled = True  # a fallback with nothing above it is ignored
    for line in head:
        if not (settled and line.startswith("@@@")):
            settled = _apply(line, found)
    return Decorators(**found), "\n".join(lines[end:]) if head else content


def strip_decorators(content: str) -> str:
    """The content without decorators, for formats older than V3."""
    return parse_decorators(content)[1]


def _apply(line: str, found: dict[str, Any]) -> bool:
    """Apply one line; False when it is unknown or invalid, so that its fallback counts."""
    parts = _LINE.fullmatch(line)
    if parts is None or parts[1] not in _READERS:
        return False
    setting, read = _READERS[parts[1]]
    value = read((parts[2] or "").strip())
    if value is None:
        return False
    if setting == _REPEATABLE:
        found[setting] = (*found.get(setting, ()), value)
    else:
        found.setdefault(setting, value)
    return True
