"""Find the test questions that are known from training: equal and nearly equal questions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rolellm_agents.datasets.keys import question_key, role_key
from rolellm_agents.datasets.near_duplicates import near_duplicates
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.text import one_line

_SHOWN = 80


def training_overlap(asked: Sequence[Sample], training: Sequence[Sample]) -> list[str]:
    """Why each question is known from training; empty for new questions.

    A question is known when the training rows of any role contain it or a near duplicate
    (`rolellm_agents.datasets.near_duplicates`).

    The training rows are of both kinds.
    """
    known: dict[str, list[Sample]] = defaultdict(list)
    for sample in training:
        known[question_key(sample.question)].append(sample)
    near = _nearest({question_key(sample.question) for sample in asked}, known)
    return [_why(sample, known, near) for sample in asked]


def _why(
    sample: Sample, known: Mapping[str, Sequence[Sample]], near: Mapping[str, tuple[float, str]]
) -> str:
    question = question_key(sample.question)
    if same := known.get(question):
        return _asked_before(sample, same)
    if question in near:
        likeness, other = near[question]
        return f"{likeness:.0%} like “{one_line(other, _SHOWN)}” in training"
    return ""


def _asked_before(sample: Sample, known: Sequence[Sample]) -> str:
    own = [other for other in known if role_key(other.role) == role_key(sample.role)]
    if not own:
        return f"asked of {known[0].role} in training"
    answers = {answer.strip() for other in own for answer in other.references}
    answered = answers.intersection(answer.strip() for answer in sample.references)
    return f"asked of the same role in training{', with the same answer' if answered else ''}"


def _nearest(questions: set[str], known: Mapping[str, object]) -> dict[str, tuple[float, str]]:
    """For each question with a near duplicate in training, the similarity and the duplicate."""
    texts = sorted(questions.union(known))
    found: dict[str, tuple[float, str]] = {}
    for first, second, likeness in near_duplicates(texts):
        for one, other in ((texts[first], texts[second]), (texts[second], texts[first])):
            if one in questions and other in known and likeness > found.get(one, (0.0, ""))[0]:
                found[one] = (likeness, other)
    return found
