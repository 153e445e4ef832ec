"""What is wrong with personas beside each other: copied lines, and names that belong to somebody else."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rolellm_agents.persona import Persona
from rolellm_agents.persona.lint.finding import PersonaFinding
from rolellm_agents.text import one_line
from rolellm_agents.text.near_copies import near_copies

_A_WORD = 3
"""A name that so many others say is a word of the language, or of everybody's world."""


class _NamePart(NamedTuple):
    persona: Persona
    kind: str
    place: str
    text: str


def check_copies(checked: Sequence[Persona], beside: Sequence[Persona] = ()) -> Iterator[PersonaFinding]:
    """Lines of the checked personas that stand, nearly or quite, elsewhere in them or in `beside`.

    A question is compared with questions only: two people may be asked the same thing in other words, and
    a reply may take the question up.
    """
    for kind in ("question", "text"):
        parts = [part for persona in (*checked, *beside) for part in _parts(persona) if part.kind == kind]
        own = {persona.id for persona in checked}
        for first, second, share in near_copies([part.text for part in parts], at_least=_SHARE[kind]):
            for one, other in ((parts[first], parts[second]), (parts[second], parts[first])):
                if one.persona.id in own:
                    yield PersonaFinding(one.persona.id, "copied-line", _told(one, other, share))
                    break


_SHARE = {"question": 0.9, "text": 0.4}
"""From which share of common runs on two lines count as copies."""


def _told(one: _NamePart, other: _NamePart, share: float) -> str:
    whose = "of its own" if one.persona.id == other.persona.id else f"of {other.persona.id}"
    shown = one_line(one.text, 50)
    return f"{one.place} is {share:.0%} the same as {other.place} {whose}: {shown!r}"


def _parts(persona: Persona) -> Iterator[_NamePart]:
    yield _NamePart(persona, "text", "the description", persona.description)
    if persona.greeting:
        yield _NamePart(persona, "text", "the greeting", persona.greeting)
    for number, pair in enumerate(persona.demonstrations, 1):
        yield _NamePart(persona, "question", f"question {number}", pair.user)
        yield _NamePart(persona, "text", f"reply {number}", pair.reply)
    for piece in persona.knowledge:
        yield _NamePart(persona, "text", f"knowledge {piece.title!r}", piece.text)


def check_names(checked: Sequence[Persona], beside: Sequence[Persona] = ()) -> Iterator[PersonaFinding]:
    """Names of personas from other works in the checked ones' texts: what a copied file leaves behind.

    Only names that can be nothing else: of two words or more (or in Chinese of two characters), and not
    those that several others say, which are words or people whom everybody knows.
    """
    named = [persona for persona in (*checked, *beside) if _is_a_full_name(persona.name)]
    patterns = {persona.id: re.compile(rf"(?<!\w){re.escape(persona.name)}(?!\w)") for persona in named}
    patterns |= {
        persona.id: re.compile(re.escape(persona.name)) for persona in named if persona.language == "zh"
    }
    said = {persona.id: "\n".join(part.text for part in _parts(persona)) for persona in (*checked, *beside)}
    who = {persona.id: persona for persona in (*checked, *beside)}
    heard = {
        owner.id: [
            other
            for other, text in said.items()
            if other != owner.id and not _same_work(owner, who[other]) and patterns[owner.id].search(text)
        ]
        for owner in named
    }
    for owner in named:
        if len(heard[owner.id]) < _A_WORD:
            for persona in checked:
                if persona.id in heard[owner.id]:
                    yield PersonaFinding(
                        persona.id, "foreign-name", f"it speaks of {owner.name!r} ({owner.id})"
                    )


def _is_a_full_name(name: str) -> bool:
    return len(name.split()) > 1 or bool(re.fullmatch(r"[\u3400-\u9fff]{2,}", name))


def _same_work(one: Persona, other: Persona) -> bool:
    return one.source is not None and other.source is not None and one.source.work == other.source.work
