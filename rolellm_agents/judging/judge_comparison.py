"""Judges side by side: which one agrees most with people on each aspect."""

from collections.abc import Sequence
from typing import NamedTuple

from rolellm_agents.judging.checking import JudgeCheck, MeasureCheck
from rolellm_agents.judging.label_agreement import Agreement


class JudgeAgreement(NamedTuple):
    """The agreement of one measure of a judge with people on one aspect."""

    judge: JudgeCheck
    measure: MeasureCheck
    agreement: Agreement

    @property
    def name(self) -> str:
        """The judge's name with its measure, such as `rubric voice`."""
        return measure_name(self.judge, self.measure)


def measure_name(judge: JudgeCheck, measure: MeasureCheck) -> str:
    """The name of a judge with its measure, such as `rubric voice`, if the judge has several measures."""
    return f"{judge.judge} {measure.measure}" if len(judge.measures) > 1 else judge.judge


def judge_agreements(judges: Sequence[JudgeCheck]) -> list[list[JudgeAgreement]]:
    """The agreements of all judges by what was labelled; in each group, the strongest come first."""
    found = [
        JudgeAgreement(judge, measure, one)
        for judge in judges
        for measure in judge.measures
        for one in measure.labels
    ]
    labelled = dict.fromkeys((one.agreement.what, one.agreement.aspect) for one in found)
    return [
        sorted((one for one in found if (one.agreement.what, one.agreement.aspect) == kind), key=_weakness)
        for kind in labelled
    ]


def _weakness(one: JudgeAgreement) -> tuple[bool, float]:
    above_chance = one.agreement.above_chance
    return above_chance is None, -(above_chance or 0.0)
