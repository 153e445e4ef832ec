"""PingPong (Gusev, 2024; arXiv 2409.06820): conversations of a character with a user who has an intention.

The file is `settings.json` of the repository IlyaGusev/ping_pong_bench, which states no license. For each
language it has characters and situations; each character meets each situation. A situation says what the
user does (such as insulting the character) and for how many turns.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.benchmarks.errors import BenchmarkError
from rolellm_agents.benchmarks.json_files import PublishedRow, json_files, read_json, validated
from rolellm_agents.text.language import Language

TITLE: Final = "PingPong"


@dataclass(frozen=True, kw_only=True)
class PingPongItem:
    """One character in one situation."""

    character: str
    profile: str
    """The published system prompt, followed by the published example."""
    number: int
    """The situation's number in its language, from 1."""
    kind: str
    """The situation's first tag, such as `environment`."""
    situation: str
    """What the user does."""
    rounds: int
    """Number of turns of the user."""


class _Character(PublishedRow):
    char_name: str
    system_prompt: str
    example_prompt: str = ""


class _Situation(PublishedRow):
    text: str
    tags: tuple[str, ...] = ()
    num_turns: int = 4


class _Settings(PublishedRow):
    characters: tuple[_Character, ...]
    situations: tuple[_Situation, ...]


def read_pingpong(path: Path, language: Language) -> list[PingPongItem]:
    """Read `settings.json`, or a folder that contains only this JSON file.

    Raises:
        BenchmarkError: the file cannot be read, or has nothing in this language.
    """
    [file, *others] = json_files(path)
    held = read_json(file)
    if others or not isinstance(held, dict):
        raise BenchmarkError(f"{path} is no settings file of {TITLE}; name its settings.json.")
    if language not in held:
        known = ", ".join(map(str, held))
        raise BenchmarkError(f"{file} has nothing in {language}; it has {known} (--language).")
    settings = validated(file, held[language], _Settings, TITLE)
    return [
        PingPongItem(
            character=character.char_name.strip(),
            profile=f"{character.system_prompt.strip()}\n\n{character.example_prompt.strip()}".strip(),
            number=number,
            kind=situation.tags[0] if situation.tags else "situation",
            situation=situation.text.strip(),
            rounds=situation.num_turns,
        )
        for character in settings.characters
        for number, situation in enumerate(settings.situations, 1)
    ]
