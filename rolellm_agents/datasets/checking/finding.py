"""The rules of a data set's check, and findings of rows that violate them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from rolellm_agents.text import one_line

Severity = Literal["leak", "schema", "quality"]
"""`leak`: the test occurs in training; `schema`: programs may fail on it; `quality`: everything else."""


class Rule(NamedTuple):
    """One rule of the check."""

    severity: Severity
    description: str
    """What the finding counts."""


RULES: Final[Mapping[str, Rule]] = {
    "question-in-train": Rule("leak", "test questions that are asked in training too"),
    "near-question-in-train": Rule("leak", "test questions with a near duplicate in training"),
    "paraphrase-in-train": Rule("leak", "test questions that training asks in other words"),
    "role-in-train": Rule("leak", "rows of roles that are in training too"),
    "unreadable-row": Rule("schema", "lines that are no sample"),
    "mixed-type": Rule("schema", "rows whose `type` has another form than in most rows"),
    "type-length": Rule("schema", "rows with different numbers of types and answers"),
    "white-space": Rule("quality", "rows with white space around the question or an answer"),
    "repeated-row": Rule("quality", "rows that repeat a question to the same role"),
    "near-question": Rule("quality", "rows with a near duplicate of a question to the same role"),
    "repeated-answer": Rule("quality", "rows that contain an answer twice"),
    "empty-answer": Rule("quality", "rows without an answer, or with an empty one"),
    "unfinished-answer": Rule("quality", "answers that end in the middle of a sentence"),
    "short-answer": Rule("quality", "answers of at most three words or characters, which show no style"),
    "long-answer": Rule("quality", "answers of more than 512 words or characters"),
    "fewer-answers": Rule("quality", "rows with fewer answers than most rows"),
    "ai-talk": Rule("quality", "answers that sound like an assistant"),
    "wrong-language": Rule("quality", "answers that are not in the role's language"),
    "template-leak": Rule("quality", "answers with marks of a prompt or a chat template"),
    "name-before-answer": Rule("quality", "answers that begin with the role's name, as in a script"),
    "role-in-question": Rule("quality", "questions that begin with the role's name"),
    "role-without-profile": Rule("quality", "roles without a profile or persona"),
    "role-spelling": Rule("quality", "roles whose name is spelled differently elsewhere"),
    "uneven-roles": Rule("quality", "roles with fewer test questions than most"),
    "test-without-baseline": Rule("quality", "test questions that RoleGPT's file does not answer"),
    "baseline-without-test": Rule("quality", "answers of RoleGPT to questions that are not in the test"),
    "copied-file": Rule("quality", "files that are a copy of another one"),
}

_SHOWN = 200
EXAMPLES: Final = 3


class Spot(NamedTuple):
    """One violation."""

    line: int | None
    """None for a violation without a line, for example of a role."""
    shown: str
    other: str = ""
    """The file and line that it repeats or contradicts, for example `train.jsonl:7`."""


@dataclass
class DatasetFinding:
    """All violations of one rule in one file."""

    rule: str
    file: str
    spots: list[Spot] = field(default_factory=list)

    @property
    def severity(self) -> Severity:
        """The rule's severity."""
        return RULES[self.rule].severity

    @property
    def description(self) -> str:
        """What the finding counts."""
        return RULES[self.rule].description

    @property
    def count(self) -> int:
        """Number of violations."""
        return len(self.spots)

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON values, with all violations."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "told": self.description,
            "file": self.file,
            "count": self.count,
            "spots": [spot._asdict() for spot in self.spots],
        }


class Findings:
    """Collects findings."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], DatasetFinding] = {}

    def add(self, rule: str, file: str, line: int | None, shown: str, other: str = "") -> None:
        """Add one violation."""
        finding = self._held.setdefault((rule, file), DatasetFinding(rule, file))
        finding.spots.append(Spot(line, one_line(shown, _SHOWN), other))

    def __iter__(self) -> Iterator[DatasetFinding]:
        """Findings in the order of `RULES`, then by file."""
        order = {rule: number for number, rule in enumerate(RULES)}
        return iter(sorted(self._held.values(), key=lambda found: (order[found.rule], found.file)))
