"""Descriptions of a persona in the shapes that strangers' character cards have.

A model that only ever reads descriptions of one author takes that author's form for the character. So some
conversations are learned under the same facts in another shape.
"""

import random
import re
from collections.abc import Callable

from rolellm_agents.persona import Persona

Shape = Callable[[Persona], str]


def attributes(persona: Persona) -> str:
    """A list of attributes in brackets, as in PList cards."""
    listed = {
        "Character": persona.name,
        "Traits": ", ".join(persona.tags),
        "Says": "; ".join(persona.catchphrases[:3]),
        "Summary": " ".join(_sentences(persona)[:2]),
    }
    return "\n".join(f"[{key}: {value}]" for key, value in listed.items() if value)


def fields(persona: Persona) -> str:
    """A form with a field on each line."""
    work = f"\nFrom: {persona.source.work}" if persona.source else ""
    sentences = _sentences(persona)
    return (
        f"Name: {persona.name}{work}\nPersonality: {' '.join(sentences[1:])}\nBackground: {sentences[0]}"
        if len(sentences) > 1
        else f"Name: {persona.name}{work}\nBackground: {persona.description}"
    )


def short(persona: Persona) -> str:
    """The first two sentences."""
    return " ".join(_sentences(persona)[:2])


def with_knowledge(persona: Persona) -> str:
    """The description, then what the character knows, as paragraphs."""
    known = "\n\n".join(f"{piece.title}: {piece.text}" for piece in persona.knowledge[:3])
    return f"{persona.description}\n\n{known}".strip()


SHAPES: tuple[Shape, ...] = (attributes, fields, short, with_knowledge)


def in_another_shape(persona: Persona, rng: random.Random) -> Persona:
    """The persona as a card would describe it: another description, and no catchphrases of its own."""
    shape = rng.choice(SHAPES)
    return persona.model_copy(update={"description": shape(persona), "catchphrases": ()})


def _sentences(persona: Persona) -> list[str]:
    return re.split(r"(?<=[.!?])\s+|(?<=[。！？])", " ".join(persona.description.split()))
