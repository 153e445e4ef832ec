"""Findings of the linter."""

from dataclasses import dataclass
from typing import Literal

Rule = Literal[
    "part-missing",
    "part-thin",
    "assistant-speak",
    "stage-direction",
    "wrong-language",
    "same-opening",
    "unheard-catchphrase",
    "copied-line",
    "foreign-name",
    "unusable-portrait",
]


@dataclass(frozen=True)
class PersonaFinding:
    """One violation of a rule in one persona."""

    persona: str
    """The persona's id."""
    rule: Rule
    message: str
    """One sentence that names the part and quotes the words."""

    @property
    def place(self) -> str:
        """The persona's id, before the message in a list of findings."""
        return self.persona
