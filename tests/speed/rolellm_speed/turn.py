"""Measures the overhead of graph and session over the model call (`rolellm bench turn`)."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from statistics import median
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph import MessagesState

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_graphs.role.graph import role_graph

_REPLY = (
    "You see, but you do not observe; the distinction is clear, and this is a reply of forty words. " * 2
)
_PACE = 0.005
"""Seconds per word: faster than local models, but slow enough to do the work between words."""


def measure_turn(rounds: int) -> dict[str, Any]:
    """Measure the median milliseconds of a turn by layer, and each layer's overhead over the model call.

    The model is scripted, so that only our own code differs. `paced` yields a word every 5 ms, like a fast
    local model, which shows the delay for users. `at_once` yields forty words without pauses, so that the
    work for all of them adds to the turn.
    """
    return asyncio.run(_measure(rounds))


async def _measure(rounds: int) -> dict[str, Any]:
    measured: dict[str, Any] = {"rounds": rounds, "words": len(_REPLY.split())}
    for name, pace in (("paced", _PACE), ("at_once", 0.0)):
        model = ScriptedChatModel(replies=[_REPLY], seconds_per_word=pace)
        with tempfile.TemporaryDirectory() as folder, Transcript(Path(folder) / "t.db") as transcript:
            bare, graph, session = await _time_layers(model, transcript, rounds)
        measured[f"{name}_bare_ms"] = round(bare, 2)
        measured[f"{name}_graph_adds_ms"] = round(graph - bare, 2)
        measured[f"{name}_graph_and_session_add_ms"] = round(session - bare, 2)
    return measured


async def _time_layers(
    model: ScriptedChatModel, transcript: Transcript, rounds: int
) -> tuple[float, float, float]:
    """Measure the three layers alternately, so that a slow moment affects all equally."""
    persona = load_persona("sherlock-holmes")
    graph = role_graph(persona, model=model)
    line = "What do you make of my shoes?"
    said = MessagesState(messages=[HumanMessage(line)])
    graph.invoke(said)
    prompt: list[BaseMessage] = model.calls[-1]

    session = Session(persona, transcript, model=model)
    async for _ in session.send(line):
        pass

    def session_turn() -> AsyncIterator[Any]:
        # Like `send`, it records and answers a line, but the history does not grow.
        return session.edit(session.messages[0].id, line)

    layers: tuple[Callable[[], AsyncIterator[Any]], ...] = (
        lambda: model.astream(prompt),
        lambda: graph.astream(said, stream_mode=["messages", "updates"], version="v2"),
        session_turn,
    )
    times: tuple[list[float], ...] = ([], [], [])
    for _ in range(rounds + 2):
        for layer, layer_times in zip(layers, times, strict=True):
            events = layer()
            began = time.perf_counter()
            async for _ in events:
                pass
            layer_times.append((time.perf_counter() - began) * 1000)
        model.calls.clear()
    bare, with_graph, with_session = (median(layer_times[2:]) for layer_times in times)
    return bare, with_graph, with_session
