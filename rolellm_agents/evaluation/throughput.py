"""How many answers a second were made, from when each began and ended."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """What a model did while it was at work."""

    model: str
    at_once: int
    """Questions that it was asked at the same time, at most."""
    answers: int
    tokens: int
    """Of the answers."""
    seconds: float
    """In which at least one answer was being made; when the run was interrupted does not count."""

    def to_json(self) -> dict[str, Any]:
        """As JSON values, with what there was in a second; null when no time went by."""
        return {
            "model": self.model,
            "at_once": self.at_once,
            "answers": self.answers,
            "tokens": self.tokens,
            "seconds": round(self.seconds, 2),
            "answers_per_second": self._each_second(self.answers),
            "tokens_per_second": self._each_second(self.tokens),
        }

    def _each_second(self, number: int) -> float | None:
        return round(number / self.seconds, 3) if self.seconds else None


def busy_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of the spans lasted; each is a beginning and an end, in seconds."""
    busy, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        busy += max(0.0, end - max(begin, until))
        until = max(until, end)
    return busy
