"""Measures the overhead of persona, graph and server over the call of a model that answers immediately."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil
from langchain_core.messages import HumanMessage, SystemMessage

from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.role.graph import role_graph
from rolellm_speed.server.processes import our_server
from rolellm_speed.server.workload import STRATEGY

_LINE = HumanMessage("Who are you?")
_PROMPT = [SystemMessage("You are Sherlock Holmes."), _LINE]
_BODY = {"model": "sherlock-holmes", "messages": [{"role": "user", "content": _LINE.text}]}
_WORDS = 100
_TEXT = " ".join(["word"] * _WORDS)
_PACE = 0.005
"""Seconds per word, so that each one is sent by itself, as those of a model that computes."""


async def measure_overhead(rounds: int) -> dict[str, float]:
    """Measure the overhead for a call, and the processor time of a stream.

    Args:
        rounds: number of sequential calls of each, of which the median is reported; of streams a fifth,
            of which the mean is reported.

    Returns:
        Milliseconds of the model call, and the overhead of `RoleChatModel`, of `role_graph`, and of the
        server over `RoleChatModel`; and milliseconds of processor time for an answer streamed in 100
        words, by the server and by the call of `RoleChatModel` alone.
    """
    spec = "scripted:Aye."
    model = get_model(spec)
    role = RoleChatModel("sherlock-holmes", model=model, strategy=STRATEGY)
    graph = role_graph("sherlock-holmes", model=model, strategy=STRATEGY)
    with our_server(spec, concurrent=4) as (url, _):
        async with httpx.AsyncClient(base_url=url) as client:
            bare = await _median_ms(lambda: model.ainvoke(_PROMPT), rounds)
            as_role = await _median_ms(lambda: role.ainvoke([_LINE]), rounds)
            as_graph = await _median_ms(lambda: graph.ainvoke({"messages": [_LINE]}), rounds)
            behind = await _median_ms(lambda: client.post("chat/completions", json=_BODY), rounds)
    return {
        "bare_ms": bare,
        "role_ms": as_role - bare,
        "graph_ms": as_graph - bare,
        "server_ms": behind - as_role,
        "stream_server_cpu_ms": await _cpu_of_streams_in_the_server(_streams(rounds)),
        "stream_role_cpu_ms": await _cpu_of_streams_in_this_process(_streams(rounds)),
    }


def _streams(rounds: int) -> int:
    """Fewer than calls, because each takes half a second."""
    return max(1, rounds // 5)


async def _median_ms(call: Callable[[], Awaitable[Any]], rounds: int) -> float:
    times = []
    for _ in range(rounds + 3):
        began = time.perf_counter()
        await call()
        times.append(time.perf_counter() - began)
        await asyncio.sleep(0)
    return 1000 * median(times[3:])


async def _cpu_of_streams_in_the_server(rounds: int) -> float:
    """Milliseconds of processor time of the server's process for a streamed answer; the mean."""
    with tempfile.TemporaryDirectory() as home:
        written = f'[models.paced]\nspec = "scripted:{_TEXT}"\nseconds_per_word = {_PACE}\n'
        (config := Path(home) / "config").mkdir()
        (config / "models.toml").write_text(written, encoding="utf-8")
        with our_server("paced", concurrent=4, home=Path(home)) as (url, process):
            server = psutil.Process(process)
            async with httpx.AsyncClient(base_url=url) as client:

                async def stream() -> None:
                    answer = await client.post("chat/completions", json={**_BODY, "stream": True})
                    answer.raise_for_status()

                return await _cpu_ms(stream, server, rounds)


async def _cpu_of_streams_in_this_process(rounds: int) -> float:
    """The same for `RoleChatModel` without a server."""
    model = ScriptedChatModel(replies=[_TEXT], seconds_per_word=_PACE)
    role = RoleChatModel("sherlock-holmes", model=model, strategy=STRATEGY)

    async def stream() -> None:
        async for _ in role.astream([_LINE]):
            pass

    return await _cpu_ms(stream, psutil.Process(), rounds)


async def _cpu_ms(call: Callable[[], Awaitable[None]], process: psutil.Process, rounds: int) -> float:
    for _ in range(3):
        await call()
    before = process.cpu_times()
    for _ in range(rounds):
        await call()
    after = process.cpu_times()
    return 1000 * (after.user + after.system - before.user - before.system) / rounds
