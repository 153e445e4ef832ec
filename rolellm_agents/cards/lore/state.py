"""Timed effects of lorebook entries: sticky, cooldown, and effects of earlier activations."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2s

from rolellm_agents.cards.lore.decorators import Decorators
from rolellm_agents.cards.lore.lorebook import LoreEntry
from rolellm_agents.cards.values import Json, flag, integer, mapping, text

Fired = tuple[str, LoreEntry, Decorators]
"""An entry's key in a `LoreState`, the entry, and its decorators."""


@dataclass(frozen=True)
class TimedEffect:
    """An effect that lasts for some messages; `start` and `end` are numbers of messages in the chat."""

    entry: str
    """A fingerprint of the entry; editing the entry ends its effects."""
    start: int
    end: int
    protected: bool = False
    """Whether the effect stays when messages are removed, because no message started it."""


@dataclass(frozen=True)
class LoreState:
    """The lore state of one chat. Keys are `book.uid`."""

    sticky: Mapping[str, TimedEffect] = field(default_factory=dict)
    cooldown: Mapping[str, TimedEffect] = field(default_factory=dict)
    kept: Mapping[str, int] = field(default_factory=dict)
    """For `@@keep_activate_after_match`: the number of messages at the activation."""
    barred: Mapping[str, int] = field(default_factory=dict)
    """The same for `@@dont_activate_after_match`."""

    def to_json(self) -> dict[str, Json]:
        """The state as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Json) -> "LoreState":
        """Read the state from a JSON object; invalid parts are left out."""
        state = mapping(document)
        return cls(
            sticky=_effects(state.get("sticky")),
            cooldown=_effects(state.get("cooldown")),
            kept=_marks(state.get("kept")),
            barred=_marks(state.get("barred")),
        )


NO_STATE = LoreState()


def advance(state: LoreState, entries: Mapping[str, LoreEntry], messages: int) -> LoreState:
    """The state when the chat has `messages` messages.

    Effects end after their duration. They also end when the chat is no longer than at their start, because
    the messages that started them were removed. A cooldown starts when a sticky effect ends.
    """
    sticky: dict[str, TimedEffect] = {}
    cooldown = {
        key: effect
        for key, effect in state.cooldown.items()
        if _lasts(effect, entries.get(key), messages) and messages < effect.end
    }
    for key, effect in state.sticky.items():
        entry = entries.get(key)
        if not _lasts(effect, entry, messages):
            continue
        if messages < effect.end:
            sticky[key] = effect
        elif entry is not None and entry.cooldown > 0:
            cooldown[key] = TimedEffect(effect.entry, messages, messages + entry.cooldown, protected=True)
    return LoreState(
        sticky=sticky,
        cooldown=cooldown,
        kept={key: start for key, start in state.kept.items() if messages > start},
        barred={key: start for key, start in state.barred.items() if messages > start},
    )


def record(state: LoreState, fired: Iterable[Fired], messages: int) -> LoreState:
    """The state after an activation; existing effects are not prolonged."""
    sticky, cooldown = dict(state.sticky), dict(state.cooldown)
    kept, barred = dict(state.kept), dict(state.barred)
    for key, entry, decorators in fired:
        if entry.sticky > 0:
            sticky.setdefault(key, TimedEffect(_fingerprint(entry), messages, messages + entry.sticky))
        if entry.cooldown > 0:
            cooldown.setdefault(key, TimedEffect(_fingerprint(entry), messages, messages + entry.cooldown))
        if decorators.keep_after_match:
            kept.setdefault(key, messages)
        if decorators.bar_after_match:
            barred.setdefault(key, messages)
    return LoreState(sticky, cooldown, kept, barred)


def _lasts(effect: TimedEffect, entry: LoreEntry | None, messages: int) -> bool:
    """Whether an effect still applies or ends just now."""
    if messages <= effect.start and not effect.protected:
        return False
    if entry is None:  # the book is not part of this activation
        return messages < effect.end
    return effect.entry == _fingerprint(entry)


def _fingerprint(entry: LoreEntry) -> str:
    return blake2s(
        repr(replace(entry, raw={})).encode("utf-8", "backslashreplace"), digest_size=8
    ).hexdigest()


def _effects(value: Json) -> dict[str, TimedEffect]:
    return {
        key: TimedEffect(
            entry=text(mapping(effect).get("entry")),
            start=integer(mapping(effect).get("start")),
            end=integer(mapping(effect).get("end")),
            protected=flag(mapping(effect).get("protected")),
        )
        for key, effect in mapping(value).items()
    }


def _marks(value: Json) -> dict[str, int]:
    return {key: integer(start) for key, start in mapping(value).items()}
