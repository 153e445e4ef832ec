"""Measures a judge's reliability on planted faults and on replies with human labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypedDict

from typing_extensions import Unpack

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.judging.checking import (
    FaultOutcome,
    MeasureCheck,
    detections,
    length_correlation,
    preference,
    unscored,
)
from rolellm_agents.judging.faults import Fault
from rolellm_agents.judging.human_labels import HumanLabel
from rolellm_agents.judging.judged import ConversationTurn, Judged, PairJudge, ReplyJudge
from rolellm_agents.judging.label_agreement import agreements
from rolellm_agents.judging.position import position_bias
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

    def labelled(label: HumanLabel, reply: str) -> Judged:
        """A reply that was labelled in several aspects has one key, so that it is judged once."""
        persona = label.described or find(label.persona)
        key = digest_of_item([persona.model_dump(mode="json"), label.turns, reply])
        return Judged(key=f"label/{key}", persona=persona, turns=label.turns, reply=reply)

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
            key: labelled(one, reply)
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
    return MeasureCheck(
        measure=measure,
        detected=detections(outcomes),
        length=_length(material, values),
        labels=agreements(
            material.labels, {one.key: _label_value(one, material, values) for one in material.labels}
        ),
        unscored=unscored(one.status for one in verdicts),
    )


def _label_value(
    label: HumanLabel, material: _Material, values: Mapping[str, float | None]
) -> float | None:
    """The value of a labelled reply, or which of two labelled replies has the higher value."""
    value = values[material.labelled[label.key].key]
    if label.other is None:
        return value
    return preference(value, values[material.labelled[f"{label.key}/{_OTHER}"].key])


def _of_pairs(material: _Material, measure: str, verdicts: Mapping[str, Verdict]) -> MeasureCheck:
    outcomes = [FaultOutcome(one.kind, one.persona, verdicts[one.key].value) for one in material.faults]
    beside = [one for one in material.labels if one.other is not None]
    return MeasureCheck(
        measure=measure,
        detected=detections(outcomes),
        orders=position_bias(verdicts.values()),
        labels=agreements(beside, {one.key: verdicts[one.key].value for one in beside}),
        unscored=unscored(one.status for one in verdicts.values()),
    )


def _length(material: _Material, values: Mapping[str, float | None]) -> Correlated | None:
    clean = {one.key: one for one in material.clean.values()}
    known = [
        (value, word_count(one.reply, one.persona.language), one.persona.id)
        for key, one in clean.items()
        if (value := values[key]) is not None
    ]
    return length_correlation(*zip(*known, strict=True)) if known else None
