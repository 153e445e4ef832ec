"""The place in the form that a finding or an error speaks of."""

import re

from rolellm_agents.persona.editing.form import ABOUT, Data, Path, rows_of
from rolellm_agents.persona.lint import PersonaFinding

_NUMBERED = re.compile(r"(question|reply) (\d+)\b")
_KNOWLEDGE = re.compile(r"knowledge (['\"].*?['\"]) (?:is|says|acts)")
_KEY = re.compile(r"'([a-z_]+)((?:[.\[][\w\]]+)*)'")


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


def place_of_error(message: str) -> Path:
    """The path that an error of a persona file names; the short fields if it names none."""
    for found in _KEY.finditer(message):
        more = re.findall(r"\w+", found[2])
        return (found[1], *(int(part) if part.isdigit() else part for part in more))
    return ABOUT


def row_at(data: Data, place: Path) -> int:
    """The index of the row that holds a place, or of the row above it."""
    best, length = 0, 0
    for index, row in enumerate(rows_of(data)):
        is_above = place[: len(row.path)] == row.path or any(
            field.path == place[: len(field.path)] for field in row.fields
        )
        if is_above and len(row.path) > length:
            best, length = index, len(row.path)
    return best
