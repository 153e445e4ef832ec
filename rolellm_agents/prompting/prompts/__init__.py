"""Prompt texts as files: `LANGUAGE/ID.md`, with the id and a version at the top.

`Prompt.fill` fills the `{fields}` of a text. A change of a text must increase its version, because runs and
transcripts record the version.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import get_args

from rolellm_agents.text.language import Language


@dataclass(frozen=True)
class Prompt:
    """One text in one language."""

    id: str
    version: int
    language: Language
    text: str

    @property
    def name(self) -> str:
        """The name in records, such as `system/en@1`."""
        return f"{self.id}/{self.language}@{self.version}"

    def fill(self, **fields: str) -> str:
        """The text with its `{fields}` replaced; braces inside the values stay as they are."""
        return self.text.format_map(fields)


@cache
def load_prompt(prompt_id: str, language: Language) -> Prompt:
    """Read a prompt file.

    Raises:
        FileNotFoundError: there is no such prompt in this language.
    """
    source = (files(__name__) / language / f"{prompt_id}.md").read_text(encoding="utf-8")
    _, head, body = source.split("---\n", maxsplit=2)
    fields = dict(line.split(": ", maxsplit=1) for line in head.splitlines())
    return Prompt(fields["id"], int(fields["version"]), language, body.strip())


@cache
def load_prompts(language: Language) -> None:
    """Read all prompt files of a language, so that no later use of one reads a file."""
    for file in (files(__name__) / language).iterdir():
        load_prompt(file.name.removesuffix(".md"), language)


@dataclass(frozen=True)
class PromptTexts(Mapping[Language, str]):
    """The texts of one prompt by language; each is read from its file when it is used."""

    id: str

    def __getitem__(self, language: Language) -> str:
        """The text in a language."""
        if language not in get_args(Language):
            raise KeyError(language)
        return load_prompt(self.id, language).text

    def __iter__(self) -> Iterator[Language]:
        """The languages."""
        return iter(get_args(Language))

    def __len__(self) -> int:
        """The number of languages."""
        return len(get_args(Language))
