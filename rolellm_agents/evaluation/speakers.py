"""Who answers: from the roles of a data set to personas, which must not have the answers about them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.near_duplicates import NEAR, near_duplicates
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Persona, id_of, load_persona
from rolellm_agents.text import did_you_mean, one_line
from rolellm_agents.text.language import Language
from rolellm_agents.text.near_copies import near_copies, units_of


@dataclass(frozen=True)
class RolePersonas:
    """Personas by the keys of their roles."""

    personas: Mapping[str, Persona]
    from_profiles: frozenset[str] = frozenset()
    """Keys of the roles that only the data's own profile describes."""
    without_profile: tuple[str, ...] = ()
    """Names of the roles that nothing describes."""
    withheld: Mapping[str, int] = field(default_factory=dict)
    """How many demonstrations and memories a persona does without, since they give answers away."""

    def of(self, sample: Sample) -> Persona | None:
        """Who answers a question."""
        return self.personas.get(role_key(sample.role))

    def is_as_it_was(self, role: str) -> bool:
        """Whether a role's persona is one of the cast and nothing was taken from it."""
        key = role_key(role)
        return key not in self.from_profiles and not self.withheld.get(key)


def find_speakers(
    asked: Iterable[Sample], cast: Iterable[Persona], profiles: Mapping[str, str], language: Language
) -> RolePersonas:
    """A persona for each role: the cast's, else one made from the data's own profile.

    Args:
        asked: the questions.
        cast: personas in any language; of two with one name the first counts.
        profiles: descriptions by the names of roles.
        language: of the questions.
    """
    ours: dict[str, Persona] = {}
    for persona in cast:
        if persona.language == language:
            ours.setdefault(role_key(persona.name), persona)
    described = {role_key(name): text for name, text in profiles.items()}
    personas: dict[str, Persona] = {}
    without: list[str] = []
    for key, role in {role_key(sample.role): sample.role for sample in asked}.items():
        if speaker := ours.get(key) or _described(role, described.get(key, ""), language):
            personas[key] = speaker
        else:
            without.append(role)
    return RolePersonas(personas, frozenset(key for key in personas if key not in ours), tuple(without))


def chosen_roles(names: Sequence[str], asked: Iterable[Sample]) -> dict[str, Persona | None]:
    """The keys of the roles that are named, each with the persona that was named for it by a file.

    Args:
        names: roles as the data names them, or ids, names or files of personas.
        asked: the questions.

    Raises:
        PersonaError: there is no such role and no such persona, or nothing is asked of it.
    """
    roles = {role_key(sample.role): sample.role for sample in asked}
    chosen: dict[str, Persona | None] = {}
    for name in names:
        if role_key(name) in roles:
            chosen[role_key(name)] = None
            continue
        persona = load_persona(name)
        if role_key(persona.name) not in roles:
            raise PersonaError(
                f"Nothing is asked of {one_line(persona.name, 80)}"
                f"{did_you_mean(persona.name, roles.values())}; “rolellm data stats” tells whose the "
                "questions are."
            )
        chosen[role_key(persona.name)] = persona
    return chosen


def without_answers(speakers: RolePersonas, asked: Iterable[Sample]) -> RolePersonas:
    """The personas without what would give an answer away when it is recalled.

    A demonstration is withheld when it answers one of the questions, or a near one, and so is whatever
    holds the greater part of a reference.

    Args:
        speakers: who answers.
        asked: all questions, with their references.
    """
    by_role: dict[str, list[Sample]] = {}
    for sample in asked:
        by_role.setdefault(role_key(sample.role), []).append(sample)
    personas = {key: _without(one, by_role.get(key, [])) for key, one in speakers.personas.items()}
    withheld = {
        key: _passages(speakers.personas[key]) - _passages(persona) for key, persona in personas.items()
    }
    return RolePersonas(personas, speakers.from_profiles, speakers.without_profile, withheld)


def _described(role: str, description: str, language: Language) -> Persona | None:
    try:
        return Persona(id=id_of(role), name=role, language=language, description=description)
    except ValidationError:
        return None


def _passages(persona: Persona) -> int:
    return len(persona.demonstrations) + len(persona.knowledge)


def _without(persona: Persona, asked: Sequence[Sample]) -> Persona:
    """The persona as it is when nothing is to be withheld."""
    pairs, memories = persona.demonstrations, persona.knowledge
    answered = _near_to_any([pair.user for pair in pairs], [one.question for one in asked], persona)
    references = list(dict.fromkeys(text for one in asked for text in one.references))
    given_away = _holding_any(
        [*(pair.reply for pair in pairs), *(one.text for one in memories)], references
    )
    told = {place - len(pairs) for place in given_away if place >= len(pairs)}
    shown = answered | given_away
    kept = tuple(pair for place, pair in enumerate(pairs) if place not in shown)
    known = tuple(one for place, one in enumerate(memories) if place not in told)
    if (kept, known) == (pairs, memories):
        return persona
    return persona.model_copy(update={"demonstrations": kept, "knowledge": known})


def _near_to_any(lines: Sequence[str], questions: Sequence[str], persona: Persona) -> set[int]:
    """The places of the lines that ask nearly what one of the questions asks, names apart."""
    name = set(units_of(persona.name))

    def bare(text: str) -> str:
        return " ".join(unit for unit in units_of(text) if unit not in name)

    texts = [*map(bare, lines), *dict.fromkeys(map(bare, questions))]
    pairs = near_duplicates(texts, at_least=NEAR)
    return {one for one, other, _ in pairs if one < len(lines) <= other and texts[one]}


def _holding_any(lines: Sequence[str], references: Sequence[str]) -> set[int]:
    """The places of the lines that hold most of a reference, or stand in one."""
    return {one for one, other, _ in near_copies([*lines, *references]) if one < len(lines) <= other}
