"""Provenance of the answers of a session."""

from dataclasses import dataclass
from typing import Self

from rolellm_agents.recall import RecalledItem
from rolellm_graphs.events import Event, Prompted, Recalled, TokenDelta


@dataclass(frozen=True)
class AnswerProvenance:
    """Provenance of an answer."""

    prompted: Prompted | None
    """None for an answer of an earlier session."""
    recalled: tuple[RecalledItem, ...]


class ProvenanceLog:
    """Records the provenance of answers from events."""

    def __init__(self, made: dict[str, AnswerProvenance] | None = None) -> None:
        """Create a record.

        Args:
            made: the answers of another record, which are shared with it; an empty record when None.
        """
        self._made: dict[str, AnswerProvenance] = {} if made is None else made
        self._prompted: Prompted | None = None
        self._recalled: tuple[RecalledItem, ...] = ()

    def beside(self) -> Self:
        """A log for another answer at the same time, which is found in this one."""
        return type(self)(self._made)

    def note(self, event: Event) -> None:
        """Record an event."""
        match event:
            case Recalled(items=items):
                self._recalled = items
            case Prompted():
                self._prompted = event
            case TokenDelta(message=message) if message not in self._made:
                self._made[message] = AnswerProvenance(self._prompted, self._recalled)

    def of(self, message: str) -> AnswerProvenance:
        """The provenance of a message."""
        return self._made.get(message, AnswerProvenance(None, ()))
