"""Group a scene's lines into paragraphs of prose, and decide where a speaker's name can be left out."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from rolellm_agents.scene.export.chinese import ChineseWording
from rolellm_agents.scene.export.english import EnglishWording
from rolellm_agents.scene.export.parts import clean, parts_of, without_marks
from rolellm_agents.scene.export.people import inside, listeners_of, name_of
from rolellm_agents.scene.export.signs import is_prose, unwrapped
from rolellm_agents.scene.export.wording import SpeechContext, Wording
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.message_kinds import BUILT_IN, kind_of
from rolellm_agents.scene.scene import NARRATOR
from rolellm_agents.text import one_line
from rolellm_agents.text.language import Language

_LONG = 500
"""Characters after which a paragraph takes no further line."""
_SECTION = 12
"""Least paragraphs of a section; the next scheduled event then begins a new one."""
_MOST_UNNAMED = 2
"""Most consecutive paragraphs of speech without a name, while two speakers alternate."""
_LISTED: dict[Language, str] = {"en": " and ", "zh": "和"}
_NOBODY: dict[Language, str] = {"en": "nobody", "zh": "无人"}
_ASKED = re.compile(r"[?？]\W*\Z")


class ProseParagraph(NamedTuple):
    """One paragraph; the markers of `parts` enclose stressed words and thoughts."""

    text: str
    begins_section: bool


def paragraphs_of(loaded: LoadedScene, lines: Sequence[SceneLine]) -> list[ProseParagraph]:
    """Write lines as prose; the result is deterministic."""
    writer = _ProseWriter(loaded, lines)
    paragraphs: list[ProseParagraph] = []
    since = 0
    for group in _groups([line for line in lines if _pieces(line)]):
        begins = since >= _SECTION and _is_event(loaded, group[0])
        since = 1 if begins else since + 1
        paragraphs.append(ProseParagraph(writer.paragraph(group, begins_section=begins), begins))
    return paragraphs


def _groups(lines: Sequence[SceneLine]) -> Iterator[list[SceneLine]]:
    group: list[SceneLine] = []
    for line in lines:
        if group and not _belongs(group, line):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _belongs(group: Sequence[SceneLine], line: SceneLine) -> bool:
    """Whether a line belongs to the paragraph of the group."""
    last = group[-1]
    if sum(len(one["text"]) for one in group) > _LONG or last["kind"] == "whisper":
        return False
    if _is_narrated(line):
        # Narration of an act's outcome stays with the act.
        return _is_narrated(last) or (last["kind"] == "act" and line["kind"] == "narrate")
    if _is_narrated(last) or last["speaker"] != line["speaker"]:
        return False
    # A speaker's second speech begins a new paragraph.
    return line["kind"] in ("act", "think") or all(one["kind"] in ("act", "think") for one in group)


def _is_narrated(line: SceneLine) -> bool:
    return line["kind"] in ("narrate", "join", "leave") or line["speaker"] == NARRATOR


def _is_event(loaded: LoadedScene, line: SceneLine) -> bool:
    return line["kind"] == "narrate" and line["text"].strip() in {
        event.text.strip() for event in loaded.scene.events
    }


class _Piece(NamedTuple):
    kind: str
    """"said", "done", "thought", "narration", "prose", which has its own quotes and narration, or "own" for
    words of a message kind that is not ours."""
    text: str
    line: SceneLine


class _ProseWriter:
    """Writes one paragraph after another, and remembers who spoke in them."""

    def __init__(self, loaded: LoadedScene, lines: Sequence[SceneLine]) -> None:
        zh = loaded.scene.language == "zh"
        self._loaded = loaded
        self._wording: Wording = ChineseWording(loaded, lines) if zh else EnglishWording(loaded, lines)
        self._spoken: list[SceneLine] = []
        """The last spoken line of each paragraph, since the last paragraph without speech."""
        self._unnamed = 0

    def paragraph(self, group: Sequence[SceneLine], *, begins_section: bool) -> str:
        if begins_section:
            self._spoken = []
        pieces = [piece for line in group for piece in _pieces(line)]
        sentences: list[str] = []
        place = 0
        while place < len(pieces):
            sentence, used = self._sentences(pieces, place)
            sentences.append(sentence)
            place += used
        spoken = [line for line in group if line["kind"] in ("say", "whisper")]
        self._spoken = [*self._spoken, spoken[-1]] if spoken else []
        return self._wording.blank.join(sentences)

    def _sentences(self, pieces: Sequence[_Piece], place: int) -> tuple[str, int]:
        """One or more sentences for the next piece, and the number of pieces that they cover."""
        piece, before = pieces[place], pieces[:place]
        following = pieces[place + 1] if place + 1 < len(pieces) else None
        speaker = piece.line["speaker"]
        named = bool(before) and before[-1].kind != "narration"
        match piece.kind:
            case "narration":
                return self._wording.narrate(piece.text), 1
            case "prose" if not named:
                return self._wording.narrate_quoting(speaker, piece.text), 1
            case "prose":
                return self._wording.narrate(piece.text), 1
            case "own":
                return self._own(piece), 1
            case "thought":
                return self._wording.thought(speaker, piece.text, known=named), 1
            case "done" if following and following.kind == "said" and not named:
                context = self._context(following, before)
                self._unnamed = 0
                return self._wording.action_and_speech(speaker, piece.text, following.text, context), 2
            case "done":
                return self._wording.action(speaker, piece.text, after=_after(before)), 1
        if self._can_omit_name(piece, before, following):
            return self._wording.quote(piece.text), 1
        return self._wording.speech(speaker, piece.text, self._context(piece, before)), 1

    def _own(self, piece: _Piece) -> str:
        """Words after what their kind is called, as in “Walt signs to Juno”."""
        scene, speaker = self._loaded.scene, piece.line["speaker"]
        to = _LISTED[scene.language].join(inside(name) for name in listeners_of(self._loaded, piece.line))
        kind = kind_of(piece.line["kind"], scene.turn_kinds)
        label = one_line(kind.labelled(to or _NOBODY[scene.language], scene.language))
        does, colon = (f" {label}", ": ") if scene.language == "en" else (label, "：")
        return f"{name_of(self._loaded, speaker)}{does}{colon}{self._wording.quote(piece.text)}"

    def _can_omit_name(self, piece: _Piece, before: Sequence[_Piece], following: _Piece | None) -> bool:
        """Whether the speaker is clear without a name."""
        if any(one.kind == "said" and one.line is piece.line for one in before):
            return True
        whispered = piece.line["kind"] == "whisper"
        if before:
            return not whispered and before[-1].kind in ("done", "said", "prose")
        takes_turns = (
            len(self._spoken) > 1
            and self._spoken[-1]["speaker"] != piece.line["speaker"]
            and self._spoken[-2]["speaker"] == piece.line["speaker"]
            and self._spoken[-1]["kind"] == "say"
        )
        clear = takes_turns and following is None and self._unnamed < _MOST_UNNAMED and not whispered
        self._unnamed = self._unnamed + 1 if clear else 0
        return clear

    def _context(self, piece: _Piece, before: Sequence[_Piece]) -> SpeechContext:
        line = piece.line
        last = self._spoken[-1] if self._spoken else None
        by_another = last is not None and last["speaker"] != line["speaker"]
        whispered = line["kind"] == "whisper"
        if last is not None and whispered:
            answers = (
                by_another and last["kind"] == "whisper" and set(last["audience"]) == set(line["audience"])
            )
        else:
            answers = by_another and last is not None and bool(_ASKED.search(last["text"]))
        return SpeechContext(
            to=tuple(seat for seat in line["audience"] if seat != line["speaker"]) if whispered else None,
            answers=answers,
            continues=last is not None and not by_another and not before,
            aloud=bool(before) and before[-1].kind == "thought",
            crowd=len(line["audience"]) > 2,
        )


def _after(before: Sequence[_Piece]) -> Literal["", "done", "said"]:
    kind = before[-1].kind if before else ""
    return "done" if kind == "done" else "said" if kind in ("said", "prose") else ""


def _pieces(line: SceneLine) -> list[_Piece]:
    if _is_narrated(line):
        words = clean(line["text"])
        return [_Piece("narration", words, line)] if words else []
    if line["kind"] in ("act", "think"):
        words = without_marks(line["text"])
        return [_Piece("done" if line["kind"] == "act" else "thought", words, line)] if words else []
    if line["kind"] not in BUILT_IN:
        words = without_marks(line["text"])
        return [_Piece("own", words, line)] if words else []
    return [
        _Piece("prose" if kind == "said" and is_prose(text) else kind, unwrapped(text), line)
        for kind, text in parts_of(line["text"])
    ]
