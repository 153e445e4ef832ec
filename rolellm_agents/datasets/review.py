"""Reviews of samples by people, who accept, edit or reject each answer, in a JSONL file beside the data.

A review belongs to the text of a question and an answer, so it stays valid when rows are added or moved.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from rolellm_agents.datasets.reading import describe_error, fields_of, numbered_lines
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.datasets.writing import json_line
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.files.appending import append_durably, mend_last_line
from rolellm_agents.files.one_writer import lock_beside, one_writer
from rolellm_agents.reply_checks.labels import MARKS

ReviewVerdict = Literal["accept", "edit", "reject", "withdrawn"]
"""What a reviewer decided; `withdrawn` takes the earlier review back."""
REVIEWS: Final = "reviews.jsonl"
"""The file of reviews in a run's folder."""
REVIEWED: Final = "reviewed"
"""The field of a written row with its reviewers."""
_LABELS: Final = "labels"
_SECONDS_TO_WAIT: Final = 10.0
"""For other reviewers, who also append."""


@dataclass(frozen=True, kw_only=True)
class Review:
    """A reviewer's decision on one answer."""

    answer: str
    """The key of the answer, as `answer_key` computes it."""
    verdict: ReviewVerdict
    text: str = ""
    """The new answer, if it was edited."""
    reviewer: str


@dataclass(frozen=True, kw_only=True)
class ReviewedAnswer:
    """An answer to review."""

    key: str
    sample: Sample
    number: int
    """The answer's index among the sample's references."""

    @property
    def text(self) -> str:
        """The answer."""
        return self.sample.references[self.number].strip()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the row."""
        labels = self.sample.extra.get(_LABELS)
        return tuple(map(str, labels)) if isinstance(labels, list) else ()

    @property
    def checks(self) -> Mapping[str, Any]:
        """The results of `rolellm data verify`; empty if there are none."""
        checks = self.sample.extra.get("checks")
        own = checks[self.number] if isinstance(checks, list) and self.number < len(checks) else None
        return own if isinstance(own, dict) else {}


@dataclass
class ReviewCounts:
    """The number of answers by their review."""

    by_verdict: Counter[str] = field(default_factory=Counter)
    unreviewed: int = 0


def answer_key(sample: Sample, number: int) -> str:
    """The key of an answer: a digest of the role, the question and the answer."""
    parts = (sample.role, sample.question.strip(), sample.references[number].strip())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def answers_to_review(samples: Iterable[Sample]) -> list[ReviewedAnswer]:
    """The answers of samples, each once, in order."""
    found: dict[str, ReviewedAnswer] = {}
    for sample in samples:
        for number in range(len(sample.references)):
            key = answer_key(sample, number)
            found.setdefault(key, ReviewedAnswer(key=key, sample=sample, number=number))
    return [*found.values()]


def reviews_file(source: Path) -> Path:
    """The default file of reviews: inside a folder, or beside a file."""
    return source / REVIEWS if source.is_dir() else source.with_name(f"{source.stem}.{REVIEWS}")


def read_reviews(file: Path) -> dict[str, Review]:
    """The reviews in force by answer: the last one of each answer, unless it was withdrawn.

    Raises:
        RoleBenchError: the file cannot be read, or a line is no review.
    """
    if not file.exists():
        return {}
    latest: dict[str, Review] = {}
    for number, line in numbered_lines(file):
        try:
            review = _review(fields_of(line))
        except (ValueError, RecursionError) as error:
            what = describe_error(error)
            raise RoleBenchError(
                f"{file}, line {number}: {what}; correct the line or remove it."
            ) from error
        latest.pop(review.answer, None)  # so that the newest review is the last one
        latest[review.answer] = review
    return {key: one for key, one in latest.items() if one.verdict != "withdrawn"}


def append_review(file: Path, review: Review) -> None:
    """Append a review; it is on disk when this returns.

    Raises:
        RoleBenchError: the file cannot be written.
    """
    row = {"answer": review.answer, "verdict": review.verdict, "reviewer": review.reviewer}
    try:
        with one_writer(lock_beside(file), file, RoleBenchError, "try again", seconds=_SECONDS_TO_WAIT):
            mend_last_line(file)
            append_durably(file, json_line({**row, "text": review.text} if review.text else row).encode())
    except OSError as error:
        raise RoleBenchError(f"{file} cannot be written: {error.strerror}.") from error


def apply_reviews(
    samples: Iterable[Sample], reviews: Mapping[str, Review], counts: ReviewCounts, *, reviewed_only: bool
) -> Iterator[Sample]:
    """Yield samples with their accepted and edited answers; those without an answer are left out.

    A reviewed row has no labels of faults any more, since a person decided.

    Args:
        samples: the samples as they were.
        reviews: the reviews by answer.
        counts: counts each answer.
        reviewed_only: whether to leave out answers without a review.
    """
    for sample in samples:
        kept: list[str] = []
        reviewers: list[str] = []
        for number, text in enumerate(sample.references):
            review = reviews.get(answer_key(sample, number))
            if review is None:
                counts.unreviewed += 1
                kept += [] if reviewed_only else [text]
                continue
            counts.by_verdict[review.verdict] += 1
            reviewers.append(review.reviewer)
            if review.verdict != "reject":
                kept.append(review.text or text)
        if kept:
            yield _with_answers(sample, kept, reviewers)


def _with_answers(sample: Sample, answers: list[str], reviewers: list[str]) -> Sample:
    if not reviewers:
        return sample
    # Results of checks belong to the answers as they were.
    extra = {key: value for key, value in sample.extra.items() if key != "checks"}
    labels = extra.get(_LABELS)
    marks = [one for one in labels if one in MARKS] if isinstance(labels, list) else []
    return replace(
        sample,
        references=tuple(answers),
        types=sample.types[:1],
        extra={**extra, _LABELS: marks, REVIEWED: list(dict.fromkeys(reviewers))},
    )


def _review(fields: Mapping[str, Any]) -> Review:
    answer, verdict, reviewer = (fields.get(name) for name in ("answer", "verdict", "reviewer"))
    text = fields.get("text", "")
    if not all(isinstance(one, str) for one in (answer, reviewer, text)):
        raise ValueError("answer, reviewer and text must be texts")
    if verdict not in get_args(ReviewVerdict):
        raise ValueError(f"verdict must be one of {', '.join(get_args(ReviewVerdict))}")
    if (verdict == "edit") != bool(text):
        raise ValueError("an edited answer has a text, and no other review has one")
    known = cast("ReviewVerdict", verdict)
    return Review(answer=str(answer), verdict=known, text=str(text), reviewer=str(reviewer))
