"""Published judges, whose values are in a file of human labels."""

from collections.abc import Sequence

from rolellm_agents.judging.checking import JudgeCheck, MeasureCheck
from rolellm_agents.judging.human_labels import HumanLabel
from rolellm_agents.judging.label_agreement import agreements


def published_judges(labels: Sequence[HumanLabel]) -> list[JudgeCheck]:
    """Check the judges whose values are in the labels, in order of first occurrence."""
    names = dict.fromkeys(name for label in labels for name in label.by_judge)
    return [_published(name, [one for one in labels if name in one.by_judge]) for name in names]


def _published(name: str, labels: Sequence[HumanLabel]) -> JudgeCheck:
    found = agreements(labels, {one.key: one.by_judge[name] for one in labels})
    return JudgeCheck(
        judge="published", model=name, measures=(MeasureCheck(measure="score", labels=found),)
    )
