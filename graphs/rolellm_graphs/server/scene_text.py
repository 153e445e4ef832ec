"""Conversion between lines of a scene and the text of one message.

Clients of OpenAI's API keep conversations of two speakers. A scene's turn is one message in which each line
starts with its speaker: `**Juno MacGuff:** words`, `**Juno MacGuff (whispers to Walt):** words`.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from rolellm_agents.scene import NARRATOR
from rolellm_agents.transcript.message import KINDS, Kind

NARRATORS_NAME: Final = "Narrator"
_PARTS = re.compile(r"(?:\A|\n\n)\*\*(?P<head>[^*\n]{1,200}):\*\*[ \n]", re.MULTILINE)
_HEAD = re.compile(r"(?P<name>.+?)(?: \((?P<kind>[a-z][a-z0-9-]*)(?: to (?P<to>.+))?\))?\Z")


class WrittenLine(NamedTuple):
    """A line in a text."""

    speaker: str
    """A seat, or `NARRATOR`."""
    kind: Kind
    to: tuple[str, ...]
    """Addressees, of a whisper and of other kinds that only they perceive."""
    text: str


def heading(line: WrittenLine, names: Mapping[str, str]) -> str:
    """Format the head of a line: the speaker, and the kind if it is not speech.

    Args:
        line: the line; its text is ignored.
        names: the names of the seats.
    """
    name = names.get(line.speaker, NARRATORS_NAME)
    addressees = f" to {', '.join(names[seat] for seat in line.to)}" if line.to else ""
    kind = f" ({line.kind}{addressees})" if line.kind not in ("say", "narrate") else ""
    return f"**{name}{kind}:** "


def format_lines(lines: Iterable[WrittenLine], names: Mapping[str, str]) -> str:
    """Format lines as the text of one message."""
    return "\n\n".join(heading(line, names) + line.text for line in lines)


def parse_lines(text: str, names: Mapping[str, str], kinds: Container[Kind] = KINDS) -> list[WrittenLine]:
    """Parse a text from `format_lines`, or a similar one.

    Text before the first known speaker, or after an unknown one, is narration.

    Args:
        text: the lines.
        names: of the seats.
        kinds: the names of the scene's message kinds.
    """
    lines: list[WrittenLine] = []
    end, speaker = 0, WrittenLine(NARRATOR, "narrate", (), "")
    for mark in [*_PARTS.finditer(text), None]:
        head = _parse_head(mark["head"], names, kinds) if mark else None
        if mark and head is None:
            continue  # a line's own words in bold
        line_text = text[end : mark.start() if mark else len(text)].strip()
        if line_text:
            lines.append(speaker._replace(text=line_text))
        if mark and head:
            end, speaker = mark.end(), head
    return lines


def _parse_head(head: str, names: Mapping[str, str], kinds: Container[Kind]) -> WrittenLine | None:
    seats: Mapping[str, str] = {name: seat for seat, name in names.items()} | {NARRATORS_NAME: NARRATOR}
    if head in seats:
        seat = seats[head]
        return WrittenLine(seat, "narrate" if seat == NARRATOR else "say", (), "")
    match = _HEAD.match(head)
    if match is None or match["name"] not in seats or match["kind"] not in kinds:
        return None
    addressees = _seats_in(match["to"] or "", seats)
    return None if addressees is None else WrittenLine(seats[match["name"]], match["kind"], addressees, "")


def _seats_in(names: str, seats: Mapping[str, str]) -> tuple[str, ...] | None:
    """The seats of a list of names, which may contain commas."""
    parts: Sequence[str] = names.split(", ") if names else ()
    addressees: list[str] = []
    while parts:
        longest = next(
            (length for length in range(len(parts), 0, -1) if ", ".join(parts[:length]) in seats), 0
        )
        if not longest:
            return None
        addressees.append(seats[", ".join(parts[:longest])])
        parts = parts[longest:]
    return tuple(addressees)
