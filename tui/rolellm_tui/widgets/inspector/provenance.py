"""What the answers of a session were made of."""

from dataclasses import dataclass

from rolellm_agents.recall import RecalledItem
from rolellm_graphs.events import Event, Prompted, Recalled, TokenDelta


@dataclass(frozen=True)
class AnswerProvenance:
    """What an answer was made of, as far as this session saw it being made."""

    prompted: Prompted | None
    """None for an answer of an earlier session."""
    recalled: tuple[RecalledItem, ...]


class ProvenanceLog:
    """Keeps what each answer was made of, by the events that come before its words."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._made: dict[str, AnswerProvenance] = {}
        self._prompted: Prompted | None = None
        self._recalled: tuple[RecalledItem, ...] = ()

    def note(self, event: Event) -> None:
        """Take what an event tells."""
        match event:
            case Recalled(items=items):
                self._recalled = items
            case Prompted():
                self._prompted = event
            case TokenDelta(message=message) if message not in self._made:
                self._made[message] = AnswerProvenance(self._prompted, self._recalled)

    def of(self, message: str) -> AnswerProvenance:
        """What the message with this id was made of."""
        return self._made.get(message, AnswerProvenance(None, ()))
