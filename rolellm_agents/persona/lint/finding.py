"""What the linter finds."""

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
]


@dataclass(frozen=True)
class PersonaFinding:
    """One thing that is wrong with one persona."""

    persona: str
    """Its id."""
    rule: Rule
    message: str
    """One sentence that names the part and shows the words."""
