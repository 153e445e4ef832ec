"""One thing that was looked up, as plain values: graph states and transcripts hold it."""

from typing import Literal, TypedDict


class RecalledItem(TypedDict):
    """A demonstration that was found for a user line."""

    kind: Literal["demonstration"]
    index: int
    """Its place in `Persona.demonstrations`."""
    score: float
    """BM25's; higher is nearer, 0 shares no word."""
