"""CharacterBench (Zhou et al., AAAI 2025; arXiv 2412.11912): replies with people's scores.

The files are `eval_data/raw_data/DIMENSION_test.json` of the repository thu-coai/CharacterBench, which
states no license. There are eleven dimensions. Each row is Chinese with an English translation. Besides the
human score (1 to 5, in some dimensions fewer) it has the scores of the authors' judge (`pred_zh`,
`pred_en`, and variants).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from rolellm_agents.benchmarks.errors import BenchmarkError
from rolellm_agents.benchmarks.json_files import PublishedRow, json_files, read_published
from rolellm_agents.text.language import Language

TITLE: Final = "CharacterBench"
_PART = re.compile(r"_(?:test|train|raw|all)$")


@dataclass(frozen=True, kw_only=True)
class CharacterBenchItem:
    """A conversation with a character, a model's reply, and its scores."""

    dimension: str
    """Such as `memory_consistency`."""
    language: Language
    name: str
    profile: str
    turns: tuple[tuple[Literal["user", "persona"], str], ...]
    """The conversation; the reply answers the last turn."""
    reply: str
    score: float
    """People's score."""
    judges: Mapping[str, float]
    """The scores of published judges in this language."""


class _Utterance(PublishedRow):
    speaker: str
    utterance: str


class _Response(PublishedRow):
    response: str


class _Translation(PublishedRow):
    character_name: str
    character_profile: str
    dialogue: tuple[_Utterance, ...]
    response_messages: _Response


class _Row(_Translation):
    annotation_score: float
    translation_en: _Translation | None = None
    predicted: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _collect_judges(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        return {**row, "predicted": {key: row[key] for key in row if str(key).startswith("pred_")}}


def read_characterbench(path: Path, language: Language) -> list[CharacterBenchItem]:
    """Read a file of one dimension, or all files of a folder; the file's name is the dimension's.

    Rows without a text in this language are left out.

    Raises:
        BenchmarkError: a file cannot be read, or no row has this language.
    """
    items = [
        item
        for file in json_files(path)
        for row in read_published(file, _Row, TITLE)
        if (item := _item(row, _PART.sub("", file.stem), language)) is not None
    ]
    if not items:
        raise BenchmarkError(f"{path} has no rows in the language {language!r}.")
    return items


def _item(row: _Row, dimension: str, language: Language) -> CharacterBenchItem | None:
    text: _Translation | None = row if language == "zh" else row.translation_en
    if text is None or not text.dialogue or text.dialogue[-1].speaker != "user":
        return None
    return CharacterBenchItem(
        dimension=dimension,
        language=language,
        name=text.character_name.strip(),
        profile=text.character_profile.strip() or text.character_name,
        turns=tuple(
            ("user" if one.speaker == "user" else "persona", one.utterance) for one in text.dialogue
        ),
        reply=text.response_messages.response,
        score=row.annotation_score,
        judges={
            name: float(value)
            for name, value in row.predicted.items()
            if name.startswith(f"pred_{language}") and isinstance(value, int | float)
        },
    )
