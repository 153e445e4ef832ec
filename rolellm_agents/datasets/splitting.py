"""Split samples into training and test by RoleBench's two methods (arXiv 2310.00746, §4).

Instruction generalization tests known roles with new questions; role generalization tests new roles, whose
general instructions may occur in training. The split depends on the samples and the seed, not on the order
of the rows.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rolellm_agents.datasets.keys import digest, question_key, role_key
from rolellm_agents.datasets.near_duplicates import near_groups
from rolellm_agents.datasets.paraphrases import Paraphrases
from rolellm_agents.datasets.sample import Kind, Sample, Split
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text import did_you_mean, one_line
from rolellm_agents.text.language import Language


class Asker(NamedTuple):
    """A role and a kind of questions, whose rows share one quota."""

    language: Language
    kind: Kind
    role: str


@dataclass(frozen=True)
class InstructionSplit:
    """The questions of a test."""

    questions: Collection[str]
    """The keys of the questions."""
    split: Split = "instruction-generalization"

    def is_test(self, sample: Sample) -> bool:
        """Whether the sample belongs to the test."""
        return question_key(sample.question) in self.questions


@dataclass(frozen=True)
class RoleSplit:
    """The roles of a test."""

    roles: Collection[tuple[Language, str]]
    """The language and key of each role."""
    split: Split = "role-generalization"

    def is_test(self, sample: Sample) -> bool:
        """Whether the sample belongs to the test."""
        return (sample.language, role_key(sample.role)) in self.roles


def split_by_instructions(
    samples: Iterable[Sample], *, test_share: float, seed: int, paraphrases: Paraphrases | None = None
) -> InstructionSplit:
    """Choose test questions that have no equal or near duplicate in training, for any role.

    Near duplicates stay together (`near_groups`), and with `paraphrases` also questions that mean the same.
    The test has at most its share of each role's general and role-specific rows, and each role keeps rows
    for training.

    The samples may be in any order and are iterated once. `test_share` is that of each role's rows, between
    0 and 1.

    Raises:
        RoleBenchError: no question fits into the test.
    """
    rows: dict[str, Counter[Asker]] = {}
    for sample in samples:
        asked = rows.setdefault(question_key(sample.question), Counter())
        asked[Asker(sample.language, sample.kind, role_key(sample.role))] += 1
    questions = sorted(rows)
    also = paraphrases(questions) if paraphrases else ()
    groups = [[questions[place] for place in group] for group in near_groups(questions, also=also)]
    groups.sort(key=lambda group: _order_key(seed, min(group)))
    test = _fill(groups, rows, test_share)
    if not test:
        raise RoleBenchError(
            f"No question can be put into the test: {len(questions)} questions in {len(groups)} groups of "
            "near ones are too few for this share; use a larger share, or more samples."
        )
    return InstructionSplit(frozenset(test))


def split_by_roles(
    samples: Iterable[Sample], *, test_share: float, seed: int, hold_out: Sequence[str] = ()
) -> RoleSplit:
    """Choose test roles, the same share in each language.

    The samples may be in any order and are iterated once. `test_share` is that of the roles, between 0 and
    1; at least one role of a language with two. `hold_out` has names of test roles, instead of a random
    choice.

    Raises:
        RoleBenchError: a named role does not exist, or training or test would be empty.
    """
    names: dict[tuple[Language, str], str] = {}
    for sample in samples:
        role = sample.language, role_key(sample.role)
        names[role] = min(names.get(role, sample.role), sample.role)
    test = _named(names, hold_out) if hold_out else _sampled_roles(names, test_share, seed)
    if not test or len(test) == len(names):
        raise RoleBenchError(
            f"Of {len(names)} roles none can be held out so that others remain; name sources with more "
            "roles, or hold out fewer."
        )
    return RoleSplit(frozenset(test))


def _fill(
    groups: Iterable[Sequence[str]], rows: Mapping[str, Counter[Asker]], test_share: float
) -> set[str]:
    """Add groups in order, each if it fits into the quotas of all its askers; return their questions."""
    owned: Counter[Asker] = Counter()
    for asked in rows.values():
        owned.update(asked)
    left = {asker: min(round(test_share * number), number - 1) for asker, number in owned.items()}
    test: set[str] = set()
    for group in groups:
        needed: Counter[Asker] = Counter()
        for question in group:
            needed.update(rows[question])
        if all(left[asker] >= number for asker, number in needed.items()):
            test.update(group)
            for asker, number in needed.items():
                left[asker] -= number
    return test


def _sampled_roles(
    names: Collection[tuple[Language, str]], test_share: float, seed: int
) -> set[tuple[Language, str]]:
    test: set[tuple[Language, str]] = set()
    for language in sorted({language for language, _ in names}):
        own = sorted(
            (role for role in names if role[0] == language), key=lambda role: _order_key(seed, role[1])
        )
        if len(own) > 1:
            test.update(own[: min(max(1, round(test_share * len(own))), len(own) - 1)])
    return test


def _named(names: Mapping[tuple[Language, str], str], wanted: Iterable[str]) -> set[tuple[Language, str]]:
    test: set[tuple[Language, str]] = set()
    for name in wanted:
        found = {role for role in names if role[1] == role_key(name)}
        if not found:
            raise RoleBenchError(
                f"There is no role {one_line(name, 80)!r}{did_you_mean(name, names.values())} in the "
                "samples; “rolellm data stats” lists the roles."
            )
        test |= found
    return test


def _order_key(seed: int, text: str) -> bytes:
    """A sort key that depends only on the seed and the text."""
    return digest(str(seed), text)
