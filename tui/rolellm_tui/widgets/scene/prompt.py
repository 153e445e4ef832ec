"""Where a person in a scene writes: as one of the seats in which they sit, or as the narrator."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import on
from textual.message import Message

from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.scene import NARRATOR
from rolellm_graphs.scene.speaking import heard_by_name
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine
from rolellm_tui.widgets.chat.prompt import PromptInput
from rolellm_tui.widgets.scene.commands import SceneCommand, typed_in_scene
from rolellm_tui.widgets.scene.texts import speakers_of

_SAYS = "Type a line, or /whisper NAME, /act, /think, /narrate. Enter alone: next turn."
_NARRATES = "Narrate what happens. Enter alone: next turn."
_BEGINS = "Enter plays one turn, F5 plays continuously."


class ScenePrompt(PromptInput):
    """Its title is who speaks; what is typed goes up as a line, or as an order."""

    @dataclass
    class Said(Message):
        """The person says, does, whispers, thinks or narrates something."""

        line: PersonsLine
        typed: str

    @dataclass
    class Ordered(Message):
        """The person wants something to happen."""

        order: SceneCommand

    @dataclass
    class NotUnderstood(Message):
        """What was typed means nothing; it stays where it is."""

        error: RoleLLMError

    class Empty(Message):
        """The person has entered nothing."""

    def __init__(self, stage: Stage, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Write for a stage; as the first seat in which a person sits."""
        super().__init__(id=id, soft_wrap=True)
        self.seat = next(iter(self._seats(stage)))
        """As whom one writes."""
        self._stage = stage
        self._speakers = speakers_of(stage.loaded)
        self._typed: list[str] = []

    @property
    def said(self) -> Sequence[str]:
        """What was typed in this session, oldest first."""
        return self._typed

    @property
    def is_writing(self) -> bool:
        """Whether the person is at it, and has begun."""
        return self.has_focus and bool(self.text.strip())

    @property
    def speaker(self) -> str:
        """What they are called."""
        return "Narrator" if self.seat == NARRATOR else self._speakers.name(self.seat)

    def show(self, *, waited_for: str | None) -> None:
        """Tell who speaks, and what can be typed.

        Args:
            waited_for: the seat whose turn it is, if that is a person's.
        """
        if self.seat not in self._seats(self._stage):
            self.seat = next(iter(self._seats(self._stage)))
        is_turn = waited_for is not None and waited_for == self.seat
        self.border_title = f"{self.speaker}: it is your turn" if is_turn else self.speaker
        self.set_class(is_turn, "-turn")
        if is_turn:
            self.placeholder = f"What does {self.speaker} say or do? /skip lets another speak."
        elif not self._stage.messages:
            self.placeholder = _BEGINS
        else:
            self.placeholder = _NARRATES if self.seat == NARRATOR else _SAYS

    def next_seat(self) -> None:
        """Write as the next of those as whom one can."""
        seats = self._seats(self._stage)
        self.seat = seats[(seats.index(self.seat) + 1) % len(seats)]

    def take(self) -> str:
        """Hand the text over, remember it, and be empty."""
        text = super().take()
        self._typed.append(text)
        return text

    @on(PromptInput.Submitted)
    def _understand(self, event: PromptInput.Submitted) -> None:
        event.stop()
        if not event.text.strip():
            self.post_message(self.Empty())
            return
        try:
            meant = self._meant(event.text)
        except RoleLLMError as error:
            self.post_message(self.NotUnderstood(error))
            return
        typed = self.take()
        self.post_message(
            self.Ordered(meant) if isinstance(meant, SceneCommand) else self.Said(meant, typed)
        )

    def _meant(self, text: str) -> SceneCommand | PersonsLine:
        """What is meant by something typed.

        Raises:
            MessageError: nothing can be meant by it.
        """
        loaded, narrates = self._stage.loaded, self.seat == NARRATOR
        names = {**loaded.names, NARRATOR: "Narrator"}
        heard = {} if narrates else heard_by_name(loaded, self.seat, self._stage.lines)
        meant = typed_in_scene(text, names, heard)
        if isinstance(meant, SceneCommand):
            return meant
        if narrates and meant.kind not in ("say", "narrate"):
            raise MessageError("The narrator only narrates; F4 lets you speak as another.")
        if narrates or meant.kind == "narrate":
            return PersonsLine(seat=NARRATOR, kind="narrate", to=[], text=meant.text)
        return PersonsLine(seat=self.seat, kind=meant.kind, to=[*meant.to], text=meant.text)

    def give_back(self, text: str) -> None:
        """Put words that came to nothing here again, unless others stand here by now."""
        if not self.text.strip():
            self.text = text
            self.move_cursor(self.document.end)

    @staticmethod
    def _seats(stage: Stage) -> list[str]:
        return [*(seat for seat in stage.persons if seat != NARRATOR), NARRATOR]
