"""Compares our server with llama.cpp's own, and measures its overhead over the model call."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from statistics import median
from typing import Any

import httpx
import psutil
from langchain_core.messages import HumanMessage, SystemMessage

from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.role.graph import role_graph
from rolellm_graphs.server.options import ServerOptions
from rolellm_speed.server.clients import ask_together
from rolellm_speed.server.processes import served
from rolellm_speed.server.workload import STRATEGY, Request, conversations

_CONTEXT = 2048
_GREEDY = {"temperature": 0, "seed": 1}
_SPEC = "llamacpp:smollm2"


async def measure_servers(clients: Sequence[int], *, max_tokens: int, rounds: int) -> dict[str, Any]:
    """Measure both servers alternately with each number of clients, and new conversations in each round.

    Args:
        clients: numbers of concurrent clients.
        max_tokens: limit of each answer in tokens.
        rounds: number of rounds, of which the best is reported.

    Returns:
        Rows of loads, with refusals and percentiles; and for each number of clients our requests per second
        and our time to the first words as multiples of llama.cpp's.
    """
    most = max(clients)
    slots = min(most, ServerOptions().concurrent)  # the default of `rolellm serve`; further clients wait
    talks = iter(conversations(rounds * sum(clients)))
    rows: list[dict[str, Any]] = []
    with (
        served("ours", _SPEC, str(slots)) as (ours, _),
        llama_served(_SPEC, slots=slots, clients=most) as (llama, _),
    ):
        for count in clients:
            for _ in range(rounds):
                asked = [next(talks) for _ in range(count)]
                for server, url, body_of in (
                    ("ours", ours, _to_us(max_tokens)),
                    ("llama.cpp", llama, _to_llama(max_tokens)),
                ):
                    rows.append({"server": server, **asdict(await ask_together(url, asked, body_of))})
    return {"max_tokens": max_tokens, "rows": rows, "ratios": _ratios(rows, clients)}


def llama_served(spec: str, *, slots: int, clients: int) -> AbstractContextManager[tuple[str, int]]:
    """llama.cpp's server with the weights of an embedded model; its base URL and its process id.

    Args:
        spec: the model, without an adapter.
        slots: number of requests that are answered at a time.
        clients: number of connections at a time.

    Raises:
        ModelError: the model cannot be loaded, or the server did not start.
    """
    model = get_model(spec)
    if not isinstance(model, ChatLlamaCpp):
        raise TypeError(model)
    # The settings that our engine uses on a machine without calibration.
    weights, threads = str(model.load().model.path), str(len(psutil.Process().cpu_affinity()))
    return served("llama", weights, str(slots), str(clients), str(_CONTEXT), threads)


def _to_us(max_tokens: int) -> Callable[[Request], dict[str, Any]]:
    return lambda asked: {
        "model": asked.persona,
        "messages": asked.messages,
        "max_tokens": max_tokens,
        **_GREEDY,
    }


def _to_llama(max_tokens: int) -> Callable[[Request], dict[str, Any]]:
    return lambda asked: {
        "messages": asked.prompt,
        "max_tokens": max_tokens,
        "cache_prompt": True,
        **_GREEDY,
    }


def _ratios(rows: Sequence[dict[str, Any]], clients: Sequence[int]) -> list[dict[str, float]]:
    def best(server: str, count: int, figure: str, choose: Callable[[Sequence[float]], float]) -> float:
        return choose([row[figure] for row in rows if (row["server"], row["clients"]) == (server, count)])

    return [
        {
            "clients": count,
            "per_s": best("ours", count, "per_s", max) / best("llama.cpp", count, "per_s", max),
            "first_ms": best("ours", count, "first_ms", min) / best("llama.cpp", count, "first_ms", min),
        }
        for count in clients
    ]


async def measure_overhead(rounds: int) -> dict[str, float]:
    """Measure the overhead of persona, graph and server over the call of a model that answers immediately.

    Args:
        rounds: number of sequential calls of each, of which the median is reported.

    Returns:
        Milliseconds of the model call, and the overhead of `RoleChatModel`, of `role_graph`, and of the
        server over `RoleChatModel`.
    """
    spec = "scripted:Aye."
    model = get_model(spec)
    role = RoleChatModel("sherlock-holmes", model=model, strategy=STRATEGY)
    graph = role_graph("sherlock-holmes", model=model, strategy=STRATEGY)
    line = HumanMessage("Who are you?")
    prompt = [SystemMessage("You are Sherlock Holmes."), line]
    body = {"model": "sherlock-holmes", "messages": [{"role": "user", "content": line.text}]}
    with served("ours", spec, "4") as (url, _):
        async with httpx.AsyncClient(base_url=url) as client:
            bare = await _median_ms(lambda: model.ainvoke(prompt), rounds)
            as_role = await _median_ms(lambda: role.ainvoke([line]), rounds)
            as_graph = await _median_ms(lambda: graph.ainvoke({"messages": [line]}), rounds)
            behind = await _median_ms(lambda: client.post("chat/completions", json=body), rounds)
    return {
        "bare_ms": bare,
        "role_ms": as_role - bare,
        "graph_ms": as_graph - bare,
        "server_ms": behind - as_role,
    }


async def _median_ms(call: Callable[[], Awaitable[Any]], rounds: int) -> float:
    times = []
    for _ in range(rounds + 3):
        began = time.perf_counter()
        await call()
        times.append(time.perf_counter() - began)
        await asyncio.sleep(0)
    return 1000 * median(times[3:])
