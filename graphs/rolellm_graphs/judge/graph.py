"""The judge graph, and runs of judges, which resume where they were stopped.

The graph sends one reply to every judge concurrently. A run records finished items. Items at which a model
failed are not recorded, so that the next start tries them again.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from rolellm_agents.judging.flaws import JudgedScene
from rolellm_agents.judging.json_form import (
    judged_from_json,
    judged_to_json,
    verdict_from_json,
    verdict_to_json,
)
from rolellm_agents.judging.judged import Judged, PairJudge, ReplyJudge
from rolellm_agents.judging.recorded import about_pair, about_reply, about_scene
from rolellm_agents.judging.verdict import Verdict
from rolellm_graphs.judge.panel import SceneJudging
from rolellm_graphs.judge.run import JudgingItem, digest_of_item, run_works
from rolellm_graphs.runs.items import AT_ONCE

Progress = Callable[[int, int], None]
"""Called with the number of finished items and of all items."""
Pair = tuple[Judged, Judged]


class JudgeInput(TypedDict):
    """The graph's input."""

    judged: dict[str, Any]
    """As `judged_to_json` writes it."""


class JudgeOutput(TypedDict):
    """The graph's output."""

    verdicts: list[dict[str, Any]]
    """As `verdict_to_json` writes them, in the order of the judges and of their measures."""


class JudgeState(TypedDict, total=False):
    """The graph's state, as JSON values."""

    judged: dict[str, Any]
    verdicts: Annotated[list[dict[str, Any]], operator.add]


class JudgeSeat(TypedDict):
    """The input of one judge."""

    judge: int
    judged: dict[str, Any]


JudgeGraph = CompiledStateGraph[JudgeState, None, JudgeInput, JudgeOutput]


def judge_graph(judges: Sequence[ReplyJudge]) -> JudgeGraph:
    """Build the graph in which all judges judge one reply concurrently.

    Args:
        judges: at least one.
    """

    def fan_out(state: JudgeState) -> list[Send]:
        return [
            Send("judge", JudgeSeat(judge=place, judged=state["judged"])) for place in range(len(judges))
        ]

    async def judge(state: JudgeSeat) -> dict[str, Any]:
        verdicts = await judges[state["judge"]].judge(judged_from_json(state["judged"]))
        return {"verdicts": [verdict_to_json(one) for one in verdicts]}

    builder = StateGraph(JudgeState, input_schema=JudgeInput, output_schema=JudgeOutput)
    builder.add_node("judge", judge)
    builder.add_conditional_edges(START, fan_out, ["judge"])
    builder.add_edge("judge", END)
    return builder.compile(name="judge")


async def judge_replies(
    judges: Sequence[ReplyJudge],
    items: Sequence[Judged],
    *,
    folder: Path | None = None,
    config: Mapping[str, Any] | None = None,
    at_once: int = AT_ONCE,
    progress: Progress = lambda _done, _total: None,
) -> list[Verdict]:
    """Judge every reply by every judge.

    Args:
        judges: at least one.
        items: the replies, with unique keys.
        folder: the run's folder; a stopped run resumes. None records nothing.
        config: what the verdicts depend on besides the items, such as models and prompts; it must be the
            same on resuming.
        at_once: concurrency limit.
        progress: called with the number of finished items and of all items.

    Returns:
        The verdicts by item, then by judge and measure.

    Raises:
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: a model cannot be loaded, or fails repeatedly; finished items are kept.
    """
    graph = judge_graph(judges)

    async def judge(judged: Judged) -> list[Verdict]:
        output = await graph.ainvoke(JudgeInput(judged=judged_to_json(judged)))
        return [verdict_from_json(one) for one in output["verdicts"]]

    works = [
        JudgingItem(
            key=f"{one.key}#{digest_of_item(judged_to_json(one))}",
            about=about_reply(one),
            judge=partial(judge, one),
        )
        for one in items
    ]
    return await run_works("replies", works, folder, config or {}, at_once, progress)


async def compare_replies(
    judge: PairJudge,
    pairs: Sequence[Pair],
    *,
    folder: Path | None = None,
    config: Mapping[str, Any] | None = None,
    at_once: int = AT_ONCE,
    progress: Progress = lambda _done, _total: None,
) -> list[Verdict]:
    """Compare the replies of each pair; see `judge_replies`.

    Returns:
        One verdict for each pair, in their order.

    Raises:
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: a model cannot be loaded, or fails repeatedly; finished items are kept.
    """

    async def compare(pair: Pair) -> list[Verdict]:
        return [await judge.compare(*pair)]

    works = [
        JudgingItem(
            key=f"{pair[0].key}#{digest_of_item([judged_to_json(one) for one in pair])}",
            about=about_pair(*pair),
            judge=partial(compare, pair),
        )
        for pair in pairs
    ]
    return await run_works("pairs", works, folder, config or {}, at_once, progress)


async def judge_scenes(
    judge: SceneJudging,
    scenes: Sequence[JudgedScene],
    *,
    folder: Path | None = None,
    config: Mapping[str, Any] | None = None,
    at_once: int = AT_ONCE,
    progress: Progress = lambda _done, _total: None,
) -> list[Verdict]:
    """Judge scenes; see `judge_replies`.

    Returns:
        The verdicts by scene, then by measure.

    Raises:
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: a model cannot be loaded, or fails repeatedly; finished items are kept.
    """
    works = [
        JudgingItem(
            key=f"{scene.key}#{digest_of_item(about)}",
            about=about,
            judge=partial(judge.judge, scene),
        )
        for scene, about in ((scene, about_scene(scene)) for scene in scenes)
    ]
    return await run_works("scenes", works, folder, config or {}, at_once, progress)
