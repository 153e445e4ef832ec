"""What was looked up for a user's line, as plain values: graph states and transcripts hold it."""

from typing import Literal, TypedDict

from rolellm_agents.cards.lorebook import Position, Role


class RecalledDemonstration(TypedDict):
    """A demonstration that was found for a user line."""

    kind: Literal["demonstration"]
    index: int
    """Its place in `Persona.demonstrations`."""
    score: float
    """BM25's; higher is nearer, 0 shares no word."""


class RecalledLore(TypedDict):
    """An entry of a lorebook that is active, as it goes into the prompt."""

    kind: Literal["lore"]
    book: str
    uid: str
    name: str
    text: str
    position: Position
    depth: int
    role: Role
    why: str
    """One sentence: which key fired, in which message, or what else made it active."""


RecalledItem = RecalledDemonstration | RecalledLore
