"""Statistics of a data set as in the paper (arXiv 2310.00746, Table 1): by language and kind, with lengths.

A sample is a question to a role with all its answers. The number of general instructions is that of
distinct questions; each role-specific sample is its own instruction. RoleGPT's baselines are counted
separately.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rolellm_agents.datasets.keys import digest, question_key, role_key
from rolellm_agents.datasets.sample import Kind, Part, Sample
from rolellm_agents.datasets.writing import clean
from rolellm_agents.metrics.words import word_count
from rolellm_agents.text.language import Language

_SHARES: Final = {"median": 0.5, "p95": 0.95}


@dataclass(frozen=True)
class Lengths:
    """Lengths of texts in words; in Chinese, in characters."""

    counted: Sequence[int]
    """In ascending order."""

    @property
    def mean(self) -> float:
        """The mean length; 0 without texts."""
        return sum(self.counted) / len(self.counted) if self.counted else 0.0

    def at(self, share: float) -> int:
        """The quantile of the lengths at `share`, from 0 to 1; 0 without texts."""
        return (
            self.counted[min(len(self.counted) - 1, int(share * len(self.counted)))] if self.counted else 0
        )

    def summary(self) -> dict[str, float]:
        """Mean, median, 95th percentile and maximum."""
        shares = {name: self.at(share) for name, share in _SHARES.items()}
        return {"mean": round(self.mean, 2), **shares, "longest": self.at(1.0)}


@dataclass(frozen=True)
class Group:
    """Statistics of the samples of one language and kind."""

    language: Language
    kind: Kind
    roles: int
    samples: int
    instructions: int
    answers: int
    parts: dict[str, int]
    """Rows by part: `train`, `test` and `rolegpt_baseline`."""
    types: dict[str, int]
    """Answers by type."""
    instruction_lengths: Lengths
    answer_lengths: Lengths

    def as_json(self) -> dict[str, Any]:
        """The statistics as JSON values."""
        return {
            "language": self.language,
            "kind": self.kind,
            "roles": self.roles,
            "samples": self.samples,
            "instructions": self.instructions,
            "answers": self.answers,
            "parts": self.parts,
            "types": self.types,
            "instruction_words": self.instruction_lengths.summary(),
            "answer_words": self.answer_lengths.summary(),
        }


def count_samples(samples: Iterable[tuple[Part | None, Sample]]) -> list[Group]:
    """Count samples by language and kind; the memory grows only with the number of distinct questions."""
    tallies: dict[tuple[Language, Kind], _Tally] = {}
    for part, sample in samples:
        tallies.setdefault((sample.language, sample.kind), _Tally()).add(part, sample)
    return [tally.group(*key) for key, tally in sorted(tallies.items())]


@dataclass
class _Tally:
    rows: int = 0
    roles: set[str] = field(default_factory=set)
    asked: set[bytes] = field(default_factory=set)
    parts: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    instructions: "array[int]" = field(default_factory=lambda: array("l"))
    answers: "array[int]" = field(default_factory=lambda: array("l"))

    def add(self, part: Part | None, sample: Sample) -> None:
        if part:
            self.parts[part] += 1
        if part == "rolegpt_baseline":
            return
        self.rows += 1
        self.roles.add(role_key(sample.role))
        self.asked.add(digest(question_key(sample.question)))
        self.types.update(clean(sample).types)
        self.instructions.append(word_count(sample.question, sample.language))
        self.answers.extend(word_count(text, sample.language) for text in sample.references)

    def group(self, language: Language, kind: Kind) -> Group:
        return Group(
            language,
            kind,
            len(self.roles),
            self.rows,
            len(self.asked) if kind == "general" else self.rows,
            len(self.answers),
            dict(self.parts),
            dict(self.types),
            Lengths(sorted(self.instructions)),
            Lengths(sorted(self.answers)),
        )
