"""Finding text in the messages of one branch."""

from bisect import bisect_right
from collections.abc import Sequence

from rolellm_agents.text import one_line


class MessageFinder:
    """The matches of a search text, and the one that is shown."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Prepare a search in these texts, in the order of the branch."""
        self._texts = [one_line(text).casefold() for text in texts]
        self._hits: list[int] = []
        self._shown = 0

    @property
    def place(self) -> int | None:
        """The place of the match that is shown; None if nothing was found."""
        return self._hits[self._shown] if self._hits else None

    @property
    def position(self) -> str:
        """The match that is shown and the number of all, for the user."""
        return f"{self._shown + 1:,} of {len(self._hits):,}" if self._hits else "not found"

    def seek(self, sought: str, near: int) -> None:
        """Find all texts with `sought`, regardless of case; show the last one up to the place `near`."""
        key = one_line(sought).casefold()
        self._hits = [place for place, text in enumerate(self._texts) if key in text] if key else []
        self._shown = max(0, bisect_right(self._hits, near) - 1)

    def move(self, step: int) -> None:
        """Show the next (1) or previous (-1) match; after the last one follows the first."""
        if self._hits:
            self._shown = (self._shown + step) % len(self._hits)
