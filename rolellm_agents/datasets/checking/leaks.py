"""Leaks of a test into training: equal questions, near duplicates, and roles."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rolellm_agents.datasets.checking.files import ScannedFile, ScannedRow
from rolellm_agents.datasets.checking.finding import Findings
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.near_duplicates import near_duplicates
from rolellm_agents.datasets.paraphrases import Paraphrases
from rolellm_agents.datasets.sample import Part, Split
from rolellm_agents.text.language import Language


class _NearQuestion(NamedTuple):
    likeness: float
    question: str


class _Sides(NamedTuple):
    """Training and test of one split in one language, for both kinds together, as one model learns both."""

    train: Mapping[str, tuple[ScannedFile, ScannedRow]]
    """The first row of each question, by the question's key."""
    test: Sequence[tuple[ScannedFile, ScannedRow]]
    train_roles: frozenset[str]


def check_leaks(
    files: Sequence[ScannedFile], findings: Findings, paraphrases: Paraphrases | None = None
) -> None:
    """Find test rows that leak into training, and near-duplicate questions to one role within a file.

    In role generalization only roles can leak, in instruction generalization only questions. Rows without a
    split count as instruction generalization. With `paraphrases`, questions that training asks in other
    words are leaks too.
    """
    near = _near_questions(files, near_duplicates)
    same = _near_questions(files, paraphrases) if paraphrases else {}
    _check_near_repeats(files, near, findings)
    for split, sides in _sides(files):
        for file, row in sides.test:
            if split == "role-generalization":
                if role_key(row.role) in sides.train_roles:
                    findings.add("role-in-train", file.name, row.line, f"{row.role}: {row.question}")
            elif found := sides.train.get(row.question):
                findings.add("question-in-train", file.name, row.line, _same(row, found[1]), _place(*found))
            elif not _check_near("near-question-in-train", file, row, sides, near, findings):
                _check_near("paraphrase-in-train", file, row, sides, same, findings)


def _check_near(
    rule: str,
    file: ScannedFile,
    row: ScannedRow,
    sides: _Sides,
    near: Mapping[str, Sequence[_NearQuestion]],
    findings: Findings,
) -> bool:
    """Report a similar question of training, if there is one."""
    for likeness, question in near.get(row.question, ()):
        if found := sides.train.get(question):
            shown = f"{likeness:.0%} alike: {row.question} / {question}"
            findings.add(rule, file.name, row.line, shown, _place(*found))
            return True
    return False


def _check_near_repeats(
    files: Sequence[ScannedFile], near: Mapping[str, Sequence[_NearQuestion]], findings: Findings
) -> None:
    for file in files:
        first: dict[tuple[str, str], int] = {}
        for row in file.rows:
            first.setdefault((row.role, row.question), row.line)
        for row in file.rows:
            for likeness, question in near.get(row.question, ()):
                before = first.get((row.role, question))
                if before is not None and before < row.line:
                    shown = f"{likeness:.0%} alike: {row.question} / {question}"
                    findings.add("near-question", file.name, row.line, shown, f"{file.name}:{before}")
                    break


def _near_questions(files: Sequence[ScannedFile], pairs: Paraphrases) -> dict[str, list[_NearQuestion]]:
    """The similar questions of each question, nearest first."""
    questions = sorted({row.question for file in files for row in file.rows})
    near: dict[str, list[_NearQuestion]] = defaultdict(list)
    for first, second, likeness in pairs(questions):
        near[questions[first]].append(_NearQuestion(likeness, questions[second]))
        near[questions[second]].append(_NearQuestion(likeness, questions[first]))
    for found in near.values():
        found.sort(key=lambda near: (-near.likeness, near.question))
    return near


def _sides(files: Sequence[ScannedFile]) -> Iterator[tuple[Split | None, _Sides]]:
    rows: dict[tuple[Split | None, Language], dict[Part, list[tuple[ScannedFile, ScannedRow]]]] = {}
    for file in files:
        for row in file.rows:
            if file.source.part:
                parts = rows.setdefault((file.source.place.split, row.language), {})
                parts.setdefault(file.source.part, []).append((file, row))
    for (split, _), parts in rows.items():
        train, first = parts.get("train", []), dict[str, tuple[ScannedFile, ScannedRow]]()
        for file, row in train:
            first.setdefault(row.question, (file, row))
        roles = frozenset(role_key(row.role) for _, row in train)
        yield split, _Sides(first, parts.get("test", []), roles)


def _same(row: ScannedRow, known: ScannedRow) -> str:
    who = "the same role" if role_key(known.role) == role_key(row.role) else f"asked of {known.role}"
    answered = ", the same answer" if known.answers & row.answers else ""
    return f"{who}{answered}: {row.question}"


def _place(file: ScannedFile, row: ScannedRow) -> str:
    return f"{file.name}:{row.line}"
