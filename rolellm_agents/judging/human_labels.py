"""Human labels of replies in a file: scores of one reply, or preferences between two."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StrictFloat, StrictInt, field_validator, model_validator

from rolellm_agents.benchmarks.characterbench import read_characterbench
from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.json_rows import JsonRow, read_rows, valid_row
from rolellm_agents.judging.judged import ConversationTurn
from rolellm_agents.judging.label_table import SUFFIXES, read_label_table
from rolellm_agents.persona import Line, Persona, id_of
from rolellm_agents.text.language import Language

Preferred = Literal["reply", "other", "tie"]
_Score = Annotated[StrictInt | StrictFloat, Field(ge=-1e9, le=1e9)]
_PREFERENCE: Final[Mapping[Preferred, float]] = {"reply": 1.0, "tie": 0.5, "other": 0.0}


@dataclass(frozen=True, kw_only=True)
class HumanLabel:
    """Human labels of one reply, or of a pair of replies."""

    key: str
    """Unique within the file."""
    persona: str
    """A persona's id or name; clusters of the statistics."""
    described: Persona | None = None
    """A character that the file describes; None for one of the library."""
    turns: tuple[ConversationTurn, ...]
    """The conversation; the reply answers the last turn."""
    reply: str
    other: str | None
    """The reply that it was compared with; None for scores."""
    by_person: Mapping[str, float]
    """By person, the score; in a pair 1 when the reply is better, 0 when the other is, 0.5 for a tie."""
    aspect: str = ""
    """What was labelled, such as `memory`; agreement is measured for each aspect by itself."""
    by_judge: Mapping[str, float] = field(default_factory=dict)
    """By judge, the values that the file has beside the people's, such as those of a published judge."""

    @property
    def value(self) -> float:
        """The mean over all people."""
        return math.fsum(self.by_person.values()) / len(self.by_person)


class _Described(JsonRow):
    name: Line
    description: Line
    language: Language = "en"

    @property
    def persona(self) -> Persona:
        return _described(self.name, self.description, self.language)


class _LabelRow(JsonRow):
    persona: Line | None = None
    character: _Described | None = None
    question: Line | None = None
    turns: tuple[Line, ...] = ()
    reply: Line
    aspect: str = Field(default="", max_length=60)
    other: Line | None = None
    score: _Score | None = None
    scores: dict[str, _Score] = Field(default_factory=dict)
    preferred: Preferred | dict[str, Preferred] | None = None
    judges: dict[str, _Score | Preferred] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _has_its_parts(cls, row: dict[str, Any]) -> dict[str, Any]:
        said = [key for key in ("score", "scores", "preferred") if row.get(key) not in (None, {})]
        if len(said) != 1:
            raise ValueError("a row must have exactly one of score, scores and preferred")
        if ("preferred" in said) != ("other" in row):
            raise ValueError("preferred requires other, and score and scores do not allow it")
        judged = row.get("judges")
        if isinstance(judged, dict) and any(
            isinstance(one, str) != ("other" in row) for one in judged.values()
        ):
            raise ValueError("judges hold reply, other or tie where a row has other, and numbers elsewhere")
        for one, other in (("persona", "character"), ("question", "turns")):
            if (one in row) == (other in row):
                raise ValueError(f"a row must have either {one} or {other}")
        return row

    @field_validator("turns")
    @classmethod
    def _ends_with_the_user(cls, turns: tuple[str, ...]) -> tuple[str, ...]:
        if len(turns) % 2 == 0:
            raise ValueError("turns must alternate between user and persona, and end with the user")
        return turns

    @property
    def conversation(self) -> tuple[ConversationTurn, ...]:
        """The turns with their speakers."""
        texts = self.turns if self.question is None else (self.question,)
        return tuple(
            ConversationTurn("persona" if place % 2 else "user", text) for place, text in enumerate(texts)
        )

    @property
    def by_person(self) -> dict[str, float]:
        """The labels by person; a single anonymous person has an empty name."""
        if self.score is not None:
            return {"": float(self.score)}
        if self.scores:
            return {name: float(score) for name, score in self.scores.items()}
        preferred = self.preferred if isinstance(self.preferred, dict) else {"": self.preferred or "tie"}
        return {name: _PREFERENCE[one] for name, one in preferred.items()}

    @property
    def by_judge(self) -> dict[str, float]:
        """The values of published judges, on the scale of the labels."""
        return {
            name: _PREFERENCE[one] if isinstance(one, str) else float(one)
            for name, one in self.judges.items()
        }


def read_labels(file: Path, language: Language = "en") -> list[HumanLabel]:
    """Read a file of human labels: JSONL, a table in CSV or TSV, or files of CharacterBench.

    A row has `persona` (an id or a name) or `character` (an object with `name`, `description` and
    `language`), `reply`, and `question` or `turns`: the texts of user and persona in turn, ending with the
    user's. It also has either `score`, or `scores` by person's name, or an `other` reply with `preferred`:
    `reply`, `other` or `tie`, or one of these by person's name. `aspect` says what was labelled, and
    `judges` holds the values of published judges by name. For the columns of a table see
    `read_label_table`. A folder or a `.json` file is read as CharacterBench, in this language.

    Raises:
        JudgingError: the file cannot be read, a line is damaged, or the file has no rows.
        BenchmarkError: a file of CharacterBench cannot be read.
    """
    if file.is_dir() or file.suffix.lower() == ".json":
        return characterbench_labels(file, language)
    labels = [
        HumanLabel(
            key=f"label/{number}",
            persona=row.character.name if row.character else row.persona or "",
            described=row.character.persona if row.character else None,
            turns=row.conversation,
            reply=row.reply,
            other=row.other,
            by_person=row.by_person,
            aspect=row.aspect,
            by_judge=row.by_judge,
        )
        for number, row in _rows(file)
    ]
    if not labels:
        raise JudgingError(f"{file} holds no labels; name a file with one in each row.")
    return labels


def _rows(file: Path) -> Iterator[tuple[int, _LabelRow]]:
    if file.suffix.lower() not in SUFFIXES:
        yield from read_rows(file, _LabelRow)
        return
    for number, fields in read_label_table(file):
        yield number, valid_row(file, number, fields, _LabelRow)


def some_of_each_aspect(labels: Sequence[HumanLabel], limit: int, seed: int) -> list[HumanLabel]:
    """Draw at most `limit` labels of each aspect at random, in their original order."""
    by_aspect: defaultdict[str, list[int]] = defaultdict(list)
    for place, label in enumerate(labels):
        by_aspect[label.aspect].append(place)
    drawn = Random(seed)  # noqa: S311 (a sample, no secret)
    places = [
        place
        for own in by_aspect.values()
        for place in (own if len(own) <= limit else drawn.sample(own, limit))
    ]
    return [labels[place] for place in sorted(places)]


def characterbench_labels(path: Path, language: Language) -> list[HumanLabel]:
    """The human scores of CharacterBench with those of its published judges; aspects are its dimensions.

    Raises:
        BenchmarkError: a file cannot be read.
    """
    return [
        HumanLabel(
            key=f"label/{number}",
            persona=one.name,
            described=_described(one.name, one.profile, one.language),
            turns=tuple(ConversationTurn(*turn) for turn in one.turns),
            reply=one.reply,
            other=None,
            by_person={"": one.score},
            aspect=one.dimension,
            by_judge=one.judges,
        )
        for number, one in enumerate(read_characterbench(path, language), 1)
    ]


def _described(name: str, description: str, language: Language) -> Persona:
    return Persona(id=id_of(name) or "described", name=name, description=description, language=language)
