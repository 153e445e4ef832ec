"""An hour's worth of requests of all kinds, one after the other: memory must stay, nothing break."""

import asyncio
import random
from collections import Counter
from http import HTTPStatus
from typing import Any

import httpx
import psutil

from rolellm_agents.persona import list_personas
from rolellm_speed.server.processes import served

_AT_ONCE = 8
_WARM = 0.2
"""The part after which memory is looked at first: agents, pools and caches have their size by then."""
_SPEC = "scripted:Aye, and the tide with it. What would you have me say to that?"


async def soak(requests: int, *, seed: int) -> dict[str, Any]:
    """Ask a server in a process of its own at random: answers and streams, scenes, nonsense, hang-ups.

    Args:
        requests: how many.
        seed: of what is asked.

    Returns:
        How many requests had which status (0 is a hang-up of ours), the server's memory in MiB when it
        was warm and at the end, and answers still on their way when all had ended.
    """
    drawn = random.Random(seed)  # no secret
    personas = [found.persona.id for found in list_personas().found]
    statuses: Counter[int] = Counter()
    with served("ours", _SPEC, "16") as (url, process):
        server = psutil.Process(process)
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            warm = round(requests * _WARM)
            await _ask_all(client, warm, personas, drawn, statuses)
            before = server.memory_info().rss
            await _ask_all(client, requests - warm, personas, drawn, statuses)
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
    drawn: random.Random,
    statuses: Counter[int],
) -> None:
    left = requests

    async def ask() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            statuses[await _ask(client, personas, drawn)] += 1

    await asyncio.gather(*(ask() for _ in range(_AT_ONCE)))


async def _ask(client: httpx.AsyncClient, personas: list[str], drawn: random.Random) -> int:
    body = _body(personas, drawn)
    if drawn.random() < 0.1:
        return await _hang_up(client, body, drawn.random() * 0.03)
    answer = await client.post("chat/completions", json=body)
    return answer.status_code


async def _hang_up(client: httpx.AsyncClient, body: Any, after: float) -> int:
    try:
        async with asyncio.timeout(after):
            await client.post("chat/completions", json=body)
    except TimeoutError:
        return 0
    return HTTPStatus.OK


def _body(personas: list[str], drawn: random.Random) -> Any:
    words = " ".join(
        drawn.choice(["lamp", "sea", "灯", "Watson?", "why", "𝔘", "\n"])
        for _ in range(drawn.randint(1, 60))
    )
    turns = drawn.randint(1, 6)
    messages = [
        {"role": ("user", "assistant")[turn % 2], "content": words} for turn in range(2 * turns - 1)
    ]
    body: dict[str, Any] = {
        "model": drawn.choice(personas),
        "messages": messages,
        "seed": drawn.randint(0, 9),
    }
    match drawn.randint(0, 9):
        case 0:
            body["model"] = drawn.choice(
                ["nobody", "scene:nowhere", "x@y@z", "scene:", "@", "sherlock-holmes@"]
            )
        case 1:
            body["model"] = drawn.choice(["scene:last-booth", "scene:ten-oclock"])
        case 2:
            body[drawn.choice(["temperature", "n", "stop", "messages"])] = drawn.choice(
                [None, -1, "x", [], {}]
            )
        case 3 | 4 | 5:
            body["stream"] = True
        case 6:
            body["n"] = drawn.randint(1, 3)
    return body
