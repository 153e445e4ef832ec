"""Measures a judge's reliability on planted faults and on replies with human labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypedDict

from typing_extensions import Unpack

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.judging.checking import (
    Agreement,
    FaultOutcome,
    Rate,
    agreement_on_preferences,
    agreement_on_scores,
    detections,
    length_correlation,
    preference,
    unscored,
)
from rolellm_agents.judging.faults import Fault
from rolellm_agents.judging.human_labels import HumanLabel
from rolellm_agents.judging.judged import ConversationTurn, Judged, PairJudge, ReplyJudge
from rolellm_agents.judging.position import PositionBias, position_bias
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.metrics import word_count
from rolellm_agents.metrics.correlation import Correlated
from rolellm_agents.persona import load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_graphs.judge.graph import Pair, Progress, compare_replies, judge_replies
from rolellm_graphs.judge.run import digest_of_item

_OTHER: Final = "other"
"""Suffix of the key of a pair's second reply."""


class Running(TypedDict, total=False):
    """The options of a run."""

    folder: Path | None
    """The run's folder; a stopped run resumes. None records nothing."""
    config: Mapping[str, Any]
    """The settings that the verdicts depend on, such as model and prompts."""
    at_once: int
    """Concurrency limit."""
    progress: Progress
    """Called with the number of finished items and of all items."""


@dataclass(frozen=True, kw_only=True)
class MeasureCheck:
    """The reliability of one measure of a judge."""

    measure: str
    detected: Mapping[str, Rate]
    """How often the clean reply scored higher, by kind of fault."""
    length: Correlated | None
    """Spearman's correlation of values with word counts over clean replies; None for a judge of pairs."""
    orders: PositionBias | None
    """The position bias; None for a judge of single replies."""
    labels: tuple[Agreement, ...]
    unscored: Mapping[str, int]
    """The number of verdicts without a value, by status."""


@dataclass(frozen=True, kw_only=True)
class _Material:
    """The replies to judge."""

    faults: Sequence[Fault]
    labels: Sequence[HumanLabel]
    clean: Mapping[str, Judged]
    """Clean replies by the fault's key, like `faulty`."""
    faulty: Mapping[str, Judged]
    labelled: Mapping[str, Judged]
    """Labelled replies by the label's key; the second reply of a pair has the suffix `/other`."""


async def check_reply_judge(
    judge: ReplyJudge,
    faults: Sequence[Fault],
    labels: Sequence[HumanLabel] = (),
    **running: Unpack[Running],
) -> list[MeasureCheck]:
    """Judge every reply once, and compare the verdicts with faults and labels.

    Of two replies the one with the higher value counts as preferred.

    Returns:
        One check for each measure.

    Raises:
        PersonaError: a persona does not exist.
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: a model cannot be loaded, or fails repeatedly; finished items are kept.
    """
    material = _material(faults, labels)
    everything = (*material.clean.values(), *material.faulty.values(), *material.labelled.values())
    items = sorted({one.key: one for one in everything}.values(), key=lambda one: one.persona.id)
    verdicts = await judge_replies([judge], items, **running)
    return [
        _of_replies(material, measure, [one for one in verdicts if one.measure == measure])
        for measure in judge.measures
    ]


async def check_pair_judge(
    judge: PairJudge, faults: Sequence[Fault], labels: Sequence[HumanLabel] = (), **running: Unpack[Running]
) -> list[MeasureCheck]:
    """Compare every pair in both orders, and compare the verdicts with faults and labels.

    Human scores of single replies are ignored.

    Returns:
        One check, for the judge's measure.

    Raises:
        PersonaError: a persona does not exist.
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: a model cannot be loaded, or fails repeatedly; finished items are kept.
    """
    material = _material(faults, labels)
    pairs = _pairs(material)
    verdicts = await compare_replies(judge, [*pairs.values()], **running)
    return [_of_pairs(material, judge.measure, dict(zip(pairs, verdicts, strict=True)))]


