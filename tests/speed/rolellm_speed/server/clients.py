"""Clients that ask side by side and look at their watches."""

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
"""How servers say that they have too much to do."""


@dataclass(frozen=True)
class TimedRequest:
    """One request, from its sending on."""

    first_s: float
    """To the first words."""
    whole_s: float
    chunks: int
    """Pieces with words in them."""


@dataclass(frozen=True)
class Percentiles:
    """Times in milliseconds, of which so many of a hundred are not exceeded."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class ClientLoad:
    """What so many clients got."""

    clients: int
    requests: int
    """Answered or refused."""
    refused: int
    per_s: float
    """Answers."""
    first_ms: float
    """The median time to the first words."""
    chunks_per_s: float
    first: Percentiles
    """Of the time to the first words."""
    whole: Percentiles
    """Of the time to the end of the answer."""


async def ask_together(
    url: str, talks: Sequence[Sequence[Request]], body_of: Callable[[Request], dict[str, Any]]
) -> ClientLoad:
    """Let each conversation be led by a client of its own, all at once.

    Args:
        url: up to and with `/v1`.
        talks: each client's turns, one after the other.
        body_of: a turn as this server is asked.

    Raises:
        httpx.HTTPError: a request failed otherwise than by being refused for too much load.
        ModelError: all of them were refused.
    """
    # llama.cpp's server closes a connection after a stream; so all requests have one of their own.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, timeout=_SECONDS, limits=limits) as client:
        began = time.perf_counter()
        told = await asyncio.gather(*(_talk(client, [body_of(turn) for turn in talk]) for talk in talks))
        passed = time.perf_counter() - began
    return load_of(len(talks), [answer for talk in told for answer in talk], passed)


def load_of(clients: int, told: Sequence[TimedRequest | None], passed: float) -> ClientLoad:
    """What so many clients got.

    Args:
        clients: that asked at a time.
        told: their answers; None where a request was refused.
        passed: seconds from the first request to the last answer.

    Raises:
        ModelError: all requests were refused.
    """
    answers = [answer for answer in told if answer is not None]
    if not answers:
        raise ModelError("The server refused all requests; there is nothing to measure.")
    return ClientLoad(
        clients=clients,
        requests=len(told),
        refused=len(told) - len(answers),
        per_s=len(answers) / passed,
        first_ms=1000 * median(answer.first_s for answer in answers),
        chunks_per_s=sum(answer.chunks for answer in answers) / passed,
        first=percentiles([1000 * answer.first_s for answer in answers]),
        whole=percentiles([1000 * answer.whole_s for answer in answers]),
    )


def percentiles(times: Sequence[float]) -> Percentiles:
    """The times by nearest rank: each of the figures is one that was measured.

    Args:
        times: at least one, in any order.
    """
    ordered = sorted(times)
    p50, p95, p99 = (ordered[math.ceil(len(ordered) * part / 100) - 1] for part in (50, 95, 99))
    return Percentiles(p50, p95, p99)


async def _talk(client: httpx.AsyncClient, bodies: Sequence[dict[str, Any]]) -> list[TimedRequest | None]:
    return [await _ask(client, body) for body in bodies]


async def _ask(client: httpx.AsyncClient, body: dict[str, Any]) -> TimedRequest | None:
    """The answer; None when the server refused it for too much load."""
    began = time.perf_counter()
    first: float | None = None
    chunks = 0
    async with client.stream("POST", "chat/completions", json={**body, "stream": True}) as answer:
        if answer.status_code in _REFUSALS:
            return None
        if answer.is_error:
            await answer.aread()
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if line.startswith("data: {") and _has_words(line):
                first = first or time.perf_counter() - began
                chunks += 1
    whole = time.perf_counter() - began
    return TimedRequest(first or whole, whole, chunks)


def _has_words(line: str) -> bool:
    choices = json.loads(line.removeprefix("data: ")).get("choices") or [{}]
    return bool((choices[0].get("delta") or {}).get("content"))
