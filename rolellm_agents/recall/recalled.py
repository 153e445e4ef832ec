"""Recalled items as plain values, for graph states and transcripts."""

from typing import Literal

from typing_extensions import TypedDict

from rolellm_agents.cards.lore.lorebook import Position, Role


class RecalledDemonstration(TypedDict):
    """A demonstration that was found for a user line."""

    kind: Literal["demonstration"]
    index: int
    """Its index in `Persona.demonstrations`."""
    score: float
    """The score of the search method; higher is nearer."""
    why: str
    """The reason for the hit, in a few words."""


class RecalledPassage(TypedDict):
    """Knowledge, lore or a memory as it goes into the prompt."""

    kind: Literal["passage"]
    of: Literal["knowledge", "lore", "memory"]
    text: str
    source: str
    score: float
    why: str


class RecalledLore(TypedDict):
    """An active lorebook entry as it goes into the prompt."""

    kind: Literal["lore"]
    book: str
    uid: str
    name: str
    text: str
    position: Position
    depth: int
    role: Role
    why: str
    """One sentence: which key fired, in which message, or another reason why it is active."""


RecalledItem = RecalledDemonstration | RecalledPassage | RecalledLore
"""`kind` distinguishes them."""
