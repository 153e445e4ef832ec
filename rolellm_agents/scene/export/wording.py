"""The interface of a language's prose: sentences for speech, whispers, thoughts and actions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class SpeechContext:
    """What the wording of a speech depends on besides the words."""

    to: tuple[str, ...] | None = None
    """The seats that hear a whisper; None when it is not a whisper."""
    answers: bool = False
    """Whether the line before is another speaker's question, or a whisper to this speaker."""
    continues: bool = False
    """Whether the line before is by the same speaker."""
    aloud: bool = False
    """Whether the sentence before is a thought of the speaker."""
    crowd: bool = False
    """Whether more than two seats witness the line."""


class Wording(Protocol):
    """Sentences in one language. An object varies its verbs and word order from call to call."""

    blank: str
    """The separator between sentences."""

    def narrate(self, text: str) -> str:
        """Narration."""

    def quote(self, text: str) -> str:
        """Words in quotes."""

    def action(self, seat: str, text: str, *, after: Literal["", "done", "said"]) -> str:
        """A sentence for an action.

        `after` is the content of the preceding sentence about the same seat.
        """

    def speech(self, seat: str, text: str, context: SpeechContext) -> str:
        """Words in quotes with a speech tag."""

    def narrate_quoting(self, seat: str, text: str) -> str:
        """A line that has its own quotation marks, with narration between them."""

    def action_and_speech(self, seat: str, done: str, text: str, context: SpeechContext) -> str:
        """An action, and the words that go with it."""

    def thought(self, seat: str, text: str, *, known: bool) -> str:
        """A thought, with the thinker's name unless that is known."""


class Rotation:
    """Cycles through choices, separately for each topic."""

    def __init__(self) -> None:
        """Start each cycle with its first choice."""
        self._picked: Counter[str] = Counter()

    def pick(self, about: str, choices: Sequence[str]) -> str:
        """The next of the choices for this topic."""
        number = self._picked[about]
        self._picked[about] += 1
        return choices[number % len(choices)]
