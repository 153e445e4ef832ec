"""Judges in a benchmark: each reply by itself, or beside the first system's; kept as runs of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rolellm_agents.errors import ModelError
from rolellm_agents.evaluation import ScoredReply, System
from rolellm_agents.judging import ConversationTurn, Judged, PairJudge, ReplyJudge, Verdict
from rolellm_agents.judging.recorded import read_verdicts
from rolellm_graphs.judge.graph import compare_replies, judge_replies
from rolellm_graphs.judge.judges import judges_replies
from rolellm_graphs.runs.items import RunCallbacks

FOLDER: Final = "judges"
"""In a run's folder; below it lies a run of each judge, by its name."""


@dataclass(frozen=True)
class NamedJudge:
    """A judge, and what the run calls it."""

    name: str
    judge: ReplyJudge | PairJudge
    config: Mapping[str, Any]
    """What its verdicts depend on beside the replies, as `judge_config` tells it."""


@dataclass(frozen=True)
class Judging:
    """What a judge came to."""

    scored: Sequence[ScoredReply]
    """The replies, with its verdicts beside those of others."""
    failure: str = ""
    """Why it could not go on; empty when it is through."""


async def judged_by(
    named: NamedJudge,
    scored: Sequence[ScoredReply],
    first: System,
    folder: Path,
    *,
    at_once: int,
    callbacks: RunCallbacks,
) -> Judging:
    """Have a judge judge all replies, as far as it has not yet.

    One that judges pairs lays each system's reply beside the first system's to the same question.

    Args:
        named: who judges.
        scored: all replies.
        first: what others are compared with.
        folder: of the benchmark's run.
        at_once: concurrency limit.
        callbacks: report progress and notices.

    Raises:
        StorageError: the folder cannot be written, or another judge of this name was at work there.
    """
    own, failure = folder / FOLDER / named.name, ""
    try:
        verdicts = await _verdicts(named, scored, first, own, at_once, callbacks)
    except ModelError as error:
        failure = str(error)
        verdicts = read_verdicts(own).verdicts
    by_reply: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_reply.setdefault(verdict.subject, []).append(verdict)
    return Judging([_with_verdicts(one, named.name, by_reply) for one in scored], failure)


async def _verdicts(
    named: NamedJudge,
    scored: Sequence[ScoredReply],
    first: System,
    folder: Path,
    at_once: int,
    callbacks: RunCallbacks,
) -> list[Verdict]:
    judge = named.judge
    # A judge that can do both judges each reply by itself.
    if judges_replies(judge):
        return await judge_replies(
            [judge],
            [_judged(one) for one in _once(scored)],
            folder=folder,
            config=named.config,
            at_once=at_once,
            progress=callbacks.progress,
        )
    return await compare_replies(
        judge,
        [(_judged(one), _judged(other)) for one, other in _pairs(scored, first)],
        folder=folder,
        config={**named.config, "compared_with": list(first)},
        at_once=at_once,
        progress=callbacks.progress,
    )


def _pairs(scored: Sequence[ScoredReply], first: System) -> list[tuple[ScoredReply, ScoredReply]]:
    theirs = {one.question: one for one in scored if one.system == first}
    return [
        (one, theirs[one.question])
        for one in _once(scored)
        if one.system != first and one.question in theirs
    ]


def _once(scored: Sequence[ScoredReply]) -> list[ScoredReply]:
    """Each reply once, question by question, so that what a judge is told of a persona stays the same."""
    different: dict[str, ScoredReply] = {}
    for one in scored:
        different.setdefault(one.key, one)
    return sorted(different.values(), key=lambda one: one.question)


def _judged(one: ScoredReply) -> Judged:
    sample = one.said.sample
    return Judged(
        key=one.key,
        persona=one.said.persona,
        turns=(ConversationTurn("user", sample.question),),
        reply=one.said.reply,
        references=sample.references,
    )


def _with_verdicts(one: ScoredReply, judge: str, by_reply: Mapping[str, Sequence[Verdict]]) -> ScoredReply:
    if one.key not in by_reply:
        return one
    return replace(one, verdicts={**one.verdicts, judge: by_reply[one.key]})
