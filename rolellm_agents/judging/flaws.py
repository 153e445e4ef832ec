"""The scene judge's question, the parser of its list of flaws, and the score computed from them.

After CoSER (arXiv 2502.09082): a critic lists flaws with a severity from 1 to 5 in four dimensions, and
each dimension's score is 100 minus five for each point of severity, corrected for the scene's length.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, Literal, get_args

from rolellm_agents.judging.asking import JudgeQuestion, form_of, shortened
from rolellm_agents.judging.showing import cut
from rolellm_agents.models.loose_json import values_in
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.text import one_line
from rolellm_agents.text.language import Language

Dimension = Literal["anthropomorphism", "fidelity", "storyline-quality", "storyline-consistency"]
DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)

LINES_AT_ONCE: Final = 40
"""Longer scenes are judged in parts: of more lines at once, a critic only lists flaws of the first few."""
_LINES_BEFORE: Final = 10
"""Lines of the previous part that are shown as context."""
_MOST_FLAWS: Final = 8
"""Maximum number of flaws in one part; without a limit a small model may never stop."""
_LONGEST_LINE: Final = 800
_LONGEST_ABOUT: Final = 800
_POINTS: Final = 5.0
_FREE: Final = 0.3
"""Severity per line that costs no points, since longer scenes contain more flaws."""
_SHOWN: Final = re.compile(r"1 to 5|a number|1到5|行号")
"""Placeholders of the format that the prompt shows."""
_FLAW_KEYS: Final = ("flaw", "what", "problem", "reason", "description", "毛病", "问题", "描述")
_LINE_KEYS: Final = ("line", "line_number", "行", "行号")
_SEVERITY_KEYS: Final = ("severity", "严重程度", "严重性", "程度")
_NESTED = 4


@dataclass(frozen=True)
class JudgedSceneLine:
    """One line of a scene as the critic sees it."""

    speaker: str
    """Name of the speaker; empty for narration."""
    text: str


@dataclass(frozen=True, kw_only=True)
class JudgedScene:
    """A played scene, or a conversation between a persona and a person."""

    key: str
    """Unique among all items of a run."""
    title: str
    setting: str
    language: Language
    people: Mapping[str, str]
    """Descriptions by name."""
    lines: tuple[JudgedSceneLine, ...]

    @property
    def spoken(self) -> int:
        """The number of lines in which a character speaks or acts."""
        return sum(bool(line.speaker) for line in self.lines)


@dataclass(frozen=True)
class Flaw:
    """A flaw in a scene."""

    what: str
    line: int
    """Line number, from 1."""
    speaker: str
    """Name of the line's speaker; empty for narration."""
    severity: int
    """1 (slight) to 5 (severe)."""


@dataclass(frozen=True)
class FoundFlaws:
    """The flaws that a critic listed for a part of a scene."""

    flaws: tuple[Flaw, ...]
    dropped: int
    """Number of invalid entries: unknown line, severity outside 1 to 5, or no description."""


def parts_of(scene: JudgedScene) -> list[range]:
    """The parts in which a scene is judged, as ranges of line numbers from 1."""
    count = len(scene.lines)
    return [
        range(first, min(first + LINES_AT_ONCE, count + 1)) for first in range(1, count + 1, LINES_AT_ONCE)
    ]


