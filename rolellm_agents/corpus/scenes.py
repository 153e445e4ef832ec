"""Written scenes, and the Markdown form of their files."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rolellm_agents.errors import CorpusError
from rolellm_agents.scene import LoadedScene, SceneLine
from rolellm_agents.scene.events import ScheduledEvent, event_line, join_event, leave_event
from rolellm_agents.scene.loading import cast_scene
from rolellm_agents.scene.message_kinds import ACT, SAY, THINK, WHISPER, MessageKind
from rolellm_agents.scene.scene import NARRATOR, Scene, Seat
from rolellm_agents.scene.witness import present_in
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import language_of
from rolellm_agents.transcript.message import Kind

_SEAT = re.compile(r"- (?P<id>\S+)(?P<parts>(?:\s*\|.*)?)\Z")
_MOVE = re.compile(r"\[(?P<id>\S+) (?P<what>enters|leaves)\]\Z")
_LINE = re.compile(r"(?P<id>[a-z0-9-]+)(?: \((?:(?P<thinks>thinks)|to (?P<to>[^)]+))\))?: (?P<text>.+)\Z")
_ACT = re.compile(r"\*(?P<act>[^*]+)\*\Z")


@dataclass(frozen=True)
class CorpusScene:
    """A scene with the lines that were written for it."""

    loaded: LoadedScene
    lines: tuple[SceneLine, ...]
    number: int
    """Line of the file that has the title, from 1."""


@dataclass
class _Written:
    """A scene as its file has it."""

    title: str
    number: int
    setting: str = ""
    seats: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: list[tuple[int, str]] = field(default_factory=list)


def read_corpus_scenes(file: Path) -> list[CorpusScene]:
    """Read a file of scenes.

    Raises:
        CorpusError: the file cannot be read or has another form; the message names file and line.
        PersonaError: a character is none of the known personas.
        SceneError: a scene has the same character twice.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise CorpusError(f"{file} cannot be read: {error}.") from error
    return [_scene(written, file.name) for written in _written(text, file.name)]


def _written(text: str, name: str) -> Iterator[_Written]:
    scene: _Written | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("# "):
            if scene:
                yield scene
            scene = _Written(line.removeprefix("# "), number)
        elif not line:
            continue
        elif scene is None:
            raise CorpusError(f"{name}, line {number} stands before the first “# TITLE”.")
        elif line.startswith("setting:"):
            scene.setting = line.removeprefix("setting:").strip()
        elif line.startswith("- "):
            _add_seat(scene, line, f"{name}, line {number}")
        else:
            scene.lines.append((number, line))
    if scene:
        yield scene


def _add_seat(scene: _Written, line: str, where: str) -> None:
    found = _SEAT.match(line)
    if found is None:
        raise CorpusError(f"{where} is not of the form “- PERSONA-ID | goal: … | secret: …”.")
    given: dict[str, list[str]] = {"goals": [], "secrets": []}
    for part in filter(None, (part.strip() for part in found["parts"].split("|"))):
        key, _, value = part.partition(":")
        if f"{key.strip()}s" not in given or not value.strip():
            raise CorpusError(f"{where} has {part!r}, which is neither “goal: …” nor “secret: …”.")
        given[f"{key.strip()}s"].append(value.strip())
    scene.seats[found["id"]] = dict(given)


def _scene(written: _Written, name: str) -> CorpusScene:
    where = f"{name}, line {written.number}"
    if not written.setting or not written.seats or not written.lines:
        raise CorpusError(f"{where}: the scene {written.title!r} needs a setting, characters and lines.")
    first_moves: dict[str, str] = {}
    for _, line in written.lines:
        if move := _MOVE.match(line):
            first_moves.setdefault(move["id"], move["what"])
    scene = Scene(
        id=re.sub(r"[^a-z0-9]+", "-", written.title.casefold()).strip("-") or f"scene-{written.number}",
        title=written.title,
        language=language_of(written.setting),
        setting=written.setting,
        cast=tuple(
            Seat(persona=seat, present=first_moves.get(seat) != "enters", **given)
            for seat, given in written.seats.items()
        ),
        turn_kinds=(SAY, ACT, *_private_kinds(written)),
    )
    loaded = cast_scene(scene)
    return CorpusScene(loaded, tuple(_lines(loaded, written.lines, name)), written.number)


def _private_kinds(written: _Written) -> Iterator[MessageKind]:
    """The private kinds that the scene has lines of, so that prompts offer no others."""
    found = [line for _, text in written.lines if (line := _LINE.match(text))]
    if any(line["to"] for line in found):
        yield WHISPER
    if any(line["thinks"] for line in found):
        yield THINK


def _lines(loaded: LoadedScene, lines: Sequence[tuple[int, str]], name: str) -> Iterator[SceneLine]:
    before: list[SceneLine] = []
    for number, text in lines:
        before.append(_line(loaded, text, before, f"{name}, line {number}"))
        yield before[-1]


def _line(loaded: LoadedScene, text: str, lines: Sequence[SceneLine], where: str) -> SceneLine:
    if move := _MOVE.match(text):
        return event_line(loaded, lines, _move(loaded, move, lines, where))
    found = _LINE.match(text)
    if found is None:
        raise CorpusError(f"{where} is none of “ID: …”, “ID (thinks): …”, “ID (to ID): …”, “[ID enters]”.")
    present = present_in(loaded.scene, lines)
    speaker = NARRATOR if found["id"] == NARRATOR else _seat(loaded, found["id"], where)
    if speaker != NARRATOR and speaker not in present:
        raise CorpusError(f"{where}: {speaker} is not there; let the character enter first.")
    to = tuple(_seat(loaded, one.strip(), where) for one in (found["to"] or "").split(",") if one.strip())
    if absent := next((one for one in to if one not in present), None):
        raise CorpusError(f"{where}: {speaker} whispers to {absent}, who is not there.")
    kind, words = _kind_of(found)
    return event_line(loaded, lines, ScheduledEvent(speaker, kind, to, words, {}))


def _move(
    loaded: LoadedScene, move: re.Match[str], lines: Sequence[SceneLine], where: str
) -> ScheduledEvent:
    seat = _seat(loaded, move["id"], where)
    is_there = seat in present_in(loaded.scene, lines)
    if is_there != (move["what"] == "leaves"):
        state = "there already" if is_there else "not there"
        raise CorpusError(f"{where}: {seat} {move['what']}, but is {state}.")
    return leave_event(loaded, seat) if is_there else join_event(loaded, seat)


def _kind_of(found: re.Match[str]) -> tuple[Kind, str]:
    text = found["text"].strip()
    if found["id"] == NARRATOR:
        return "narrate", text
    if found["thinks"]:
        return "think", text
    if found["to"]:
        return "whisper", text
    act = _ACT.match(text)
    return ("act", act["act"]) if act else ("say", text)


def _seat(loaded: LoadedScene, seat: str, where: str) -> str:
    if seat not in loaded.seats:
        known = ", ".join(loaded.seats)
        raise CorpusError(
            f"{where} names {seat!r}{did_you_mean(seat, loaded.seats)}, who is not in this scene; "
            f"its characters are {known}."
        )
    return seat
