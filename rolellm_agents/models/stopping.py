"""Stop strings: an answer ends before the first of them, and no part of one is ever shown."""

from collections.abc import Sequence


class StoppingText:
    """Text in as it is written, text out as soon as it is sure to be part of the answer."""

    def __init__(self, stop: Sequence[str]) -> None:
        """Watch for these strings; empty ones are passed over."""
        self.stopped = False
        self._stop = [mark for mark in stop if mark]
        self._held = ""

    def push(self, text: str) -> str:
        """Take the next text; return what is now sure. Once `stopped`, nothing more is."""
        if self.stopped:
            return ""
        self._held += text
        ends = [at for mark in self._stop if (at := self._held.find(mark)) >= 0]
        if ends:
            self.stopped = True
            return self._held[: min(ends)]
        keep = max((_overlap(self._held, mark) for mark in self._stop), default=0)
        cut = len(self._held) - keep
        sure, self._held = self._held[:cut], self._held[cut:]
        return sure

    def rest(self) -> str:
        """What was held back, when the answer has ended by itself."""
        return "" if self.stopped else self._held


def _overlap(text: str, mark: str) -> int:
    """The length of the longest end of `text` that begins `mark`."""
    for length in range(min(len(text), len(mark) - 1), 0, -1):
        if mark.startswith(text[-length:]):
            return length
    return 0
