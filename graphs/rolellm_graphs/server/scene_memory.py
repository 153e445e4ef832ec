"""Memory of scenes between requests: lines that their text does not contain.

Clients send back only the text of a scene. Lines that the user did not witness, such as a whisper between
others, are kept here under the exact messages. When they are gone, after a restart or many other requests,
the scene continues from its text alone.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from rolellm_agents.scene import SceneLine

_KEPT = 512
"""The maximum number of stored texts."""


class SceneMemory:
    """Keeps the complete lines behind sent texts."""

    def __init__(self, kept: int = _KEPT) -> None:
        """Create an empty memory.

        Args:
            kept: maximum number of texts; the least recently used is dropped first.
        """
        self._kept = kept
        self._lines: OrderedDict[str, list[SceneLine]] = OrderedDict()
        self._lock = Lock()

    def keep(self, whose: str, texts: Sequence[tuple[str, str]], lines: Sequence[SceneLine]) -> None:
        """Store the lines of a conversation.

        Args:
            whose: the scene and the seat, which are part of the key.
            texts: the roles and texts of all messages up to here.
            lines: the lines to store.
        """
        with self._lock:
            self._lines[_key(whose, texts)] = list(lines)
            while len(self._lines) > self._kept:
                self._lines.popitem(last=False)

    def find(self, whose: str, texts: Sequence[tuple[str, str]]) -> list[SceneLine] | None:
        """The stored lines of a conversation; None when they are not stored any more."""
        key = _key(whose, texts)
        with self._lock:
            if key not in self._lines:
                return None
            self._lines.move_to_end(key)
            return list(self._lines[key])


def _key(whose: str, texts: Sequence[tuple[str, str]]) -> str:
    content = json.dumps([whose, [(role, text.strip()) for role, text in texts]])
    return hashlib.sha256(content.encode()).hexdigest()
