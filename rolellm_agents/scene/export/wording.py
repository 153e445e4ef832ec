"""What the prose of a language has to know: how somebody says, whispers, thinks and does something."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Telling:
    """What stands around something that is said, as far as how it is told depends on it."""

    to: tuple[str, ...] | None = None
    """The seats that hear a whisper; None when it is no whisper."""
    answers: bool = False
    """Whether somebody else asked, or whispered to the speaker, just before."""
    goes_on: bool = False
    """Whether the speaker said something just before."""
    aloud: bool = False
    """Whether the speaker's thoughts were told just before."""
    crowd: bool = False
    """Whether more than two are there."""


class Wording(Protocol):
    """One language's sentences. Each object remembers what it used last, and uses another one then."""

    blank: str
    """What stands between sentences."""

    def told(self, text: str) -> str:
        """What nobody says, as it stands in prose."""

    def quoted(self, text: str) -> str:
        """Words in quotes."""

    def did(self, seat: str, text: str, *, after: Literal["", "done", "said"]) -> str:
        """A sentence for what somebody did.

        Args:
            seat: who did it.
            text: what.
            after: what the sentence before tells of them.
        """

    def said(self, seat: str, text: str, telling: Telling) -> str:
        """Words in quotes, and who said them."""

    def told_by_itself(self, seat: str, text: str) -> str:
        """What somebody said, where their words have quotes already and tell of them in between."""

    def said_doing(self, seat: str, done: str, text: str, telling: Telling) -> str:
        """What somebody did, and the words they said with it."""

    def thought(self, seat: str, text: str, *, known: bool) -> str:
        """A thought, and whose it is unless that is known."""


class Rotation:
    """Picks in turn, so that nothing is picked twice in a row where there is a choice."""

    def __init__(self) -> None:
        """Nothing was picked yet."""
        self._picked: Counter[str] = Counter()

    def pick(self, about: str, choices: Sequence[str]) -> str:
        """The next of the choices there are for this."""
        number = self._picked[about]
        self._picked[about] += 1
        return choices[number % len(choices)]
