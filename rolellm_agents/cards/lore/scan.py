"""The texts that are scanned for keys of lorebook entries."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rolellm_agents.cards.lore.keys import Fault, LoreKey, Matching, PatternSearch, SearchedText, key_index
from rolellm_agents.cards.lore.lorebook import MatchSource, Role

Kind = MatchSource | Literal["chat", "lore", "always_lore"]
"""The source of a text. `always_lore` is content that even entries without recursion scan."""

_SPEAKER = "\x01"
"""Precedes each text, so that regular expressions can match the beginning of a message."""
_MOST_JOINED = 8


@dataclass(frozen=True)
class ScanMessage:
    """One message of the chat."""

    name: str
    text: str
    role: Role


class Window(NamedTuple):
    """The texts that one entry scans."""

    first: int
    """The index of the oldest message; the number of messages for none."""
    other_kinds: frozenset[Kind] = frozenset()


class KeyMatch(NamedTuple):
    """A key that was found."""

    key: LoreKey
    message: int | None


class _Segment:
    def __init__(self, kind: Kind, text: str, message: int = -1) -> None:
        self.kind = kind
        self.message = message
        self.text = SearchedText(text)

    def seen_by(self, window: Window) -> bool:
        return self.message >= window.first if self.kind == "chat" else self.kind in window.other_kinds


class Haystack:
    """Messages, other texts and content of entries; each text is searched once for all plain keys."""

    def __init__(self, messages: Sequence[ScanMessage], heads: frozenset[str], *, names: bool) -> None:
        """Create a haystack; messages are searched when a window first includes them.

        The chat has the oldest message first. `names` says whether to scan the speaker's name before each
        message.
        """
        self._messages = messages
        self._names = names
        self._index = key_index(heads - {""})
        self._has_patterns = "" in heads
        self._oldest = len(messages)
        self._promising: set[int] = set()
        self._segments: list[_Segment] = []
        self._where: dict[str, list[_Segment]] = {}
        self._joined: dict[Window, tuple[str, list[int], list[_Segment]]] = {}
        self._patterns = PatternSearch()

    @property
    def faults(self) -> Mapping[str, Fault]:
        """Keys with an invalid or too slow regular expression, by text."""
        return self._patterns.faults

    def add(self, kind: Kind, text: str) -> None:
        """Add a text that is not a message."""
        self._add(_Segment(kind, text))

    def may_match(self, message: int) -> bool:
        """Whether a key may occur in this message."""
        self._reach(message)
        return self._has_patterns or message in self._promising

    def find(self, key: LoreKey, window: Window, matching: Matching) -> KeyMatch | None:
        """Find a key, in the newest message first and in other texts last."""
        self._reach(window.first)
        if key.source is not None:
            match = self._patterns.search(key, lambda: self._join(window)[0])
            return KeyMatch(key, self._speaker(match.start(), window)) if match else None
        for segment in self._where.get(key.head, ()):
            if segment.seen_by(window) and segment.text.has(key, matching):
                return KeyMatch(key, segment.message if segment.kind == "chat" else None)
        return None

    def _reach(self, first: int) -> None:
        """Add all messages from this one on."""
        while self._oldest > first:
            self._oldest -= 1
            message = self._messages[self._oldest]
            spoken = f"{message.name}: {message.text}" if self._names and message.name else message.text
            if self._add(_Segment("chat", spoken, self._oldest)):
                self._promising.add(self._oldest)

    def _add(self, segment: _Segment) -> bool:
        self._segments.append(segment)
        self._joined.clear()
        heads = self._index.heads_in(segment.text.folded)
        for head in heads:
            self._where.setdefault(head, []).append(segment)
        return bool(heads)

    def _join(self, window: Window) -> tuple[str, list[int], list[_Segment]]:
        """The texts of a window, joined as by SillyTavern, with the start of each text."""
        if window not in self._joined:
            seen = [segment for segment in self._segments if segment.seen_by(window)]
            seen.sort(key=lambda segment: segment.kind != "chat")
            starts, length = [], 0
            for segment in seen:
                starts.append(length)
                length += len(segment.text.raw) + len(_SPEAKER) + 1
            text = "\n".join(_SPEAKER + segment.text.raw for segment in seen)
            if len(self._joined) >= _MOST_JOINED:  # limits the memory for many different windows
                self._joined.clear()
            self._joined[window] = (text, starts, seen)
        return self._joined[window]

    def _speaker(self, at: int, window: Window) -> int | None:
        _, starts, seen = self._join(window)
        place = bisect_right(starts, at) - 1
        return seen[place].message if place >= 0 and seen[place].kind == "chat" else None
