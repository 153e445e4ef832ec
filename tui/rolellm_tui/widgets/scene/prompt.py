"""The prompt of a scene, for the seats of the user and the narrator."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import on
from textual.message import Message

from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.scene import NARRATOR
from rolellm_graphs.scene.speaking import addressee_names
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine
from rolellm_tui.widgets.chat.prompt import PromptInput
from rolellm_tui.widgets.scene.commands import SceneCommand, typed_in_scene
from rolellm_tui.widgets.scene.texts import speakers_of

_SAYS = "Type a line, or /whisper NAME, /act, /think, {own}/narrate. Enter alone: next turn."
_NARRATES = "Narrate what happens. Enter alone: next turn."
_BEGINS = "Enter plays one turn, F5 plays continuously."


class ScenePrompt(PromptInput):
    """Sends lines and commands; its title is the speaker."""

    @dataclass
    class LineSent(Message):
        """The user sends a line."""

        line: PersonsLine
        typed: str

    @dataclass
    class CommandSent(Message):
        """The user sends a command."""

        order: SceneCommand

    @dataclass
    class Invalid(Message):
        """The input is invalid and is kept."""

        error: RoleLLMError

    class Empty(Message):
        """The user pressed Enter without text."""

    def __init__(self, stage: Stage, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create the prompt of a stage, for the first seat of a user."""
        super().__init__(id=id, soft_wrap=True)
        self.seat = next(iter(self._seats(stage)))
        """The seat of the writer."""
        self._stage = stage
        self._speakers = speakers_of(stage.loaded)
        self._typed: list[str] = []

    @property
    def sent_lines(self) -> Sequence[str]:
        """Earlier input, oldest first."""
        return self._typed

    @property
    def is_writing(self) -> bool:
        """Whether the user is typing."""
        return self.has_focus and bool(self.text.strip())

    @property
    def speaker(self) -> str:
        """The name of the speaker."""
        return "Narrator" if self.seat == NARRATOR else self._speakers.name(self.seat)

    def show(self, *, waited_for: str | None) -> None:
        """Update title and placeholder.

        Args:
            waited_for: the seat whose turn it is, if a user plays it.
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
            self.placeholder = _NARRATES if self.seat == NARRATOR else self._says()

    def next_seat(self) -> None:
        """Switch to the next available speaker."""
        seats = self._seats(self._stage)
        self.seat = seats[(seats.index(self.seat) + 1) % len(seats)]

    def take(self, sent: str) -> bool:
        """Remove a text that is sent, and add it to the history."""
        if is_taken := super().take(sent):
            self._typed.append(sent)
        return is_taken

    @on(PromptInput.Submitted)
    def _understand(self, event: PromptInput.Submitted) -> None:
        event.stop()
        if not event.text.strip():
            self.post_message(self.Empty())
            return
        try:
            parsed = self._parse(event.text)
        except RoleLLMError as error:
            self.post_message(self.Invalid(error))
            return
        if self.take(event.text):
            self.post_message(
                self.CommandSent(parsed)
                if isinstance(parsed, SceneCommand)
                else self.LineSent(parsed, event.text)
            )

    def _parse(self, text: str) -> SceneCommand | PersonsLine:
        """Parse the input.

        Raises:
            MessageError: it is invalid.
        """
        loaded, narrates = self._stage.loaded, self.seat == NARRATOR
        names = {**loaded.names, NARRATOR: "Narrator"}
        addressees = {} if narrates else addressee_names(loaded, self.seat, self._stage.lines)
        parsed = typed_in_scene(text, names, addressees, loaded.scene.turn_kinds)
        if isinstance(parsed, SceneCommand):
            return parsed
        if narrates and parsed.kind not in ("say", "narrate"):
            raise MessageError("The narrator only narrates; F4 lets you speak as another.")
        if narrates or parsed.kind == "narrate":
            return PersonsLine(seat=NARRATOR, kind="narrate", to=[], text=parsed.text)
        return PersonsLine(seat=self.seat, kind=parsed.kind, to=[*parsed.to], text=parsed.text)

    def _says(self) -> str:
        """The hint, with the commands of the scene's own message kinds."""
        own = [kind for kind in self._stage.loaded.scene.turn_kinds if not kind.is_built_in]
        commands = (
            f"/{kind.typed[0]}{' NAME' if kind.perceived_by == 'addressees' else ''}, " for kind in own
        )
        return _SAYS.format(own="".join(commands))

    def give_back(self, text: str) -> None:
        """Restore text of a failed turn, unless there is new text."""
        if not self.text.strip():
            self.text = text
            self.move_cursor(self.document.end)

    @staticmethod
    def _seats(stage: Stage) -> list[str]:
        return [*(seat for seat in stage.persons if seat != NARRATOR), NARRATOR]
