"""The results of interviews, as data."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from rolellm_agents.evaluation.drift.by_turn import MeasuredConversation, slopes_of, turn_figures
from rolellm_agents.evaluation.drift.marks import AnsweredQuestion, marks_of
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.persona import Persona

FORMAT: Final = 1
"""Format version of `results.json`."""


@dataclass(frozen=True, kw_only=True)
class DriftConversation:
    """One interview with a persona that a model plays."""

    key: str
    model: str
    strategy: str
    persona: Persona
    nth: int
    """Number among the interviews with this persona, from 0."""
    answers: tuple[AnsweredQuestion, ...]
    verdicts: Mapping[int, Sequence[Verdict]] = field(default_factory=dict)
    """Verdicts by turn, from 1."""

    @classmethod
    def of(cls, key: str, persona: Persona, item: Mapping[str, Any]) -> "DriftConversation":
        """Read an interview from a run's item."""
        answers = tuple(
            AnsweredQuestion(
                id=turn["id"],
                question=turn["text"],
                reply=turn["reply"],
                rotates=turn["rotates"],
                expects=tuple(turn["expects"]),
                repeats=turn["repeats"],
            )
            for turn in item["turns"]
        )
        return cls(
            key=key,
            model=item["model"],
            strategy=item["strategy"],
            persona=persona,
            nth=item["nth"],
            answers=answers,
        )

    def turn_key(self, turn: int) -> str:
        """The key of an answer in verdicts; turns count from 1."""
        return f"{self.key}/{turn}"

    def with_verdicts(self, verdicts: Iterable[Verdict]) -> "DriftConversation":
        """A copy with a judge's verdicts; verdicts on other interviews are ignored."""
        turns = {self.turn_key(turn): turn for turn in range(1, len(self.answers) + 1)}
        own: dict[int, list[Verdict]] = {}
        for one in verdicts:
            if one.subject in turns:
                own.setdefault(turns[one.subject], []).append(one)
        answers = tuple(
            replace(
                answer,
                verdicts={one.measure: one.value for one in own.get(turn, ()) if one.value is not None},
            )
            for turn, answer in enumerate(self.answers, 1)
        )
        return replace(self, answers=answers, verdicts=own)

    @cached_property
    def marks(self) -> list[dict[str, float]]:
        """The marks of each turn, including verdicts."""
        return marks_of(self.answers, self.persona)

    @property
    def measured(self) -> MeasuredConversation:
        """The marks without the text."""
        rotates = [answer.rotates for answer in self.answers]
        return MeasuredConversation(self.persona.id, self.nth, self.marks, rotates)


@dataclass(frozen=True, kw_only=True)
class DriftResult:
    """The results of a run."""

    config: Mapping[str, Any]
    complete: bool
    failed: int
    """Number of interviews that failed and were not stored."""
    first_failure: str
    interviews: Sequence[DriftConversation]
    notes: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values; each system has its means by turn and its slopes."""
        systems = dict.fromkeys((one.model, one.strategy) for one in self.interviews)
        return {
            "benchmark": "interviews",
            "format": FORMAT,
            "complete": self.complete,
            "failed": self.failed,
            "systems": [self._system(*system) for system in systems],
            "notes": list(self.notes),
            "config": dict(self.config),
        }

    def _system(self, model: str, strategy: str) -> dict[str, Any]:
        own = [one for one in self.interviews if (one.model, one.strategy) == (model, strategy)]
        measured = [one.measured for one in own]
        unscored = Counter(
            verdict.status
            for one in own
            for verdicts in one.verdicts.values()
            for verdict in verdicts
            if verdict.value is None
        )
        return {
            "model": model,
            "strategy": strategy,
            "interviews": len(own),
            "personas": len({one.persona.id for one in own}),
            "turns": [one.to_json() for one in turn_figures(measured)],
            "slopes": [one.to_json() for one in slopes_of(measured)],
            "unscored": dict(sorted(unscored.items())),
        }


def scored_line(one: DriftConversation) -> dict[str, Any]:
    """Convert an interview with its marks and verdicts to a line of a JSONL file."""
    return {
        "key": one.key,
        "model": one.model,
        "strategy": one.strategy,
        "persona": one.persona.id,
        "name": one.persona.name,
        "nth": one.nth,
        "turns": [
            {
                "id": answer.id,
                "question": answer.question,
                "reply": answer.reply,
                "rotates": answer.rotates,
                "marks": {name: round(value, 6) for name, value in marks.items()},
                "verdicts": [
                    {
                        "measure": verdict.measure,
                        "value": verdict.value,
                        "status": verdict.status,
                        "reason": verdict.reason,
                    }
                    for verdict in one.verdicts.get(turn, ())
                ],
            }
            for turn, (answer, marks) in enumerate(zip(one.answers, one.marks, strict=True), 1)
        ],
    }
