"""The place in the form that a finding or an error speaks of."""

import re

from rolellm_agents.cards import Card
from rolellm_agents.cards.lint.lint import lint
from rolellm_agents.editing.form import Data, Path, value_at
from rolellm_agents.persona.editing.persona_form import ABOUT
from rolellm_agents.persona.lint import PersonaFinding

_NUMBERED = re.compile(r"(question|reply) (\d+)\b")
_KNOWLEDGE = re.compile(r"knowledge (['\"].*?['\"]) (?:is|says|acts)")
_LORE_ENTRY = re.compile(r"data\.character_book\.entries\[(\d+)\]((?:\.\w+)*)(?:\[\d+\])?")


def place_of_finding(finding: PersonaFinding, data: Data) -> Path:
    """The path of the value that a finding speaks of."""
    message = finding.message
    if numbered := _NUMBERED.match(message):
        key = "user" if numbered[1] == "question" else "reply"
        return ("demonstrations", int(numbered[2]) - 1, key)
    if named := _KNOWLEDGE.match(message):
        for number, piece in enumerate(data.get("knowledge") or []):
            if repr(piece.get("title")) == named[1]:
                return ("knowledge", number, "text")
    for key in ("description", "greeting", "catchphrases", "demonstrations", "knowledge", "category"):
        if re.search(rf"\b{key}\b", message):
            return (key,)
    return ("demonstrations",) if "replies" in message else ABOUT


def lore_findings(data: Data, place: Path) -> list[tuple[str, Path]]:
    """What the linter of cards says about a lorebook's entries: sentences, and the paths that they name.

    World info has fields that the linter does not know, so it is not checked.
    """
    book = value_at(data, place)
    if not isinstance(book, dict) or not isinstance(book.get("entries"), list):
        return []
    card = Card({"spec": "chara_card_v3", "spec_version": "3.0", "data": {"character_book": book}})
    found: list[tuple[str, Path]] = []
    for finding in lint(card):
        entry = _LORE_ENTRY.fullmatch(finding.where)
        if entry and finding.level != "hint":
            number = int(entry[1])
            keys = re.findall(r"\w+", entry[2])
            sentence = finding.message.removeprefix(finding.where).strip()
            path = (*place, "entries", number, *keys)
            found.append((f"Entry {number + 1}{', ' if keys else ''}{'.'.join(keys)}: {sentence}", path))
    return found
