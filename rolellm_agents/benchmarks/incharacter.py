"""InCharacter (Wang et al., ACL 2024; arXiv 2310.17976): personality questionnaires as interviews.

The files are those of the folder `data` of the repository Neph0s/InCharacter: `characters.json` with names,
`characters_labels.json` with what annotators say of each character's dimensions, and
`questionnaires/NAME.json` with questions. A type is `H` (high), `L` (low) or `X` (neither, which is not
evaluated). 16Personalities is not read: its scores are those of a web service.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from rolellm_agents.benchmarks.errors import BenchmarkError
from rolellm_agents.benchmarks.json_files import PublishedRow, json_files, read_json, validated
from rolellm_agents.text.language import Language

TITLE: Final = "InCharacter"
_SERVICE: Final = "16Personalities"
_LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")


@dataclass(frozen=True, kw_only=True)
class InCharacterItem:
    """One question of a questionnaire to one character."""

    code: str
    """The character's published code, such as `Sheldon-en`."""
    names: tuple[str, ...]
    language: Language
    questionnaire: str
    dimension: str
    number: str
    """The question's published number."""
    statement: str
    """What a questionnaire states, such as `Is talkative.`"""
    question: str
    """The same as a question to the character."""
    low: int
    high: int
    """The ends of the scale, from disagreement to agreement."""
    is_reversed: bool
    """Whether agreement speaks for a low value of the dimension."""
    target: Literal["H", "L"]
    """The annotators' type of the character in this dimension."""


class _Question(PublishedRow):
    origin_en: str
    origin_zh: str
    rewritten_en: str
    rewritten_zh: str
    dimension: str
    category: str


class _Questionnaire(PublishedRow):
    name: str
    range: tuple[int, int]
    questions: Mapping[str, _Question]


class _Label(PublishedRow):
    type: str


class _Labels(PublishedRow):
    annotation: Mapping[str, Mapping[str, Mapping[str, _Label]]]


class _Character(PublishedRow):
    alias: tuple[str, ...]


def read_incharacter(path: Path) -> list[InCharacterItem]:
    """Read the folder `data`.

    Raises:
        BenchmarkError: a file is missing or is not one of InCharacter.
    """
    of_labels, of_names = path / "characters_labels.json", path / "characters.json"
    labels = validated(of_labels, read_json(of_labels), _Labels, TITLE).annotation
    characters = read_json(of_names)
    if not isinstance(characters, dict):
        raise BenchmarkError(f"{of_names} holds no characters; is it a file of {TITLE}?")
    found: list[InCharacterItem] = []
    for file in json_files(path / "questionnaires"):
        if file.stem == _SERVICE:
            continue
        questionnaire = validated(file, read_json(file), _Questionnaire, TITLE)
        for code, character in characters.items():
            names = validated(of_names, character, _Character, TITLE).alias
            own = labels.get(code, {}).get(questionnaire.name, {})
            found += _items(code, names, questionnaire, own)
    return found


def _items(
    code: str, names: tuple[str, ...], questionnaire: _Questionnaire, labels: Mapping[str, _Label]
) -> Iterator[InCharacterItem]:
    language = next((one for one in _LANGUAGES if code.endswith(f"-{one}")), None)
    for number, question in questionnaire.questions.items():
        label = labels.get(question.dimension)
        if language is None or label is None or label.type not in ("H", "L"):
            continue
        low, high = questionnaire.range
        yield InCharacterItem(
            code=code,
            names=names,
            language=language,
            questionnaire=questionnaire.name,
            dimension=question.dimension,
            number=number,
            statement=question.origin_zh if language == "zh" else question.origin_en,
            question=question.rewritten_zh if language == "zh" else question.rewritten_en,
            low=low,
            high=high,
            is_reversed=question.category == "negative",
            target="H" if label.type == "H" else "L",
        )
