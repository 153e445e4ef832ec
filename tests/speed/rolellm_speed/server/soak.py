"""Soak test: sends requests of all kinds for an hour's worth of load, and checks memory and errors."""

import asyncio
import random
from collections import Counter
from http import HTTPStatus
from typing import Any

import httpx
import psutil

from rolellm_agents.persona import list_personas
from rolellm_speed.server.processes import our_server

_AT_ONCE = 8
_WARM = 0.2
"""The share of requests before the first memory reading, after which pools and caches are filled."""
_SPEC = "scripted:Aye, and the tide with it. What would you have me say to that?"


async def soak(requests: int, *, seed: int) -> dict[str, Any]:
    """Send random requests to a server in a separate process, including errors and disconnects.

    Args:
        requests: number of requests.
        seed: seed of the requests.

    Returns:
        The number of requests by status (0 is a disconnect by the client), the server's memory in MiB after
        the warm-up and at the end, and the number of answers that were still running at the end.
    """
    rng = random.Random(seed)  # no secret
    personas = [found.persona.id for found in list_personas().found]
    statuses: Counter[int] = Counter()
    with our_server(_SPEC, concurrent=16) as (url, process):
        server = psutil.Process(process)
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            warm = round(requests * _WARM)
            await _ask_all(client, warm, personas, rng, statuses)
            before = server.memory_info().rss
            await _ask_all(client, requests - warm, personas, rng, statuses)
            health = (await client.get(url.removesuffix("/v1") + "/health")).json()
            after = server.memory_info().rss
    return {
        "requests": requests,
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "server_errors": sum(
            n for status, n in statuses.items() if status >= HTTPStatus.INTERNAL_SERVER_ERROR
        ),
        "warm_mib": before / 2**20,
        "end_mib": after / 2**20,
        "still_answering": health["answering"],
    }


async def _ask_all(
    client: httpx.AsyncClient,
    requests: int,
    personas: list[str],
    rng: random.Random,
    statuses: Counter[int],
) -> None:
    left = requests

    async def ask() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            statuses[await _ask(client, personas, rng)] += 1

    await asyncio.gather(*(ask() for _ in range(_AT_ONCE)))


async def _ask(client: httpx.AsyncClient, personas: list[str], rng: random.Random) -> int:
    body = _body(personas, rng)
    if rng.random() < 0.1:
        return await _hang_up(client, body, rng.random() * 0.03)
    answer = await client.post("chat/completions", json=body)
    return answer.status_code


async def _hang_up(client: httpx.AsyncClient, body: Any, after: float) -> int:
    try:
        async with asyncio.timeout(after):
            await client.post("chat/completions", json=body)
    except TimeoutError:
        return 0
    return HTTPStatus.OK


def _body(personas: list[str], rng: random.Random) -> Any:
    words = " ".join(
        rng.choice(["lamp", "sea", "灯", "Watson?", "why", "𝔘", "\n"]) for _ in range(rng.randint(1, 60))
    )
    turns = rng.randint(1, 6)
    messages = [
        {"role": ("user", "assistant")[turn % 2], "content": words} for turn in range(2 * turns - 1)
    ]
    body: dict[str, Any] = {
        "model": rng.choice(personas),
        "messages": messages,
        "seed": rng.randint(0, 9),
    }
    match rng.randint(0, 9):
        case 0:
            body["model"] = rng.choice(
                ["nobody", "scene:nowhere", "x@y@z", "scene:", "@", "sherlock-holmes@"]
            )
        case 1:
            body["model"] = rng.choice(["scene:last-booth", "scene:ten-oclock"])
        case 2:
            body[rng.choice(["temperature", "n", "stop", "messages"])] = rng.choice([None, -1, "x", [], {}])
        case 3 | 4 | 5:
            body["stream"] = True
        case 6:
            body["n"] = rng.randint(1, 3)
    return body
