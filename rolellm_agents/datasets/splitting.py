"""Divide samples into training and test so that the test holds only what is new: RoleBench's two splits.

Instruction generalization keeps the roles and asks them new questions; role generalization asks new roles,
who are asked general instructions that others were asked too (arXiv 2310.00746, §4). Which way a question
or a role goes depends on it and the seed alone, so that the order of the rows does not matter.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rolellm_agents.datasets.keys import digest, question_key, role_key
from rolellm_agents.datasets.near_duplicates import NEAR, near_groups
from rolellm_agents.datasets.sample import Kind, Sample, Split
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text import did_you_mean, one_line
from rolellm_agents.text.language import Language


class Asker(NamedTuple):
    """Whose test a question counts for: a role's, of one kind."""

    language: Language
    kind: Kind
    role: str


@dataclass(frozen=True)
class InstructionSplit:
    """Which questions are the test."""

    questions: Collection[str]
    """Their keys."""
    split: Split = "instruction-generalization"

    def is_test(self, sample: Sample) -> bool:
        """Whether the sample belongs to the test."""
        return question_key(sample.question) in self.questions


@dataclass(frozen=True)
class RoleSplit:
    """Which roles are the test."""

    roles: Collection[tuple[Language, str]]
    """With their keys."""
    split: Split = "role-generalization"

    def is_test(self, sample: Sample) -> bool:
        """Whether the sample belongs to the test."""
        return (sample.language, role_key(sample.role)) in self.roles


def split_by_instructions(
    samples: Iterable[Sample], *, test_share: float, seed: int, near: float = NEAR
) -> InstructionSplit:
    """Choose questions for the test that are not asked in training, nor nearly, by whomever.

    Questions that are near stay together (`near_groups`). No role's test, general or specific, becomes
    larger than its share, and each role keeps something to train on.

    Args:
        samples: in any order; they are gone through once.
        test_share: of each role's rows, between 0 and 1.
        seed: another one makes another split.
        near: the likeness from which on two questions must not be apart.

    Raises:
        RoleBenchError: no question can be put into the test.
    """
    rows: dict[str, Counter[Asker]] = {}
    for sample in samples:
        asked = rows.setdefault(question_key(sample.question), Counter())
        asked[Asker(sample.language, sample.kind, role_key(sample.role))] += 1
    questions = sorted(rows)
    groups = [[questions[place] for place in group] for group in near_groups(questions, at_least=near)]
    groups.sort(key=lambda group: _drawn(seed, min(group)))
    test = _fill(groups, rows, test_share)
    if not test:
        raise RoleBenchError(
            f"No question can be put into the test: {len(questions)} questions in {len(groups)} groups of "
            "near ones are too few for this share; name a larger one, or more samples."
        )
    return InstructionSplit(frozenset(test))


def split_by_roles(
    samples: Iterable[Sample], *, test_share: float, seed: int, hold_out: Sequence[str] = ()
) -> RoleSplit:
    """Choose roles for the test, of each language its share.

    Args:
        samples: in any order; they are gone through once.
        test_share: of the roles, between 0 and 1; at least one of each language that has two.
        seed: another one chooses other roles.
        hold_out: names of the roles that are chosen instead.

    Raises:
        RoleBenchError: there is no role of such a name, or nobody would be left in training or test.
    """
    names: dict[tuple[Language, str], str] = {}
    for sample in samples:
        role = sample.language, role_key(sample.role)
        names[role] = min(names.get(role, sample.role), sample.role)
    test = _named(names, hold_out) if hold_out else _drawn_roles(names, test_share, seed)
    if not test or len(test) == len(names):
        raise RoleBenchError(
            f"Of {len(names)} roles none can be held out while others stay; name sources with more roles, "
            "or fewer to hold out."
        )
    return RoleSplit(frozenset(test))


def _fill(
    groups: Iterable[Sequence[str]], rows: Mapping[str, Counter[Asker]], test_share: float
) -> set[str]:
    """The questions of those groups that fit, one after the other, into what each asker has to give."""
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


def _drawn_roles(
    names: Collection[tuple[Language, str]], test_share: float, seed: int
) -> set[tuple[Language, str]]:
    test: set[tuple[Language, str]] = set()
    for language in sorted({language for language, _ in names}):
        own = sorted(
            (role for role in names if role[0] == language), key=lambda role: _drawn(seed, role[1])
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
                "samples; “rolellm data stats” shows whose they are."
            )
        test |= found
    return test


def _drawn(seed: int, text: str) -> bytes:
    """A number that decides, the same on every machine."""
    return digest(str(seed), text)
