"""SocialBench (Chen et al., Findings of ACL 2024; arXiv 2403.13679): questions with options, and memory.

The files are `data/*.json` of the repository X-PLUG/SocialBench; see there for the license. A row has a
dialogue, `choices` and the letters of the right ones (`label`), or for `Individual-MEM` the words that a
reply should contain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import Field, field_validator

from rolellm_agents.benchmarks.json_files import PublishedRow, json_files, read_published
from rolellm_agents.text.language import Language

TITLE: Final = "SocialBench"
_MEMORY: Final = "Individual-MEM"
_GROUP: Final = "Group-SAP"


@dataclass(frozen=True, kw_only=True)
class SocialBenchItem:
    """A question about a conversation."""

    number: int
    """The row's number in its file, from 1."""
    category: str
    """Such as `Individual-SA-RoleStyle`."""
    language: Language
    name: str
    """The role to play; empty if there is none."""
    profiles: Mapping[str, str]
    """The descriptions of the roles by name."""
    dialogue: tuple[tuple[str, str], ...]
    """Speakers and texts."""
    instruction: str
    options: Mapping[str, str]
    """Texts by letter; empty for memory."""
    right: tuple[str, ...]
    """The letters of the right options, or the words that the reply should contain."""

    @property
    def is_memory(self) -> bool:
        """Whether the role answers in its own words."""
        return self.category == _MEMORY

    @property
    def is_group(self) -> bool:
        """Whether the role takes part in a group's conversation."""
        return self.category.startswith(_GROUP)


class _Turn(PublishedRow):
    speaker: str = Field(alias="from")
    value: str


class _Meta(PublishedRow):
    category: str
    lang: str = "en"
    name: str = ""
    profile: dict[str, str] = Field(default_factory=dict)


class _Row(PublishedRow):
    dialogue: tuple[_Turn, ...]
    instruction: str = ""
    choices: dict[str, str] = Field(default_factory=dict)
    label: tuple[str, ...]
    meta: _Meta

    @field_validator("choices", mode="before")
    @classmethod
    def _may_be_missing(cls, choices: Any) -> Any:
        return choices or {}


def read_socialbench(path: Path) -> list[SocialBenchItem]:
    """Read one file, or all files of a folder.

    Rows without a right answer are left out.

    Raises:
        BenchmarkError: a file cannot be read.
    """
    return [
        SocialBenchItem(
            number=number,
            category=row.meta.category,
            language="zh" if row.meta.lang.lower().startswith("zh") else "en",
            name=row.meta.name,
            profiles=row.meta.profile,
            dialogue=tuple((turn.speaker, turn.value.strip()) for turn in row.dialogue),
            instruction=row.instruction.strip(),
            options={letter: text.strip() for letter, text in row.choices.items()},
            right=row.label,
        )
        for file in json_files(path)
        for number, row in enumerate(read_published(file, _Row, TITLE), 1)
        if row.label
    ]
