"""Throughput in answers and tokens per second, from the start and end times of the answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """The throughput of one model."""

    model: str
    at_once: int
    """Maximum number of concurrent requests."""
    answers: int
    tokens: int
    """Total number of tokens of the answers."""
    seconds: float
    """Seconds in which at least one answer was in progress; interruptions of the run do not count."""

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values, with rates per second; a rate is null when `seconds` is 0."""
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
    """The total time that the spans cover; each is a start and an end, in seconds."""
    busy, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        busy += max(0.0, end - max(begin, until))
        until = max(until, end)
    return busy
