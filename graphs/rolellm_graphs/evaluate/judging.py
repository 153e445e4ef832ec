"""Judges of an evaluation's replies, single or paired with the first system's; each judge is a run."""

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
"""Subfolder of an evaluation's run that contains the judges' runs by name."""


@dataclass(frozen=True)
class NamedJudge:
    """A judge and its name in the run."""

    name: str
    judge: ReplyJudge | PairJudge
    config: Mapping[str, Any]
    """What its verdicts depend on besides the replies, from `judge_config`."""


@dataclass(frozen=True)
class JudgeOutcome:
    """The result of one judge."""

    scored: Sequence[ScoredReply]
    """The replies with the judge's verdicts added."""
    failure: str = ""
    """Why the judge stopped early; empty when it finished."""


async def judge_scored(
    named: NamedJudge,
    scored: Sequence[ScoredReply],
    first: System,
    folder: Path,
    *,
    at_once: int,
    callbacks: RunCallbacks,
) -> JudgeOutcome:
    """Judge the replies that a judge has not judged yet.

    A judge of pairs compares each system's reply with the first system's reply to the same question.

    The other systems are compared with `first`.

    Raises:
        StorageError: the folder cannot be written, or contains a run of another judge of this name.
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
    return JudgeOutcome([_with_verdicts(one, named.name, by_reply) for one in scored], failure)


async def _verdicts(
    named: NamedJudge,
    scored: Sequence[ScoredReply],
    first: System,
    folder: Path,
    at_once: int,
    callbacks: RunCallbacks,
) -> list[Verdict]:
    judge = named.judge
    # A judge that supports both judges single replies.
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
    """Each reply once, by question, so that consecutive prompts share the persona's description."""
    different: dict[str, ScoredReply] = {}
    for one in scored:
        different.setdefault(one.key, one)
    return sorted(different.values(), key=lambda one: one.question)


def _judged(one: ScoredReply) -> Judged:
    sample = one.answered.sample
    return Judged(
        key=one.key,
        persona=one.answered.persona,
        turns=(ConversationTurn("user", sample.question),),
        reply=one.answered.reply,
        references=sample.references,
    )


def _with_verdicts(one: ScoredReply, judge: str, by_reply: Mapping[str, Sequence[Verdict]]) -> ScoredReply:
    if one.key not in by_reply:
        return one
    return replace(one, verdicts={**one.verdicts, judge: by_reply[one.key]})
