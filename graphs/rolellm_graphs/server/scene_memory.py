"""What a server keeps of scenes between two requests: the lines that their text does not tell.

A client sends a scene's text back, and nothing else. What the person in it did not witness, such as a
whisper between others, is not in that text; it is kept here, found again by the very messages, and gone
when the server ends or much else was played since. Then the scene goes on from its text alone.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from rolellm_agents.scene import SceneLine

_KEPT = 512
"""Scenes on their way."""


class SceneMemory:
    """The lines behind the texts that were sent out."""

    def __init__(self, kept: int = _KEPT) -> None:
        """Remember nothing yet.

        Args:
            kept: so many texts; the one not asked for the longest goes first.
        """
        self._kept = kept
        self._lines: OrderedDict[str, list[SceneLine]] = OrderedDict()
        self._lock = Lock()

    def keep(self, whose: str, texts: Sequence[tuple[str, str]], lines: Sequence[SceneLine]) -> None:
        """Remember what happened.

        Args:
            whose: what else must be the same for these lines to be meant: the scene, the seat.
            texts: the roles and texts of all messages up to here.
            lines: what happened.
        """
        with self._lock:
            self._lines[_key(whose, texts)] = list(lines)
            while len(self._lines) > self._kept:
                self._lines.popitem(last=False)

    def find(self, whose: str, texts: Sequence[tuple[str, str]]) -> list[SceneLine] | None:
        """What happened, if it is remembered."""
        key = _key(whose, texts)
        with self._lock:
            if key not in self._lines:
                return None
            self._lines.move_to_end(key)
            return list(self._lines[key])


def _key(whose: str, texts: Sequence[tuple[str, str]]) -> str:
    told = json.dumps([whose, [(role, text.strip()) for role, text in texts]])
    return hashlib.sha256(told.encode()).hexdigest()
