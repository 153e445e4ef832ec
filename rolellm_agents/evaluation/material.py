"""The material of an evaluation: its questions, references and personas."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rolellm_agents.datasets import Kind, Sample, Split
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.profiles import profile_descriptions
from rolellm_agents.errors import PersonaError
from rolellm_agents.evaluation.questions import Questions, draw_sample, published_replies, read_questions
from rolellm_agents.evaluation.speakers import RolePersonas, chosen_roles, find_speakers, without_answers
from rolellm_agents.evaluation.training_overlap import training_overlap
from rolellm_agents.persona import list_personas
from rolellm_agents.text import one_line
from rolellm_agents.text.language import Language

_NAMED = 5
"""Number of roles that a note names; the others are only counted."""


@dataclass(frozen=True, kw_only=True)
class EvaluationMaterial:
    """The questions of an evaluation with their references, and the personas that answer them."""

    asked: Sequence[Sample]
    overlap: Sequence[str]
    """For each question, why it is known from training; empty for new questions."""
    published: Sequence[str | None]
    """For each question, RoleGPT's published answer; None without one."""
    speakers: RolePersonas
    training_rows: int
    made_from: str
    notes: Sequence[str]
    """Notes for readers of the results, one sentence each."""


def gather_material(
    data: Path,
    split: Split,
    kinds: Sequence[Kind],
    language: Language,
    *,
    roles: Sequence[str] = (),
    limit: int | None = None,
    seed: int = 0,
) -> EvaluationMaterial:
    """Read the material of an evaluation.

    The questions are those of the split's test set. `roles` are names of roles, or ids, names or files of
    personas; all roles when empty. There are at most `limit` questions of each kind, drawn with `seed`
    (`draw_sample`); all when None.

    Raises:
        RoleBenchError: there are no such questions, or a file is damaged.
        PersonaError: a role or persona is unknown, or no role has a description.
    """
    questions = read_questions(data, split, kinds, language)
    chosen = chosen_roles(roles, questions.asked)
    of_chosen = [one for one in questions.asked if not chosen or role_key(one.role) in chosen]
    cast = [*filter(None, chosen.values()), *(found.persona for found in list_personas().found)]
    speakers = find_speakers(of_chosen, cast, profile_descriptions(data, language), language)
    answerable = [one for one in of_chosen if speakers.of(one) is not None]
    if not answerable:
        raise PersonaError(
            f"Nothing describes any of the {len(speakers.without_profile)} roles that {data} asks; "
            "“rolellm persona list” shows the cast."
        )
    speakers = without_answers(speakers, answerable)
    asked = draw_sample(answerable, limit, seed=seed)
    overlap = training_overlap(asked, questions.training)
    return EvaluationMaterial(
        asked=asked,
        overlap=overlap,
        published=published_replies(asked, questions.published),
        speakers=speakers,
        training_rows=len(questions.training),
        made_from=questions.made_from,
        notes=_notes(questions, speakers, overlap),
    )


def _notes(questions: Questions, speakers: RolePersonas, overlap: Sequence[str]) -> list[str]:
    notes = [questions.made_from] if questions.made_from else []
    notes += questions.notes
    if speakers.without_profile:
        number = len(speakers.without_profile)
        notes.append(
            f"{number} {'role' if number == 1 else 'roles'} without profile "
            f"{'is' if number == 1 else 'are'} left out: {_listed(speakers.without_profile)}."
        )
    withheld = sum(speakers.withheld.values())
    if withheld:
        notes.append(f"{withheld} passages of the personas contain answers and are excluded from recall.")
    if not questions.training:
        notes.append(
            "There are no training rows next to the test, so it is unknown which questions are new."
        )
    elif known := sum(map(bool, overlap)):
        notes.append(
            f"{known} of {len(overlap)} questions are known from training; scores of new questions "
            "are reported separately."
        )
    return notes


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name, 40) for name in islice(names, _NAMED))
    more = len(names) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown
