"""Compares our server with llama.cpp's own."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import psutil

from rolellm_agents.config.settings import DEFAULT_MODEL
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_graphs.server.options import ServerOptions
from rolellm_speed.server.clients import ask_together
from rolellm_speed.server.processes import llama_server, our_server
from rolellm_speed.server.workload import Request, conversations

_CONTEXT = 2048
_GREEDY = {"temperature": 0, "seed": 1}


async def measure_servers(
    clients: Sequence[int], *, turns: int, max_tokens: int, rounds: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Measure both servers alternately with each number of clients, and new conversations in each round.

    Args:
        clients: numbers of concurrent clients.
        turns: number of turns in each conversation.
        max_tokens: limit of each answer in tokens.
        rounds: number of rounds, of which the best is reported.
        progress: called with a sentence after each measurement, of which each may take minutes.

    Returns:
        Rows of loads, with refusals and percentiles; and for each number of clients our requests per second
        and our time to the first words as multiples of llama.cpp's.
    """
    model = get_model(DEFAULT_MODEL)
    if not isinstance(model, ChatLlamaCpp):
        raise TypeError(model)
    weights = model.load().model.path
    most = max(clients)
    slots = min(most, ServerOptions().concurrent)  # the default of `rolellm serve`; further clients wait
    # The settings that our engine uses on a machine without calibration.
    threads = len(psutil.Process().cpu_affinity())
    talks = iter(conversations(rounds * sum(clients), turns))
    rows: list[dict[str, Any]] = []
    theirs = llama_server(
        weights, adapter=model.adapter_path, slots=slots, clients=most, context=_CONTEXT, threads=threads
    )
    with our_server(DEFAULT_MODEL, concurrent=slots) as (ours, _), theirs as (llama, _):
        for count in clients:
            for _ in range(rounds):
                asked = [next(talks) for _ in range(count)]
                for server, url, body_of in (
                    ("ours", ours, _to_us(max_tokens)),
                    ("llama.cpp", llama, _to_llama(max_tokens)),
                ):
                    load = await ask_together(url, asked, body_of)
                    rows.append({"server": server, **asdict(load)})
                    progress(
                        f"{server}, {count} clients: {load.per_s:.2f} requests/s, {load.refused} refused"
                    )
    return {"turns": turns, "max_tokens": max_tokens, "rows": rows, "ratios": _ratios(rows, clients)}


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
