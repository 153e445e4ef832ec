"""Checks of personas against each other: copied lines, and names of other characters."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rolellm_agents.persona import Persona
from rolellm_agents.persona.lint.finding import PersonaFinding
from rolellm_agents.text import one_line
from rolellm_agents.text.near_copies import near_copies

_A_WORD = 3
"""A name that occurs in so many other personas is a common word or a well-known name."""


class _NamePart(NamedTuple):
    persona: Persona
    kind: str
    place: str
    text: str


def check_copies(checked: Sequence[Persona], others: Sequence[Persona] = ()) -> Iterator[PersonaFinding]:
    """Find lines of the checked personas that are near copies of other lines, in them or in `others`.

    Questions are compared with questions only, since a reply may repeat its question.
    """
    for kind in ("question", "text"):
        parts = [part for persona in (*checked, *others) for part in _parts(persona) if part.kind == kind]
        own = {persona.id for persona in checked}
        for first, second, share in near_copies([part.text for part in parts], at_least=_SHARE[kind]):
            for part, other in ((parts[first], parts[second]), (parts[second], parts[first])):
                if part.persona.id in own:
                    yield PersonaFinding(part.persona.id, "copied-line", _message(part, other, share))
                    break


_SHARE = {"question": 0.9, "text": 0.4}
"""The least share of common runs of words of two lines that count as copies."""


def _message(part: _NamePart, other: _NamePart, share: float) -> str:
    whose = "of its own" if part.persona.id == other.persona.id else f"of {other.persona.id}"
    shown = one_line(part.text, 50)
    return f"{part.place} is {share:.0%} the same as {other.place} {whose}: {shown!r}"


def _parts(persona: Persona) -> Iterator[_NamePart]:
    yield _NamePart(persona, "text", "the description", persona.description)
    if persona.greeting:
        yield _NamePart(persona, "text", "the greeting", persona.greeting)
    for number, pair in enumerate(persona.demonstrations, 1):
        yield _NamePart(persona, "question", f"question {number}", pair.user)
        yield _NamePart(persona, "text", f"reply {number}", pair.reply)
    for piece in persona.knowledge:
        yield _NamePart(persona, "text", f"knowledge {piece.title!r}", piece.text)


def check_names(checked: Sequence[Persona], others: Sequence[Persona] = ()) -> Iterator[PersonaFinding]:
    """Find names of personas from other works, which a copied file may contain.

    Only names of at least two words (in Chinese, two characters) count, and not those that occur in several
    other personas.
    """
    named = [persona for persona in (*checked, *others) if _is_full_name(persona.name)]
    patterns = {persona.id: re.compile(rf"(?<!\w){re.escape(persona.name)}(?!\w)") for persona in named}
    patterns |= {
        persona.id: re.compile(re.escape(persona.name)) for persona in named if persona.language == "zh"
    }
    texts = {
        persona.id: "\n".join(part.text for part in _parts(persona)) for persona in (*checked, *others)
    }
    by_id = {persona.id: persona for persona in (*checked, *others)}
    mentioned_by = {
        owner.id: [
            other
            for other, text in texts.items()
            if other != owner.id and not _same_work(owner, by_id[other]) and patterns[owner.id].search(text)
        ]
        for owner in named
    }
    for owner in named:
        if len(mentioned_by[owner.id]) < _A_WORD:
            for persona in checked:
                if persona.id in mentioned_by[owner.id]:
                    yield PersonaFinding(
                        persona.id, "foreign-name", f"it speaks of {owner.name!r} ({owner.id})"
                    )


def _is_full_name(name: str) -> bool:
    return len(name.split()) > 1 or bool(re.fullmatch(r"[\u3400-\u9fff]{2,}", name))


def _same_work(one: Persona, other: Persona) -> bool:
    return one.source is not None and other.source is not None and one.source.work == other.source.work
