"""Read subtitles: SubRip, WebVTT, SubStation Alpha and the other formats of pysubs2."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pysubs2

from rolellm_agents.errors import ScriptError
from rolellm_agents.scripts.script import Script, ScriptPassage
from rolellm_agents.text.language import language_of

_TIMES = re.compile(r"^\d+:\d\d(?::\d\d)?[.,]\d+\s*-->", re.MULTILINE)
_SPEAKER = re.compile(
    r"^\s*(?:-\s*)?(?:\[(?P<bracketed>[A-Z\u3400-\u9fff][^\]]{0,40})\]\s*"
    r"|(?P<named>[A-Z][\w.'’\- ]{0,30}|[\u3400-\u9fff]{1,8})[:：]\s*)"
    r"(?P<words>\S.*)$",
    re.DOTALL,
)
_VOICE = re.compile(r"<v(?:\.[\w.]+)?\s+([^>]+)>")
_SOUND = re.compile(r"\[[^\]]*\]|\([^)]*\)|♪[^♪]*♪?|<[^>]+>")
_SOUND_FIRST = re.compile(r"^\s*\[[^A-Z\u3400-\u9fff\]][^\]]*\]\s*")
"""“[door slams]” before the speaker’s name."""
_PAUSE = 8_000
"""Milliseconds of silence that begin a new scene."""
_NEXT = 1_500
"""Most milliseconds before a line without a name that continues a speech."""


def is_subtitles(text: str) -> bool:
    """Whether a text is a subtitle file."""
    return bool(_TIMES.search(text)) or _is_ass(text) or text.startswith("WEBVTT")


def _is_ass(text: str) -> bool:
    return "[Script Info]" in text[:2_000]


def read_subtitles(text: str, name: str) -> Script:
    """Read subtitles; a line without a name continues the speech just before it.

    Raises:
        ScriptError: the file is damaged, or no line names its speaker.
    """
    voices = _VOICE.sub(r"\1: ", text)
    try:
        subtitles = pysubs2.SSAFile.from_string(voices, format_="ass" if _is_ass(text) else None)
        events = sorted(subtitles, key=lambda event: event.start)
    except pysubs2.exceptions.Pysubs2Error as error:
        raise ScriptError(f"{name} is a damaged subtitle file ({error}); repair it.") from error
    passages = tuple(_joined(_passages(events)))
    if not any(passage.speaker for passage in passages):
        raise ScriptError(
            f"The subtitles in {name} do not name the speakers; "
            "use subtitles for the hard of hearing (“JOHN: …”), or a transcript."
        )
    return Script(name, "subtitles", language_of(text), passages)


def _passages(events: list[pysubs2.SSAEvent]) -> Iterator[tuple[ScriptPassage, int, int]]:
    """Each line with its begin and end in milliseconds."""
    scene = 0
    ended = 0
    for event in events:
        if event.is_comment or not event.plaintext.strip():
            continue
        scene += event.start - ended > _PAUSE and ended > 0
        ended = event.end
        for text in _by_dashes(event.plaintext):
            named = _SPEAKER.match(_SOUND_FIRST.sub("", text))
            speaker = event.name or (named and (named["named"] or named["bracketed"])) or ""
            speech = " ".join(_SOUND.sub(" ", named["words"] if named else text).split())
            passage = ScriptPassage(
                text=" ".join(text.split()),
                place=pysubs2.time.ms_to_str(event.start),
                scene=scene,
                speaker=speaker.strip().upper() if speech else "",
                speech=speech,
                certainty="named" if speaker and speech else "none",
            )
            yield passage, event.start, event.end


def _by_dashes(text: str) -> list[str]:
    """Split a subtitle with several speakers, each of whom has a line with a dash."""
    parts = re.split(r"(?m)^\s*[-–]\s*(?=\S)", text)
    return [part for part in parts if part.strip()]


def _joined(timed: Iterator[tuple[ScriptPassage, int, int]]) -> Iterator[ScriptPassage]:
    """Join the lines of a speech into one passage."""
    last: tuple[ScriptPassage, int, int] | None = None
    for passage, start, end in timed:
        if last and passage.speech and last[0].speaker and start - last[2] < _NEXT:
            before = last[0]
            if passage.speaker in ("", before.speaker) and passage.scene == before.scene:
                joined = replace(
                    before,
                    text=f"{before.text} {passage.speech}",
                    speech=f"{before.speech} {passage.speech}",
                )
                last = (joined, last[1], end)
                continue
        if last:
            yield last[0]
        last = (passage, start, end)
    if last:
        yield last[0]
