"""Concurrent clients that measure response times."""

import asyncio
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from statistics import median
from typing import Any, Final

import httpx

from rolellm_agents.errors import ModelError
from rolellm_speed.server.workload import Request

_SECONDS = 600.0
_REFUSALS: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""Status codes of overloaded servers."""


@dataclass(frozen=True)
class TimedRequest:
    """Times of one request, from when it was sent."""

    first_s: float
    """Seconds until the first words."""
    whole_s: float
    chunks: int
    """Number of chunks that contain text."""
    tokens: int = 0
    """Tokens of the answer, as the server counts them; 0 if it does not say."""


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of times in milliseconds."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class ClientLoad:
    """The results of a number of concurrent clients."""

    clients: int
    requests: int
    """Number of requests, answered or refused."""
    refused: int
    per_s: float
    """Answers per second."""
    first_ms: float
    """Median time to the first words, in milliseconds."""
    chunks_per_s: float
    first: Percentiles
    """Percentiles of the time to the first words."""
    whole: Percentiles
    """Percentiles of the time to the end of the answer."""


async def ask_together(
    url: str, talks: Sequence[Sequence[Request]], body_of: Callable[[Request], dict[str, Any]]
) -> ClientLoad:
    """Send all conversations concurrently, each from a separate client.

    Args:
        url: the base URL, including `/v1`.
        talks: the turns of each client's conversation.
        body_of: returns the request body of a turn for this server.

    Raises:
        httpx.HTTPError: a request failed for another reason than overload.
        ModelError: the server refused all requests.
    """
    replies, passed = await time_together(url, talks, body_of)
    return load_of(len(talks), replies, passed)


async def time_together(
    url: str, talks: Sequence[Sequence[Request]], body_of: Callable[[Request], dict[str, Any]]
) -> tuple[list[TimedRequest | None], float]:
    """The times of all requests, None for refused ones, and the seconds until the last answer ended.

    The arguments are those of `ask_together`.

    Raises:
        httpx.HTTPError: a request failed for another reason than overload.
    """
    # llama.cpp's server closes the connection after a stream, so each request opens a new one.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, timeout=_SECONDS, limits=limits) as client:
        began = time.perf_counter()
        replies = await asyncio.gather(*(_talk(client, [body_of(turn) for turn in talk]) for talk in talks))
        passed = time.perf_counter() - began
    return [answer for talk in replies for answer in talk], passed


def load_of(clients: int, replies: Sequence[TimedRequest | None], passed: float) -> ClientLoad:
    """The results of a number of concurrent clients.

    Args:
        clients: number of clients.
        replies: the answers of all clients; None for refused requests.
        passed: seconds from the first request to the last answer.

    Raises:
        ModelError: all requests were refused.
    """
    answers = [answer for answer in replies if answer is not None]
    if not answers:
        raise ModelError("The server refused all requests; there is nothing to measure.")
    return ClientLoad(
        clients=clients,
        requests=len(replies),
        refused=len(replies) - len(answers),
        per_s=len(answers) / passed,
        first_ms=1000 * median(answer.first_s for answer in answers),
        chunks_per_s=sum(answer.chunks for answer in answers) / passed,
        first=percentiles([1000 * answer.first_s for answer in answers]),
        whole=percentiles([1000 * answer.whole_s for answer in answers]),
    )


def percentiles(times: Sequence[float]) -> Percentiles:
    """Percentiles by the nearest-rank method, so that each is a measured value.

    Args:
        times: at least one time, in any order.
    """
    return Percentiles(*(percentile(times, part) for part in (50, 95, 99)))


def percentile(times: Sequence[float], part: int) -> float:
    """The percentile `part` (1 to 100) of at least one time, by the nearest-rank method."""
    return sorted(times)[math.ceil(len(times) * part / 100) - 1]


async def _talk(client: httpx.AsyncClient, bodies: Sequence[dict[str, Any]]) -> list[TimedRequest | None]:
    return [await _ask(client, body) for body in bodies]


async def _ask(client: httpx.AsyncClient, body: dict[str, Any]) -> TimedRequest | None:
    """Send a request; None if the overloaded server refused it."""
    began = time.perf_counter()
    first: float | None = None
    chunks = tokens = 0
    streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
    async with client.stream("POST", "chat/completions", json=streamed) as answer:
        if answer.status_code in _REFUSALS:
            return None
        if answer.is_error:
            await answer.aread()
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if not line.startswith("data: {"):
                continue
            event = json.loads(line.removeprefix("data: "))
            tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
            if _has_words(event):
                first = first or time.perf_counter() - began
                chunks += 1
    whole = time.perf_counter() - began
    return TimedRequest(first or whole, whole, chunks, tokens)


def _has_words(event: dict[str, Any]) -> bool:
    choices = event.get("choices") or [{}]
    return bool((choices[0].get("delta") or {}).get("content"))
