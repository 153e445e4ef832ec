"""Read a model's replies in RoleBench's format (`role`, `question`, `generated`), and pair two systems'."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolellm_agents.datasets.keys import question_key, role_key
from rolellm_agents.datasets.reading import describe_error, fields_of, numbered_lines, row_of
from rolellm_agents.errors import PersonaError
from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.judged import ConversationTurn, Judged
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.text import one_line

_FirstLine = tuple[str, str, int]
"""A persona's id, a question's key, and the number of this question among equal ones."""


@dataclass(frozen=True)
class Predictions:
    """The replies of one file."""

    judged: tuple[Judged, ...]
    unknown: Mapping[str, int]
    """Roles without a persona, with the number of their rows that were skipped."""


@dataclass(frozen=True)
class Paired:
    """Two systems' replies to the same questions of the same personas."""

    pairs: tuple[tuple[Judged, Judged], ...]
    alone: tuple[int, int]
    """Number of replies of the first and of the second system that have no counterpart."""


def read_predictions(
    file: Path, find: Callable[[str], Persona] = load_persona, references: Sequence[Path] = ()
) -> Predictions:
    """Read a model's replies. Of several replies in one row the first is used; empty replies are kept.

    `find` returns the persona of a role; it raises a `PersonaError` when there is none. The files of
    `references` have the same format, with reference answers.

    Raises:
        RoleBenchError: a file cannot be read.
        JudgingError: a line is damaged, or no line belongs to a known role.
    """
    known = _answers(references)
    personas: dict[str, Persona | None] = {}
    found: list[Judged] = []
    unknown: Counter[str] = Counter()
    for number, role, question, replies in _rows(file):
        if role not in personas:
            personas[role] = _found(role, find)
        persona = personas[role]
        if persona is None:
            unknown[role] += 1
            continue
        found.append(
            Judged(
                key=f"{persona.id}/{number}",
                persona=persona,
                turns=(ConversationTurn("user", question),),
                reply=replies[0] if replies else "",
                references=known.get((role_key(role), question_key(question)), ()),
            )
        )
    if not found:
        named = ", ".join(one_line(role, 40) for role in [*unknown][:3])
        raise JudgingError(
            f"{file} has no replies of a persona that is here{f' (it has {named})' if named else ''}; "
            "“rolellm persona list” shows who is."
        )
    return Predictions(tuple(found), unknown)


def pair_replies(first: Iterable[Judged], second: Iterable[Judged]) -> Paired:
    """Pair the replies of two systems by persona and question, in the order of the first system."""
    ones, others = _by_question(first), _by_question(second)
    both = [key for key in ones if key in others]
    return Paired(
        tuple((ones[key], others[key]) for key in both), (len(ones) - len(both), len(others) - len(both))
    )


def _by_question(judged: Iterable[Judged]) -> dict[_FirstLine, Judged]:
    seen: Counter[tuple[str, str]] = Counter()
    found: dict[_FirstLine, Judged] = {}
    for one in judged:
        asked = (one.persona.id, question_key(one.question))
        found[(*asked, seen[asked])] = one
        seen[asked] += 1
    return found


def _answers(files: Sequence[Path]) -> dict[tuple[str, str], tuple[str, ...]]:
    return {
        (role_key(role), question_key(question)): tuple(filter(None, replies))
        for file in files
        for _, role, question, replies in _rows(file)
    }


def _rows(file: Path) -> Iterable[tuple[int, str, str, tuple[str, ...]]]:
    for number, line in numbered_lines(file):
        try:
            row = row_of(fields_of(line))
        except (ValueError, RecursionError) as error:
            raise JudgingError(
                f"{file}, line {number}: {describe_error(error)}; correct the line or remove it."
            ) from error
        yield number, row.role, row.question, row.references


def _found(role: str, find: Callable[[str], Persona]) -> Persona | None:
    try:
        # A role in a file is a name, never a path.
        return None if role.endswith((".yaml", ".yml")) else find(role)
    except PersonaError:
        return None
