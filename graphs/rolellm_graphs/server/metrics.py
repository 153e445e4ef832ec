"""Metrics of a server for Prometheus."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from rolellm_graphs.server.answers import AnswerEnd, AnswerPart

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_REFUSED = ("waited", "queue_full", "rate")
"""Reasons for rejecting a request."""


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        """Create all counters."""
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rolellm_requests", "Requests by path and status.", ["path", "status"], registry=self.registry
        )
        self.key_requests = Counter(
            "rolellm_key_requests",
            "Requests with a valid API key by its name and the status.",
            ["key", "status"],
            registry=self.registry,
        )
        self.answering = Gauge("rolellm_answering", "Answers on their way.", registry=self.registry)
        self.waiting = Gauge("rolellm_waiting", "Requests in the queue.", registry=self.registry)
        self.waited = Histogram(
            "rolellm_waited_seconds",
            "Time that requests waited in the queue, in seconds.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.refused = Counter(
            "rolellm_refused",
            "Rejected requests: they had `waited` too long, the queue was full (`queue_full`), or a client "
            "sent too many in a minute (`rate`).",
            ["reason"],
            registry=self.registry,
        )
        for reason in _REFUSED:
            self.refused.labels(reason)
        self.tokens = Counter("rolellm_tokens", "Tokens by kind.", ["kind"], registry=self.registry)
        self.first_words = Histogram(
            "rolellm_first_words_seconds",
            "From the end of a request's waiting to the first words of its answer.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.answers = Histogram(
            "rolellm_answer_seconds",
            "From the end of a request's waiting to the end of its answer.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.now_answering = 0

    @contextmanager
    def answer(self) -> Iterator["AnswerClock"]:
        """Count an answer while it is generated."""
        self.now_answering += 1
        self.answering.set(self.now_answering)
        try:
            yield AnswerClock(self)
        finally:
            self.now_answering -= 1
            self.answering.set(self.now_answering)

    def text(self) -> bytes:
        """The text of `GET /metrics`."""
        return generate_latest(self.registry)


class AnswerClock:
    """Measures the time and tokens of one answer."""

    def __init__(self, metrics: Metrics) -> None:
        """Start the clock."""
        self._metrics = metrics
        self._started = time.monotonic()
        self._spoken = False

    def record(self, part: AnswerPart) -> None:
        """Record a part of the answer."""
        elapsed = time.monotonic() - self._started
        if not isinstance(part, AnswerEnd) and not self._spoken:
            self._spoken = True
            self._metrics.first_words.observe(elapsed)
        if isinstance(part, AnswerEnd):
            self._metrics.answers.observe(elapsed)
            usage = part.usage
            cached = usage.prompt_tokens_details.cached_tokens
            for kind, count in (
                ("prompt_read", usage.prompt_tokens - cached),
                ("prompt_cached", cached),
                ("answer", usage.completion_tokens),
            ):
                self._metrics.tokens.labels(kind).inc(max(0, count))
