"""Read plays and screenplays in plain text.

Three forms of a cue are known: the name alone on its line (screenplays and many plays), the name with a
full stop or colon before the words, and the Chinese full-width colon. The reader uses the form that gives
most spoken text; a name must occur twice to count.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rolellm_agents.scripts.headings import is_cut, is_heading, level, short_heading
from rolellm_agents.scripts.quotations import count_quotations
from rolellm_agents.scripts.script import Script, ScriptPassage
from rolellm_agents.text.language import Language

_NAME = r"[A-Z][A-Z0-9.'’\-]*(?:[ &][A-Z0-9#][A-Z0-9.'’\-]*){0,4}"
_ALONE = re.compile(rf"^\s*(?P<name>{_NAME})\s*(?:\([^)]*\)\s*)*[.:]?\s*$")
_MIXED = r"[A-Z][\w'’\-]*\.?(?:[ &][A-Z][\w'’\-]*){0,3}"
_CAPITALS_THEN_WORDS = re.compile(
    rf"^\s*(?P<name>{_NAME})\s*(?:[(\[][^)\]]*[)\]])?\s*[.:]\s*(?P<words>\S.*)$"
)
_NAME_THEN_WORDS = re.compile(rf"^\s*(?P<name>{_MIXED})\s*(?:[(\[][^)\]]*[)\]])?[.:]\s+(?P<words>\S.*)$")
_COLON_THEN_WORDS = re.compile(
    r"^\s*(?P<name>[\w·\u3400-\u9fff]{1,12})\s*(?:[（(][^）)]*[）)])?[：:]\s*(?P<words>\S.*)$"
)
_WAYS = (_ALONE, _CAPITALS_THEN_WORDS, _NAME_THEN_WORDS, _COLON_THEN_WORDS)
_DIRECTION = re.compile(r"\[[^\]]*\]|\([^)]*\)|（[^）]*）|【[^】]*】|_\([^)]*\)_")
_WHOLE_DIRECTION = re.compile(r"^\s*[\[(（【_].*[\])）】_]\s*\.?\s*$")
_ENTERS = re.compile(r"^\s*(?:(?:Re-)?[Ee]nter|ENTER|Exit|EXIT|Exeunt|EXEUNT|Flourish|Alarum|Alarums)\b")
_TWICE = 2
_FEWEST = 4
"""The least number of speeches in a play."""
_SHARE = 0.3
"""The least share of spoken letters in a play."""


def read_play(text: str, name: str, language: Language) -> Script | None:
    """Read a play or screenplay in plain text; `None` if the text is neither."""
    lines = text.split("\n")
    best: list[ScriptPassage] = []
    for way in _WAYS:
        names = _names(lines, way)
        if names:
            passages = list(_PlayReader(way, names).read(lines))
            if _spoken(passages) > _spoken(best):
                best = passages
    speeches = [passage for passage in best if passage.speech]
    letters = sum(not character.isspace() for character in text)
    if len(speeches) < _FEWEST or _spoken(best) < _SHARE * letters:
        return None
    if len({passage.speaker for passage in speeches}) < _TWICE or count_quotations(text) > len(speeches):
        return None
    return Script(title=_title(lines) or name, kind="play", language=language, passages=tuple(best))


def _spoken(passages: Sequence[ScriptPassage]) -> int:
    return sum(not character.isspace() for passage in passages for character in passage.speech)


def _names(lines: Sequence[str], way: re.Pattern[str]) -> set[str]:
    """Names that occur as cues at least twice."""
    counted: Counter[str] = Counter()
    for number, line in enumerate(lines):
        found = way.match(line)
        if not found or is_heading(line) or is_cut(line):
            continue
        if way is _ALONE and not _words_follow(lines, number):
            continue
        counted[_clean(found["name"])] += 1
    return {name for name, times in counted.items() if times >= _TWICE and not is_heading(name)}


def _words_follow(lines: Sequence[str], number: int) -> bool:
    """Whether words follow a cue, on the next line or after one empty line."""
    after = [line for line in lines[number + 1 : number + 3] if line.strip()]
    return bool(after) and not _ALONE.match(after[0])


@dataclass
class _PlayReader:
    """Reads line after line, and tracks speaker and scene."""

    way: re.Pattern[str]
    names: set[str]
    scene: int = -1
    headings: dict[int, str] = field(default_factory=dict)
    speaker: str = ""
    began: int = 0
    held: list[str] = field(default_factory=list)
    blank_lines: int = 0

    def read(self, lines: Sequence[str]) -> Iterator[ScriptPassage]:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                self.blank_lines += 1
                continue
            yield from self._line(number, line)
            self.blank_lines = 0
        yield from self._end()

    def _line(self, number: int, line: str) -> Iterator[ScriptPassage]:
        if is_heading(line):
            yield from self._end()
            self._divide(line)
            return
        cue = self.way.match(line)
        if cue and _clean(cue["name"]) in self.names:
            yield from self._end()
            self.speaker, self.began = _clean(cue["name"]), number
            self.held = [cue["words"]] if "words" in cue.groupdict() else []
            return
        if is_cut(line) or self._is_direction(line):
            yield from self._end()
        if not self.held and not self.speaker:
            self.began = number
        self.held.append(line.strip())

    def _is_direction(self, line: str) -> bool:
        """Whether a line after a speech is a stage direction, which ends the speech."""
        if not self.speaker or not self.held:
            return False
        if _ENTERS.match(line) or (self.blank_lines and _WHOLE_DIRECTION.match(line)):
            return True
        # In a screenplay, action follows an empty line; in a play, verse may continue after one.
        return self.way is _ALONE and self.blank_lines > 0

    def _divide(self, line: str) -> None:
        heading = short_heading(line)
        depth = level(heading)
        self.headings = {at: text for at, text in self.headings.items() if at < depth} | {depth: heading}
        self.scene += 1

    def _end(self) -> Iterator[ScriptPassage]:
        text = " ".join(" ".join(self.held).split())
        speech = " ".join(_DIRECTION.sub(" ", text).split()) if self.speaker else ""
        if text:
            yield ScriptPassage(
                text=f"{self.speaker}: {text}" if self.speaker else text,
                place=", ".join([*self.headings.values(), f"line {self.began}"]),
                scene=max(self.scene, 0),
                speaker=self.speaker if speech else "",
                speech=speech,
                certainty="named" if speech else "none",
            )
        self.speaker, self.held = "", []


def _clean(name: str) -> str:
    return " ".join(re.sub(r"\([^)]*\)", "", name).split()).rstrip(".:").strip()


def _title(lines: Sequence[str]) -> str:
    """The line “Title: …”, or the first line if it is short and not a heading."""
    for line in lines[:40]:
        if found := re.match(r"\s*Title:\s*(\S.*)", line):
            return found[1].strip()
    first = next((line.strip() for line in lines if line.strip()), "")
    return first[:80] if len(first) < 80 and not is_heading(first) else ""
