"""Prompt texts as files: `LANGUAGE/ID.md`, with the id and a version at the top.

`Prompt.fill` fills the `{fields}` of a text. A change of a text must increase its version, because runs and
transcripts record the version.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

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
    fields = yaml.safe_load(head)
    return Prompt(fields["id"], fields["version"], language, body.strip())
