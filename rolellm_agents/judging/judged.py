"""What judges are given, and what a judge is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.persona import Persona


class ConversationTurn(NamedTuple):
    """One thing said in a conversation of two."""

    speaker: Literal["user", "persona"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A persona's reply in its conversation."""

    key: str
    """Unique among all items of a run."""
    persona: Persona
    turns: tuple[ConversationTurn, ...]
    """What was said before the reply; the last is what the reply answers."""
    reply: str
    references: tuple[str, ...] = ()
    """Answers known to be good, if there are any."""

    @property
    def question(self) -> str:
        """What the reply answers."""
        return self.turns[-1].text


class ReplyJudge(Protocol):
    """Judges one reply by itself."""

    @property
    def measures(self) -> Sequence[str]:
        """The measures of its verdicts, one verdict each; higher values are better."""
        ...

    async def judge(self, judged: Judged) -> list[Verdict]:
        """One verdict for each measure. What the model does wrong is in the verdict and never raised.

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
        """1 when the first is better, 0 when the second is, 0.5 when neither; asked in both orders.

        `details` says what each order gave, as `orders`, and whether they agree, as `consistent`. The two
        are of one persona and one conversation; the verdict's subject is the first one's key.

        Raises:
            ModelError: the model cannot be loaded.
        """
        ...
