"""Metrics of a server for Prometheus.

Worker processes add theirs up in the files of prometheus_client's multiprocess mode, whose folder is named
by the environment variable PROMETHEUS_MULTIPROC_DIR.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from rolellm_graphs.server.answers import AnswerEnd, AnswerPart

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the folder in which workers add up their counters; it is read at import."""
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
        self.answering = Gauge(
            "rolellm_answering",
            "Answers on their way.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.waiting = Gauge(
            "rolellm_waiting",
            "Requests in the queue.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
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

    @contextmanager
    def answer(self) -> Iterator["AnswerClock"]:
        """Count an answer while it is generated."""
        with self.answering.track_inprogress():
            yield AnswerClock(self)

    def text(self) -> bytes:
        """The text of `GET /metrics`."""
        return generate_latest(self._of_all_workers())

    def load(self) -> tuple[int, int]:
        """The number of answers on their way, and of requests in the queue."""
        registry = self._of_all_workers()
        answering, waiting = (
            registry.get_sample_value(name) or 0 for name in ("rolellm_answering", "rolellm_waiting")
        )
        return round(answering), round(waiting)

    def _of_all_workers(self) -> CollectorRegistry:
        """The counters of this process, or of all workers together."""
        if not os.environ.get(FOLDER):
            return self.registry
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return together


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
