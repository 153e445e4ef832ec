"""Measures speed and accuracy of reading scripts (`rolellm bench script FILE`).

For the accuracy, a tagged play is converted to the layout of printed plays and read again.
"""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from rolellm_agents.scripts.play import read_play
from rolellm_agents.scripts.reading import read_script
from rolellm_agents.scripts.script import Script

Setting = Literal["name above", "name before", "screenplay"]
SETTINGS: tuple[Setting, ...] = ("name above", "name before", "screenplay")


def measure_script(path: Path) -> Mapping[str, float | int | str]:
    """Measure the time for reading a script, and for a tagged play the accuracy on its plain text.

    Raises:
        ScriptError: the file is no script.
    """
    began = time.perf_counter()
    script = read_script(path)
    seconds = time.perf_counter() - began
    speeches = [passage for passage in script.passages if passage.speech]
    found: dict[str, float | int | str] = {
        "title": script.title,
        "kind": script.kind,
        "read_s": round(seconds, 3),
        "speeches": len(speeches),
        "speakers": len(script.speakers()),
        "with_speaker": _share(sum(bool(passage.speaker) for passage in speeches), len(speeches)),
    }
    for certainty in ("named", "pronoun", "turn"):
        found[f"by_{certainty}"] = sum(passage.certainty == certainty for passage in speeches)
    if script.kind == "tagged play":
        for setting in SETTINGS:
            found[f"right_from_{setting.replace(' ', '_')}"] = attributed_right(script, setting)
    return found


def attributed_right(script: Script, setting: Setting) -> float:
    """The share of a play's speeches that are attributed to the tagged speaker in its plain text."""
    read = read_play(as_print(script, setting), script.title, script.language)
    given = {_beginning(passage.speech): passage.speaker for passage in read.passages} if read else {}
    speeches = [passage for passage in script.passages if passage.speech and passage.speaker]
    right = sum(
        given.get(_beginning(passage.speech), "").casefold() == passage.speaker.casefold()
        for passage in speeches
    )
    return _share(right, len(speeches))


def as_print(script: Script, setting: Setting) -> str:
    """A play as plain text, each scene with its heading."""
    lines = [script.title]
    scene = -1
    for passage in script.passages:
        if passage.scene != scene:
            scene = passage.scene
            lines += ["", re.sub(r",? ?speech \d+$", "", passage.place).rpartition(", ")[2].upper(), ""]
        if not passage.speech:
            lines += ["", f"[{passage.text}]", ""]
        elif setting == "name above":
            lines += ["", f"{passage.speaker.upper()}.", passage.speech]
        elif setting == "name before":
            lines += ["", f"{passage.speaker.upper()}. {passage.speech}"]
        else:
            lines += ["", " " * 20 + passage.speaker.upper(), " " * 10 + passage.speech]
    return "\n".join(lines)


def _beginning(speech: str) -> str:
    """The beginning of a speech, by which it is identified, without directions and punctuation."""
    return re.sub(r"\W", "", re.sub(r"\[[^\]]*\]|\([^)]*\)", "", speech).casefold())[:50]


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