def _material(faults: Sequence[Fault], labels: Sequence[HumanLabel]) -> _Material:
    find = cache(lambda name: with_macros(load_persona(name), DEFAULT_USER))

    def judged(key: str, persona: str, question: str, reply: str) -> Judged:
        return Judged(
            key=key, persona=find(persona), turns=(ConversationTurn("user", question),), reply=reply
        )

    def labelled(key: str, label: HumanLabel, reply: str) -> Judged:
        persona = label.described or find(label.persona)
        return Judged(key=key, persona=persona, turns=label.turns, reply=reply)

    return _Material(
        faults=faults,
        labels=labels,
        # A clean reply that occurs in several faults is judged once.
        clean={
            one.key: judged(
                f"clean/{one.persona}/{digest_of_item([one.question, one.clean])}",
                one.persona,
                one.question,
                one.clean,
            )
            for one in faults
        },
        faulty={one.key: judged(one.key, one.persona, one.question, one.faulty) for one in faults},
        labelled={
            key: labelled(key, one, reply)
            for one in labels
            for key, reply in ((one.key, one.reply), (f"{one.key}/{_OTHER}", one.other))
            if reply is not None
        },
    )


def _pairs(material: _Material) -> dict[str, Pair]:
    """The pairs by the fault's or the label's key."""
    faults = {one.key: (material.clean[one.key], material.faulty[one.key]) for one in material.faults}
    labels = {
        one.key: (material.labelled[one.key], material.labelled[f"{one.key}/{_OTHER}"])
        for one in material.labels
        if one.other is not None
    }
    return dict(sorted({**faults, **labels}.items(), key=lambda item: item[1][0].persona.id))


def _of_replies(material: _Material, measure: str, verdicts: Sequence[Verdict]) -> MeasureCheck:
    values = {one.subject: one.value for one in verdicts}
    outcomes = [
        FaultOutcome(
            one.kind,
            one.persona,
            preference(values[material.clean[one.key].key], values[material.faulty[one.key].key]),
        )
        for one in material.faults
    ]
    alone = [one for one in material.labels if one.other is None]
    beside = [one for one in material.labels if one.other is not None]

    def prefer(labels: Sequence[HumanLabel]) -> list[float | None]:
        return [preference(values[one.key], values[f"{one.key}/{_OTHER}"]) for one in labels]

    return MeasureCheck(
        measure=measure,
        detected=detections(outcomes),
        length=_length(material, values),
        orders=None,
        labels=(
            *(
                agreement_on_scores(labels, [values[one.key] for one in labels])
                for labels in _by_aspect(alone)
            ),
            *(agreement_on_preferences(labels, prefer(labels)) for labels in _by_aspect(beside)),
        ),
        unscored=unscored(one.status for one in verdicts),
    )


def _of_pairs(material: _Material, measure: str, verdicts: Mapping[str, Verdict]) -> MeasureCheck:
    outcomes = [FaultOutcome(one.kind, one.persona, verdicts[one.key].value) for one in material.faults]
    beside = [one for one in material.labels if one.other is not None]
    return MeasureCheck(
        measure=measure,
        detected=detections(outcomes),
        length=None,
        orders=position_bias(verdicts.values()),
        labels=tuple(
            agreement_on_preferences(labels, [verdicts[one.key].value for one in labels])
            for labels in _by_aspect(beside)
        ),
        unscored=unscored(one.status for one in verdicts.values()),
    )


def _by_aspect(labels: Sequence[HumanLabel]) -> list[list[HumanLabel]]:
    aspects = sorted({one.aspect for one in labels})
    return [[one for one in labels if one.aspect == aspect] for aspect in aspects]


def _length(material: _Material, values: Mapping[str, float | None]) -> Correlated | None:
    clean = {one.key: one for one in material.clean.values()}
    known = [
        (value, word_count(one.reply, one.persona.language), one.persona.id)
        for key, one in clean.items()
        if (value := values[key]) is not None
    ]
    return length_correlation(*zip(*known, strict=True)) if known else None
