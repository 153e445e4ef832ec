"""What people said of replies: a score for one, or which of two is better, in a JSONL file."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StrictFloat, StrictInt, model_validator

from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.json_rows import JsonRow, read_rows
from rolellm_agents.persona import Line

Preferred = Literal["reply", "other", "tie"]
_Score = Annotated[StrictInt | StrictFloat, Field(ge=-1e9, le=1e9)]
_PREFERENCE: Final[Mapping[Preferred, float]] = {"reply": 1.0, "tie": 0.5, "other": 0.0}


@dataclass(frozen=True, kw_only=True)
class HumanLabel:
    """What people said of a reply, by itself or beside another one."""

    key: str
    """Unique within the file."""
    persona: str
    """A persona's id or name."""
    question: str
    reply: str
    other: str | None
    """The reply it was compared with."""
    by_person: Mapping[str, float]
    """A score for the reply; beside another one 1 where it is better, 0 where not, 0.5 for a tie."""

    @property
    def value(self) -> float:
        """The mean over the people."""
        return math.fsum(self.by_person.values()) / len(self.by_person)


class _LabelRow(JsonRow):
    persona: Line
    question: Line
    reply: Line
    other: Line | None = None
    score: _Score | None = None
    scores: dict[str, _Score] = Field(default_factory=dict)
    preferred: Preferred | dict[str, Preferred] | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_its_parts(cls, row: dict[str, Any]) -> dict[str, Any]:
        said = [key for key in ("score", "scores", "preferred") if row.get(key) not in (None, {})]
        if len(said) != 1:
            raise ValueError("a row has one of score, scores and preferred")
        if ("preferred" in said) != ("other" in row):
            raise ValueError("preferred goes with an other reply, and score and scores without one")
        return row

    @property
    def by_person(self) -> dict[str, float]:
        """With one person who has no name."""
        if self.score is not None:
            return {"": float(self.score)}
        if self.scores:
            return {name: float(score) for name, score in self.scores.items()}
        preferred = self.preferred if isinstance(self.preferred, dict) else {"": self.preferred or "tie"}
        return {name: _PREFERENCE[one] for name, one in preferred.items()}


def read_labels(file: Path) -> list[HumanLabel]:
    """Read what people said.

    A row has `persona`, `question`, `reply`, and `score`, or `scores` with one for each person's name; or
    an `other` reply and `preferred`: `reply`, `other` or `tie`, or these by person's name.

    Raises:
        JudgingError: the file cannot be read, a line is damaged, or there is none.
    """
    labels = [
        HumanLabel(
            key=f"label/{number}",
            persona=row.persona,
            question=row.question,
            reply=row.reply,
            other=row.other,
            by_person=row.by_person,
        )
        for number, row in read_rows(file, _LabelRow)
    ]
    if not labels:
        raise JudgingError(f"{file} holds no labels; name a JSONL file with one in each line.")
    return labels
