"""The input of judges and their protocols."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.persona import Persona


class ConversationTurn(NamedTuple):
    """One turn of a conversation between a user and a persona."""

    speaker: Literal["user", "persona"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A persona's reply in its conversation."""

    key: str
    """Unique among all items of a run."""
    persona: Persona
    turns: tuple[ConversationTurn, ...]
    """The turns before the reply; the reply answers the last of them."""
    reply: str
    references: tuple[str, ...] = ()
    """Reference answers, if there are any."""

    @property
    def question(self) -> str:
        """The turn that the reply answers."""
        return self.turns[-1].text


class ReplyJudge(Protocol):
    """Judges one reply by itself."""

    @property
    def measures(self) -> Sequence[str]:
        """The measures of its verdicts, one verdict each; higher values are better."""
        ...

    async def judge(self, judged: Judged) -> list[Verdict]:
        """Return one verdict for each measure. A failed answer of the model is a verdict without a value.

        Raises:
            ModelError: the model cannot be loaded.
        """
        ...


class PairJudge(Protocol):
    """Judges which of two replies is the better one."""

    @property
    def measure(self) -> str:
        """The measure of its verdicts."""
        ...

    async def compare(self, first: Judged, second: Judged) -> Verdict:
        """Compare two replies in both orders.

        The value is 1 when the first is better, 0 when the second is, and 0.5 for a tie.

        In the verdict's `details`, `orders` holds the outcome of each order, and `consistent` says whether
        they agree. Both replies must belong to one persona and one conversation; the verdict's subject is
        the key of the first.

        Raises:
            ModelError: the model cannot be loaded.
        """
        ...
