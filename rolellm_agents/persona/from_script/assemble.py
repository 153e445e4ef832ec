"""Assemble a persona from a script and from a model's notes."""

from collections.abc import Sequence

from rolellm_agents.persona import Demonstration, Knowledge, Persona, id_of
from rolellm_agents.persona.from_script.facts import describe, find_greeting, own_words
from rolellm_agents.persona.from_script.habits import find_habits
from rolellm_agents.persona.from_script.pairs import choose_pairs, find_pairs
from rolellm_agents.scripts.script import Script

_KNOWLEDGE = 8


def draft_persona(script: Script, names: Sequence[str], role: str, *, demonstrations: int) -> Persona:
    """Draft a persona from a script without a model: from the role's lines, habits and longest speeches.

    `names` are those of the role in the script; `demonstrations` is the most to choose.
    """
    own = [passage.speech for passage in script.passages if passage.speaker in names]
    others = [
        passage.speech for passage in script.passages if passage.speaker and passage.speaker not in names
    ]
    habits = find_habits(own, others, script.language, names=script.speakers())
    pairs = choose_pairs(find_pairs(script, names), script.language, demonstrations, habits)
    return Persona(
        id=id_of(role),
        name=role,
        language=script.language,
        description=describe(script, names, role, habits),
        catchphrases=tuple(habits),
        demonstrations=tuple(
            Demonstration(user=pair.user, reply=pair.reply, place=pair.place) for pair in pairs
        ),
        knowledge=tuple(own_words(script, names, _KNOWLEDGE, exclude={pair.place for pair in pairs})),
        greeting=find_greeting(script, names),
        tags=(script.kind,),
    )


def with_notes(persona: Persona, description: str, knowledge: Sequence[Knowledge]) -> Persona:
    """Add a model's description and knowledge to a draft, before the draft's own."""
    joint = "" if persona.language == "zh" else " "
    return persona.model_copy(
        update={
            "description": f"{description}{joint}{persona.description}".strip(),
            "knowledge": (*knowledge, *persona.knowledge)[: max(_KNOWLEDGE, len(knowledge))],
        }
    )
