"""Find a persona for each role of a data set, and remove passages that contain answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.near_duplicates import NEAR, near_duplicates
from rolellm_agents.datasets.row_personas import RowPersonas
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Persona, id_of, load_persona
from rolellm_agents.text import did_you_mean, one_line
from rolellm_agents.text.language import Language
from rolellm_agents.text.near_copies import near_copies, units_of


@dataclass(frozen=True)
class RolePersonas:
    """The personas that answer, by the keys of their roles."""

    personas: Mapping[str, Persona]
    from_profiles: frozenset[str] = frozenset()
    """Keys of the roles whose persona was built from the data set's profile."""
    without_profile: tuple[str, ...] = ()
    """Names of the roles without a description."""
    withheld: Mapping[str, int] = field(default_factory=dict)
    """By role, the number of demonstrations and passages that are withheld because they contain answers."""

    def of(self, sample: Sample) -> Persona | None:
        """The persona that answers a question."""
        return self.personas.get(role_key(sample.role))

    def is_as_it_was(self, role: str) -> bool:
        """Whether a role's persona comes from the cast and nothing was removed from it."""
        key = role_key(role)
        return key not in self.from_profiles and not self.withheld.get(key)


def find_speakers(
    asked: Iterable[Sample], cast: Iterable[Persona], profiles: Mapping[str, str], language: Language
) -> RolePersonas:
    """Find a persona for each role: from the cast, or else built from the data set's profile.

    The cast may have any language; of two personas with the same name the first counts. `profiles` has
    descriptions by role name.

    Raises:
        PersonaError: questions were written for another persona.
    """
    asked = list(asked)
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
    versions = RowPersonas(())
    for sample in asked:
        if (persona_of_role := personas.get(role_key(sample.role))) is not None:
            versions.check(sample, persona_of_role)
    return RolePersonas(personas, frozenset(key for key in personas if key not in ours), tuple(without))


def chosen_roles(names: Sequence[str], asked: Iterable[Sample]) -> dict[str, Persona | None]:
    """The keys of the chosen roles, each with its persona if it was chosen by persona.

    The names are those of roles in the data set, or ids, names or files of personas.

    Raises:
        PersonaError: there is no such role or persona, or the persona has no questions.
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
                f"There are no questions to {one_line(persona.name, 80)}"
                f"{did_you_mean(persona.name, roles.values())}; “rolellm data stats” lists the "
                "roles."
            )
        chosen[role_key(persona.name)] = persona
    return chosen


def without_answers(speakers: RolePersonas, asked: Iterable[Sample]) -> RolePersonas:
    """Remove the passages from the personas that would reveal an answer if they were recalled.

    A demonstration is removed if it answers one of the questions or a similar one. Demonstrations and other
    passages are removed if they contain most of a reference.

    Args:
        speakers: the personas that answer.
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
    """The persona without passages that contain answers; the same object when nothing is withheld."""
    pairs, memories = persona.demonstrations, persona.knowledge
    answered = _near_to_any([pair.user for pair in pairs], [one.question for one in asked], persona)
    references = list(dict.fromkeys(text for one in asked for text in one.references))
    given_away = _holding_any(
        [*(pair.reply for pair in pairs), *(one.text for one in memories)], references
    )
    withheld_memories = {place - len(pairs) for place in given_away if place >= len(pairs)}
    withheld_pairs = answered | given_away
    kept = tuple(pair for place, pair in enumerate(pairs) if place not in withheld_pairs)
    known = tuple(one for place, one in enumerate(memories) if place not in withheld_memories)
    if (kept, known) == (pairs, memories):
        return persona
    return persona.model_copy(update={"demonstrations": kept, "knowledge": known})


def _near_to_any(lines: Sequence[str], questions: Sequence[str], persona: Persona) -> set[int]:
    """The indices of the lines that nearly repeat one of the questions, names aside."""
    name = set(units_of(persona.name))

    def bare(text: str) -> str:
        return " ".join(unit for unit in units_of(text) if unit not in name)

    texts = [*map(bare, lines), *dict.fromkeys(map(bare, questions))]
    pairs = near_duplicates(texts, at_least=NEAR)
    return {one for one, other, _ in pairs if one < len(lines) <= other and texts[one]}


def _holding_any(lines: Sequence[str], references: Sequence[str]) -> set[int]:
    """The indices of the lines that contain most of a reference, or are contained in one."""
    return {one for one, other, _ in near_copies([*lines, *references]) if one < len(lines) <= other}
