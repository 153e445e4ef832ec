"""V3's decorators: lines such as `@@depth 4` at the head of an entry's content, and what they set.

V3's `@@instruct_…` family counts tokens of a text completion. There is none here, so it is unknown, and its
fallbacks are used.
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
    """What the decorators of one entry set; None and empty where they say nothing."""

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
    """Messages looked through for keys."""
    additional_keys: tuple[tuple[str, ...], ...] = ()
    """Of each of these lists one key at least must be found too."""
    exclude_keys: tuple[str, ...] = ()
    """None of these may be found."""
    exclude_keys_all: tuple[str, ...] = ()
    """Not all of these may be found (RisuAI)."""
    depth: int | None = None
    """Messages from the newest."""
    reverse_depth: int | None = None
    """Messages from the oldest."""
    role: Role | None = None
    position: Position | None = None
    expendable: bool = False
    """Dropped first when there is no room, whatever its priority."""
    disabled_prompt: UiPrompt | None = None
    """A prompt of the user's that is off while the entry is active."""
    probability: float | None = None
    """Percent (RisuAI)."""
    priority: float | None = None
    """Smaller is dropped first (RisuAI)."""
    whole_words: bool | None = None
    """Whether keys are whole words (RisuAI)."""
    recursive: bool | None = None
    """Whether its content activates other entries, whatever the book and the settings say (RisuAI)."""
    no_recursive_search: bool = False
    """Not activated by other entries' content (RisuAI)."""


NO_DECORATORS = Decorators()

_Reader = Callable[[str], Any]
"""Gives None for a value that is not valid."""

_PLACES: dict[str, Position] = {
    "before_desc": "before_char",
    "after_desc": "after_char",
    # Both stand below the description, and `after_char` is the place below them.
    "personality": "after_char",
    "scenario": "after_char",
}


def _always(setting: Any) -> _Reader:
    """For a name without a value; V3's examples also write “true”."""
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
"""Which setting a name sets, and how its value is read."""

_LINE = re.compile(r"@@@?([a-z_]+)(?:[ \t]+(.*))?")


def parse_decorators(content: str) -> tuple[Decorators, str]:
    """What the decorators at the head of a content set, and the content below them.

    A line with three `@` is used only when those above it were unknown or had no valid value. Of a name
    that stands there twice, the first valid one wins. Content without decorators comes back as it is.
    """
    if not content.lstrip().startswith("@@"):
        return NO_DECORATORS, content
    lines = content.split("\n")
    end = next(
        (at for at, line in enumerate(lines) if line.strip() and not line.startswith("@@")), len(lines)
    )
    head = [line.strip() for line in lines[:end] if line.strip()]
    found: dict[str, Any] = {}
    settled = True  # a fallback with nothing above it is nobody's fallback
    for line in head:
        if not (settled and line.startswith("@@@")):
            settled = _apply(line, found)
    return Decorators(**found), "\n".join(lines[end:]) if head else content


def strip_decorators(content: str) -> str:
    """The content without its decorators, as formats older than V3 want it."""
    return parse_decorators(content)[1]


def _apply(line: str, found: dict[str, Any]) -> bool:
    """Take over one line; False when it is unknown or not valid, and its fallback's turn has come."""
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
