"""The prompt of a scene, for the seats of the user and the narrator."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import on
from textual.message import Message

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.scene import NARRATOR
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine
from rolellm_tui.slash.choices import CommandChoices, scene_choices
from rolellm_tui.slash.completion import Completion, completions
from rolellm_tui.slash.scene_commands import SceneCommand, offered_in_scene
from rolellm_tui.slash.scene_moves import seat_name, understood, writers
from rolellm_tui.widgets.chat.command_list import CommandList
from rolellm_tui.widgets.chat.command_prompt import CommandPrompt
from rolellm_tui.widgets.chat.prompt import PromptInput

_SAYS = "Type a line, or /whisper NAME, /act, /think, {own}/narrate. Enter alone: next turn."
_NARRATES = "Narrate what happens. Enter alone: next turn."
_BEGINS = "Enter plays one turn, F5 plays continuously."


class ScenePrompt(CommandPrompt):
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
        typed: str

    @dataclass
    class Invalid(Message):
        """The input is invalid and is kept."""

        error: RoleLLMError

    class Empty(Message):
        """The user pressed Enter without text."""

    def __init__(self, stage: Stage, *, commands: CommandList, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create the prompt of a stage, for the first seat of a user.

        Args:
            stage: the scene.
            commands: shows the completions of a command.
            id: the id of the widget.
        """
        super().__init__(commands, id=id)
        self.seat = next(iter(writers(stage)))
        """The seat of the writer."""
        self._stage = stage
        self._offered = offered_in_scene(stage.loaded.scene.turn_kinds)
        self._choices = CommandChoices(scene_choices(stage))
        self._typed: list[str] = []

    def completed(self, text: str) -> Sequence[Completion]:
        """The rows for a text."""
        if text == "/":
            self._choices.forget()
        return completions(text, self._offered, self._choices)

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
        return seat_name(self._stage, self.seat)

    def show(self, *, waited_for: str | None) -> None:
        """Update title and placeholder.

        Args:
            waited_for: the seat whose turn it is, if a user plays it.
        """
        if self.seat not in writers(self._stage):
            self.seat = next(iter(writers(self._stage)))
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
        seats = writers(self._stage)
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
            parsed = understood(self._stage, self.seat, event.text)
        except RoleLLMError as error:
            self.post_message(self.Invalid(error))
            return
        if self.take(event.text):
            self.post_message(
                self.CommandSent(parsed, event.text)
                if isinstance(parsed, SceneCommand)
                else self.LineSent(parsed, event.text)
            )

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