def flaw_question(scene: JudgedScene, dimension: Dimension, part: range) -> JudgeQuestion[FoundFlaws]:
    """The critic's question about the lines of a part, in one dimension."""
    prompt = load_prompt("judge-scene", scene.language)
    criterion = load_prompt(f"judge-scene-{dimension}", scene.language)
    shown = range(max(1, part.start - _LINES_BEFORE), part.stop)
    text = prompt.fill(
        title=one_line(scene.title, 200),
        setting=cut(scene.setting, _LONGEST_ABOUT) or "…",
        people="\n".join(f"{name}: {cut(about, _LONGEST_ABOUT)}" for name, about in scene.people.items())
        or "…",
        lines="\n".join(_numbered(scene, number) for number in shown),
        dimension=criterion.text,
        first=str(part.start),
        last=str(part.stop - 1),
    )
    entry = form_of(
        "flaw",
        "A flaw.",
        {
            "flaw": {"type": "string", "minLength": 8, "maxLength": 240},
            "line": {"type": "integer", "minimum": part.start, "maximum": part.stop - 1},
            "severity": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
        },
    )
    listed = {"type": "array", "items": entry, "minItems": 0, "maxItems": _MOST_FLAWS}
    form = form_of("flaws", "The flaws found.", {"flaws": listed})
    return JudgeQuestion(
        prompt=f"{prompt.name}, {criterion.name}",
        text=text,
        form=form,
        read=partial(read_flaws, scene=scene, part=part),
        tokens=_MOST_FLAWS * 100,
    )


def read_flaws(text: str, scene: JudgedScene, part: range) -> FoundFlaws | None:
    """Parse a critic's answer; None when it contains no list of flaws, or only invalid entries.

    Flaws of lines outside of `part` are invalid.
    """
    found = next(
        (listed for value in values_in(text) if (listed := _list_in(value, _NESTED)) is not None), None
    )
    if found is None:
        return None
    read = [_flaw(entry, scene, part) for entry in found]
    kept = {(flaw.line, flaw.what): flaw for flaw in read if flaw is not None}
    if read and not kept:
        return None
    return FoundFlaws(tuple(kept.values()), read.count(None))


def flaw_score(severities: Sequence[int], lines: int) -> float:
    """The score of a scene: 100 − 5·(Σ severity − 0.3·lines), clipped to 0 to 100.

    Severities go from 1 to 5; `lines` is the number of lines in which a character speaks or acts.
    """
    return min(100.0, max(0.0, 100.0 - _POINTS * (sum(severities) - _FREE * lines)))


def flaws_to_json(flaws: Sequence[Flaw]) -> list[dict[str, Any]]:
    """Convert flaws to the JSON values that verdicts store, in the order of the lines."""
    return [asdict(flaw) for flaw in sorted(flaws, key=lambda flaw: (flaw.line, -flaw.severity))]


def _numbered(scene: JudgedScene, number: int) -> str:
    line = scene.lines[number - 1]
    text = one_line(line.text, _LONGEST_LINE)
    return f"{number}. {line.speaker}: {text}" if line.speaker else f"{number}. [{text}]"


def _list_in(value: Any, depth: int) -> list[Any] | None:
    """The list of flaws in a JSON value; an empty list and “flaws: none” are valid, too."""
    if isinstance(value, list):
        return value if all(isinstance(one, dict) for one in value) else None
    if not isinstance(value, dict) or depth == 0:
        return None
    if _of(value, _LINE_KEYS) is not None and _of(value, _SEVERITY_KEYS) is not None:
        return [value]
    for key in ("flaws", "毛病", "问题"):
        if key in value:
            return [] if value[key] in (None, "", "none", "None", "无") else _list_in(value[key], depth - 1)
    inner = (_list_in(held, depth - 1) for held in value.values())
    return next((found for found in inner if found), None)


def _flaw(entry: Any, scene: JudgedScene, part: range) -> Flaw | None:
    what = shortened(_of(entry, _FLAW_KEYS))
    line, severity = _number(_of(entry, _LINE_KEYS)), _number(_of(entry, _SEVERITY_KEYS))
    if not _says_something(what) or line is None or line not in part or severity not in (1, 2, 3, 4, 5):
        return None
    return Flaw(what, line, scene.lines[line - 1].speaker, severity)


def _says_something(what: str) -> bool:
    """Whether a flaw has words of its own; small models copy the placeholders of the prompt."""
    return sum(map(str.isalpha, _SHOWN.sub("", what))) > 1


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 9:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value)


def _of(value: Any, names: tuple[str, ...]) -> Any:
    if not isinstance(value, dict):
        return None
    return next((held for key, held in value.items() if key.casefold().strip() in names), None)
