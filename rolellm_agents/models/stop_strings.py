"""Stop strings: an answer ends before the first stop string, no part of which is ever shown."""

from collections.abc import Sequence


class StoppingText:
    """Holds back generated text until it is certain to belong to the answer."""

    def __init__(self, stop: Sequence[str]) -> None:
        """Stop at these strings; empty ones are ignored."""
        self.stopped = False
        self._stop = [mark for mark in stop if mark]
        self._held = ""

    def push(self, text: str) -> str:
        """Add text, and return what certainly belongs to the answer; nothing after `stopped`."""
        if self.stopped:
            return ""
        self._held += text
        ends = [at for mark in self._stop if (at := self._held.find(mark)) >= 0]
        if ends:
            self.stopped = True
            return self._held[: min(ends)]
        keep = max((overlap(self._held, mark) for mark in self._stop), default=0)
        cut = len(self._held) - keep
        sure, self._held = self._held[:cut], self._held[cut:]
        return sure

    def rest(self) -> str:
        """The held-back text, to be added when the answer ends without a stop string."""
        return "" if self.stopped else self._held


def overlap(text: str, mark: str) -> int:
    """The length of the longest suffix of `text` that is a prefix of `mark`."""
    for length in range(min(len(text), len(mark) - 1), 0, -1):
        if mark.startswith(text[-length:]):
            return length
    return 0
