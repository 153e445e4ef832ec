"""Conversion between lines of a scene and the text of one message.

Clients of OpenAI's API keep conversations of two speakers. A scene's turn is one message in which each line
starts with its speaker: `**Juno MacGuff:** words`, `**Juno MacGuff (whispers to Walt):** words`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, get_args

from rolellm_agents.scene import NARRATOR
from rolellm_agents.transcript.message import Kind

NARRATORS_NAME: Final = "Narrator"
_PARTS = re.compile(r"(?:\A|\n\n)\*\*(?P<head>[^*\n]{1,200}):\*\*[ \n]", re.MULTILINE)
_HEAD = re.compile(r"(?P<name>.+?)(?: \((?P<kind>[a-z]+)(?: to (?P<to>.+))?\))?\Z")


class WrittenLine(NamedTuple):
    """A line in a text."""

    speaker: str
    """A seat, or `NARRATOR`."""
    kind: Kind
    to: tuple[str, ...]
    """Addressees of a whisper."""
    text: str


def heading(line: WrittenLine, names: Mapping[str, str]) -> str:
    """The head of a line. The line's text is ignored."""
    name = names.get(line.speaker, NARRATORS_NAME)
    addressees = f" to {', '.join(names[seat] for seat in line.to)}" if line.to else ""
    kind = f" ({line.kind}{addressees})" if line.kind not in ("say", "narrate") else ""
    return f"**{name}{kind}:** "


def format_lines(lines: Iterable[WrittenLine], names: Mapping[str, str]) -> str:
    """Lines as one text."""
    return "\n\n".join(heading(line, names) + line.text for line in lines)


def parse_lines(text: str, names: Mapping[str, str]) -> list[WrittenLine]:
    """Parse a text from `format_lines`, or a similar one.

    Text before the first known speaker, or after an unknown one, is narration.
    """
    lines: list[WrittenLine] = []
    end, speaker = 0, WrittenLine(NARRATOR, "narrate", (), "")
    for mark in [*_PARTS.finditer(text), None]:
        head = _parse_head(mark["head"], names) if mark else None
        if mark and head is None:
            continue  # bold words of somebody's
        line_text = text[end : mark.start() if mark else len(text)].strip()
        if line_text:
            lines.append(speaker._replace(text=line_text))
        if mark and head:
            end, speaker = mark.end(), head
    return lines


def _parse_head(head: str, names: Mapping[str, str]) -> WrittenLine | None:
    seats: Mapping[str, str] = {name: seat for seat, name in names.items()} | {NARRATORS_NAME: NARRATOR}
    if head in seats:
        seat = seats[head]
        return WrittenLine(seat, "narrate" if seat == NARRATOR else "say", (), "")
    match = _HEAD.match(head)
    if match is None or match["name"] not in seats or match["kind"] not in get_args(Kind):
        return None
    addressees = _seats_in(match["to"] or "", seats)
    kind: Kind = match["kind"]  # type: ignore[assignment]  # one of them, as was seen
    return None if addressees is None else WrittenLine(seats[match["name"]], kind, addressees, "")


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
