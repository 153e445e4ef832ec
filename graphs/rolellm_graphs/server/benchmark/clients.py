"""Clients that ask side by side and look at their watches."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import httpx

from rolellm_graphs.server.benchmark.workload import Request

_SECONDS = 600.0


@dataclass(frozen=True)
class Answered:
    """One request, from its sending on."""

    first_s: float
    """To the first words."""
    whole_s: float
    chunks: int
    """Pieces with words in them."""


@dataclass(frozen=True)
class Load:
    """What so many clients got."""

    clients: int
    requests: int
    per_s: float
    """Requests."""
    first_ms: float
    """The median time to the first words."""
    chunks_per_s: float


async def ask_together(
    url: str, talks: Sequence[Sequence[Request]], body_of: Callable[[Request], dict[str, Any]]
) -> Load:
    """Let each conversation be led by a client of its own, all at once.

    Args:
        url: up to and with `/v1`.
        talks: each client's turns, one after the other.
        body_of: a turn as this server is asked.

    Raises:
        httpx.HTTPError: a request failed.
    """
    # llama.cpp's server closes a connection after a stream; so all requests have one of their own.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, timeout=_SECONDS, limits=limits) as client:
        began = time.perf_counter()
        told = await asyncio.gather(*(_talk(client, [body_of(turn) for turn in talk]) for talk in talks))
        passed = time.perf_counter() - began
    answers = [answer for talk in told for answer in talk]
    return Load(
        clients=len(talks),
        requests=len(answers),
        per_s=len(answers) / passed,
        first_ms=1000 * median(answer.first_s for answer in answers),
        chunks_per_s=sum(answer.chunks for answer in answers) / passed,
    )


async def _talk(client: httpx.AsyncClient, bodies: Sequence[dict[str, Any]]) -> list[Answered]:
    return [await _ask(client, body) for body in bodies]


async def _ask(client: httpx.AsyncClient, body: dict[str, Any]) -> Answered:
    began = time.perf_counter()
    first: float | None = None
    chunks = 0
    async with client.stream("POST", "chat/completions", json={**body, "stream": True}) as answer:
        if answer.is_error:
            await answer.aread()
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if line.startswith("data: {") and _has_words(line):
                first = first or time.perf_counter() - began
                chunks += 1
    whole = time.perf_counter() - began
    return Answered(first or whole, whole, chunks)


def _has_words(line: str) -> bool:
    choices = json.loads(line.removeprefix("data: ")).get("choices") or [{}]
    return bool((choices[0].get("delta") or {}).get("content"))
