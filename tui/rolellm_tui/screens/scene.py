"""A scene: watch it, take a seat in it, and see what each seat knows."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message as AppMessage
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.worker import Worker

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.scene import NARRATOR, LoadedScene
from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import Message
from rolellm_graphs.events import (
    MessageDone,
    Prefilling,
    Prompted,
    Recalled,
    Retried,
    SceneEvent,
    SpeakerChosen,
    TokenDelta,
    TurnFailed,
    Waiting,
    YourTurn,
)
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.screens.delete import DELETED
from rolellm_tui.screens.inspector import InspectorScreen
from rolellm_tui.screens.pick_seat import PickSeatScreen
from rolellm_tui.screens.scene_commands import run_scene_command
from rolellm_tui.screens.scene_keys import SCENE_KEYS, is_offered
from rolellm_tui.screens.tree import TreeScreen
from rolellm_tui.slash.exporting import export_by_name
from rolellm_tui.slash.scene_moves import other_speaker, seat_name
from rolellm_tui.widgets.chat.command_list import CommandList
from rolellm_tui.widgets.common.copied import copied
from rolellm_tui.widgets.common.failures import Failed, failure_text
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.notice import Notice
from rolellm_tui.widgets.common.status_line import StatusLine
from rolellm_tui.widgets.inspector.provenance import ProvenanceLog
from rolellm_tui.widgets.scene.cast_panel import CastPanel
from rolellm_tui.widgets.scene.player import USUAL_PAUSE, Player
from rolellm_tui.widgets.scene.prompt import ScenePrompt
from rolellm_tui.widgets.scene.seat_sheet import SeatSheet
from rolellm_tui.widgets.scene.text import SceneText
from rolellm_tui.widgets.scene.texts import speakers_of, tokens_of
from rolellm_tui.widgets.scene.view_banner import ViewBanner


class SceneScreen(Screen[None]):
    """Plays a stage turn by turn and shows its transcript."""

    CSS_PATH = "scene.tcss"
    AUTO_FOCUS = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (160, "-vast")]
    BINDINGS = SCENE_KEYS

    viewer: var[str | None] = var(None, bindings=True)
    """The seat whose view is shown; None for all lines."""

    @dataclass
    class NewScene(AppMessage):
        """The user restarts the scene."""

        scene: LoadedScene

    @dataclass
    class DirectorChosen(AppMessage):
        """The user goes on with another director."""

        scene: "SceneScreen"
        kind: str

    @dataclass
    class ExportRequested(AppMessage):
        """The user exports the scene."""

        conversation: str

    def __init__(self, stage: Stage, *, pause: float = USUAL_PAUSE) -> None:
        """Show a stage with its lines.

        Args:
            stage: the stage to play.
            pause: seconds between turns.
        """
        super().__init__()
        self._stage = stage
        self._speakers = speakers_of(stage.loaded)
        self._provenance = ProvenanceLog()
        self._player = Player(stage, self._take, pause=pause, id="course")
        self._own_eyes = False
        self._typed = ""
        """The command that was run last."""
        self._bindings_state = (False, False)
        """The state at the last refresh of the key bindings: busy, playing."""

    @property
    def stage(self) -> Stage:
        """The stage that is played."""
        return self._stage

    @property
    def busy(self) -> bool:
        """Whether a turn is running."""
        return self._player.busy

    def compose(self) -> ComposeResult:
        """Compose the head, the lines, the cast and the prompt."""
        scene = self._stage.loaded.scene
        with Horizontal(id="about"):
            yield Static(one_line(scene.title), id="title", markup=False)
            yield self._player
        yield ViewBanner(self._stage, id="banner")
        with Horizontal(id="stage"):
            with Vertical(id="acting"):
                yield SceneText(self._stage, id="text")
                with Vertical(id="below"):
                    with Horizontal(id="told"):
                        yield StatusLine(id="status")
                        yield Static("", id="figures", markup=False)
                    commands = CommandList(id="commands")
                    yield commands
                    yield ScenePrompt(self._stage, commands=commands, id="prompt")
            with Vertical(id="side"):
                yield CastPanel(self._stage, id="cast")
                yield SeatSheet(self._stage.loaded, id="sheet")
        yield KeyFooter()

    def on_mount(self) -> None:
        """Load the models in the background."""
        self._show_state()
        (self._text if self._prompt.seat == NARRATOR else self._prompt).focus()
        self._prepare()

    @work(group="prepare", exit_on_error=False)
    async def _prepare(self) -> None:
        self._status.show_message("loading the models…")
        try:
            await self._stage.prepare()
        except RoleLLMError as error:
            self._status.complain(error)
        else:
            self._status.show_message(self._stage.notice)

    @property
    def _text(self) -> SceneText:
        return self.query_one(SceneText)

    @property
    def _cast(self) -> CastPanel:
        return self.query_one(CastPanel)

    @property
    def _prompt(self) -> ScenePrompt:
        return self.query_one(ScenePrompt)

    @property
    def _status(self) -> StatusLine:
        return self.query_one(StatusLine)

    # Turns

    def _begin(self, make: Callable[[], AsyncGenerator[SceneEvent, None]], *, typed: str = "") -> None:
        """Start a turn unless one is running. If it fails, the text `typed` is restored."""
        if self._player.busy:
            self._prompt.give_back(typed)
            self._status.show_message("A turn is still running; press Escape to stop.")
        else:
            self._player.begin(make, words=typed)

    async def _take(self, event: SceneEvent) -> None:
        match event:
            case SpeakerChosen(seat=seat, why=why):
                self._show_choice(seat, why)
            case Retried(fault=fault) if self.viewer is None:
                self._status.show_message(f"Retrying: {plain(fault)}")
            case Waiting() | Prefilling():
                self._status.show_message(str(event))
            case TurnFailed(error=error):
                self._status.complain(error)
            case Prompted() | Recalled() | TokenDelta():
                self._provenance.note(event)
        await self._text.take(event)
        if isinstance(event, SpeakerChosen | MessageDone):
            self._show_state()

    def _show_choice(self, seat: str, why: str) -> None:
        """Show who speaks next and why, unless the view of one seat is shown."""
        if self.viewer is None:
            self._status.show_message(f"{self._called(seat)} · {plain(why)}")
        else:
            self._status.show_message("The scene continues…")

    @on(Player.TurnOver)
    async def _turn_is_over(self, event: Player.TurnOver) -> None:
        if event.error:
            self._prompt.give_back(event.words)
            self._status.complain(event.error)
        if self._player.busy:
            return
        await self._text.settle()
        if pending := self._player.asked:
            self._wait_for(pending)

    @on(Player.Changed)
    def _player_changed(self) -> None:
        self._show_state()
        state = (self._player.busy, self._player.playing)
        if state != self._bindings_state:
            self._bindings_state = state
            self.refresh_bindings()

    def _wait_for(self, turn: YourTurn) -> None:
        """Announce a user's turn, or ask who speaks next."""
        if turn.seat is None:
            self._ask_next_speaker("Who speaks?")
            return
        self._prompt.seat = turn.seat
        self._prompt.focus()
        self._look_with_own_eyes()
        self._show_state()
        self.post_message(Notice(f"It is your turn as {self._called(turn.seat)}."))
        self._status.show_message(
            f"It is {self._called(turn.seat)}'s turn, which is yours. {plain(turn.why)}"
        )

    def action_play(self) -> None:
        """Play turn after turn, or pause after the running one."""
        if self._player.playing:
            self._player.rest()
        elif not self._is_over():
            self._player.play()
            if self._player.waits_for is not None:
                self._prompt.focus()

    def action_step(self) -> None:
        """Play one turn."""
        self._player.rest()
        if (seat := self._player.waits_for) is not None:
            self._prompt.focus()
            self._status.show_message(f"It is {self._called(seat)}'s turn; write a line, or type /skip.")
        elif not self._is_over():
            self._begin(self._stage.step)

    def action_stop(self) -> None:
        """Stop the turn and keep its text so far."""
        self._player.stop()

    def action_again(self) -> None:
        """Regenerate the last line."""
        self._player.rest()
        self._begin(self._stage.again)

    def _is_over(self) -> bool:
        """Whether the scene is over, with a notice if so."""
        if self._stage.ended:
            self._status.show_message("The scene is over; Ctrl+Z undoes the last turn.")
        return bool(self._stage.ended)

    def action_pause(self, step: int) -> None:
        """Change the pause between turns."""
        self._player.lengthen(step)

    # Speakers

    @work(group="next", exclusive=True, exit_on_error=False)
    async def _ask_next_speaker(self, question: str) -> None:
        playing = self._player.playing
        self._player.rest()
        present = [seat for seat in self._stage.present if seat != self._player.waits_for]
        descriptions = {seat: "you" if seat in self._stage.persons else "" for seat in present}
        seat = await self.app.push_screen_wait(PickSeatScreen(question, descriptions, self._speakers))
        if seat is not None:
            self._player.playing = playing
            self.let_speak(seat)

    def let_speak(self, seat: str) -> None:
        """Let a seat speak next."""
        self._begin(lambda: self._stage.step(speaker=seat))

    def action_next_speaker(self) -> None:
        """Choose who speaks next."""
        if not self._is_over():
            self._ask_next_speaker("Who speaks next?")

    def skip(self) -> None:
        """Skip the turn of a user.

        Raises:
            MessageError: there is no turn to skip, or nobody else can speak.
        """
        self.let_speak(other_speaker(self._stage, self._player.waits_for))

    # What commands do

    async def perform(self, action: str) -> None:
        """Run an action of the screen or of the app."""
        await self.app.run_action(action, self)

    def put(self, text: str) -> None:
        """Put a text into the prompt."""
        self._prompt.put(text)

    def tell(self, text: str) -> None:
        """Show a sentence."""
        self._status.show_message(text)

    def see(self, seat: str | None) -> None:
        """Show only what a seat witnessed; None for all lines."""
        self._own_eyes = False
        self.viewer = seat

    async def export(self, file: str) -> None:
        """Write the scene to a file.

        Raises:
            ChatFileError: the file exists, or cannot be written.
        """
        stage = self._stage
        path = await asyncio.to_thread(export_by_name, stage.transcript, stage.conversation, file)
        self._status.show_message(f"Written to {path}.")

    def direct(self, kind: str) -> None:
        """Go on with another director."""
        self._player.rest()
        self.post_message(self.DirectorChosen(self, kind))

    def action_first_line(self) -> None:
        """Go to the first line."""
        self._text.focus()
        self._text.scroll_home(animate=False)

    # The user's lines

    @on(ScenePrompt.Empty)
    def _entered_nothing(self) -> None:
        self.action_step()

    @on(ScenePrompt.LineSent)
    def _say(self, event: ScenePrompt.LineSent) -> None:
        self._begin(lambda: self._stage.say(event.line), typed=event.typed)

    @on(ScenePrompt.CommandSent)
    @work(group="command", exit_on_error=False)
    async def _run_command(self, event: ScenePrompt.CommandSent) -> None:
        self._typed = event.typed
        try:
            await run_scene_command(self, event.order)
        except RoleLLMError as error:
            self.refuse(error)

    def refuse(self, error: RoleLLMError) -> None:
        """Tell why the last command cannot be run, and put it back into the prompt."""
        self._prompt.give_back(self._typed)
        self._status.complain(error)

    @on(ScenePrompt.Invalid)
    def _show_error(self, event: ScenePrompt.Invalid) -> None:
        self._status.complain(event.error)

    def action_speak_as(self) -> None:
        """Write as the next seat of a user, or as the narrator."""
        self._prompt.next_seat()
        self._look_with_own_eyes()
        self._show_state()

    # Seats

    @on(CastPanel.SeatRequested)
    def _change_seat(self, event: CastPanel.SeatRequested) -> None:
        seat = event.seat
        if seat not in self._stage.persons:
            self._stage.take_seat(seat)
            self.write_as(seat)
        else:
            self.release(seat)

    def release(self, seat: str) -> None:
        """Let a model play a seat again."""
        self._stage.give_back(seat)
        if self._player.waits_for == seat:
            self._player.forget()
        self._status.show_message(f"A model plays {self._called(seat)} again.")
        self._prompt.show(waited_for=None)
        self._look_with_own_eyes()
        self._show_state()

    def write_as(self, seat: str) -> None:
        """Write as a seat, which the user then plays; or as the narrator."""
        if seat != NARRATOR:
            self._stage.take_seat(seat)
        self._prompt.seat = seat
        self._status.show_message(f"You are {self._called(seat)} now.")
        self._look_with_own_eyes()
        self._show_state()

    @on(CastPanel.PresenceRequested)
    def _change_presence(self, event: CastPanel.PresenceRequested) -> None:
        self._move(event.seat, enters=event.seat not in self._stage.present)

    @work(group="move", exit_on_error=False)
    async def _move(self, seat: str, *, enters: bool) -> None:
        with self._complaining():
            (self._stage.let_in if enters else self._stage.let_out)(seat)
        await self.show_lines()

    async def show_lines(self) -> None:
        """Show the lines of the branch as they are now."""
        await self._text.show()
        self._show_state()

    @on(CastPanel.SpeechRequested)
    def _let_them_speak(self, event: CastPanel.SpeechRequested) -> None:
        if not self._is_over():
            self.let_speak(event.seat)

    # Views

    @on(CastPanel.Viewed)
    def _look_as(self, event: CastPanel.Viewed) -> None:
        self._own_eyes = False
        self.viewer = event.seat

    @on(OptionList.OptionSelected, "#cast")
    def _looked_up(self) -> None:
        self.remove_class("-cast-open")
        self._text.focus()

    async def watch_viewer(self, viewer: str | None) -> None:
        """Show the view of a seat."""
        if self.is_mounted:
            self._cast.look_as(viewer)
            self.query_one(SeatSheet).show(viewer)
            await self._text.look_as(viewer)
            self._show_state()

    def action_eyes(self) -> None:
        """Toggle between the view of the user's own seat and all lines."""
        self._own_eyes = not self._own_eyes
        self.viewer = None
        self._look_with_own_eyes()

    def _look_with_own_eyes(self) -> None:
        if self._own_eyes:
            self.viewer = None if self._prompt.seat == NARRATOR else self._prompt.seat

    def action_everything(self) -> None:
        """Show all lines."""
        self._own_eyes = False
        self.viewer = None

    def action_cast(self) -> None:
        """Move the focus to the cast and back; in narrow terminals, show or hide it."""
        is_open = self._cast.has_focus
        self.set_class(not is_open, "-cast-open")
        (self._text if is_open else self._cast).focus()

    # The tree

    async def action_swipe(self, step: int) -> None:
        """Show the previous or next swipe."""
        self._player.rest()
        with self._complaining():
            await self._text.swipe(step)
        self._show_state()

    @on(SceneText.SwipeRequested)
    def _swiped_past_the_last(self) -> None:
        if not self.busy:
            self.action_again()

    async def action_undo(self) -> None:
        """Undo the last action, or the last edit while the user types."""
        if self._prompt.is_writing:
            self._prompt.undo()
        else:
            with self._complaining():
                await self.show_branch("" if self._stage.undo() else "Nothing to undo.")

    async def action_redo(self) -> None:
        """Redo."""
        if self._prompt.is_writing:
            self._prompt.redo()
        else:
            with self._complaining():
                await self.show_branch("" if self._stage.redo() else "Nothing to redo.")

    async def action_branch(self) -> None:
        """Start a new branch at the selected line, or at the last."""
        if line := self._text.chosen or next(reversed(self._stage.messages), None):
            with self._complaining():
                name = self._stage.branch(line.id)
                await self.show_branch(f"New branch: {name}. Ctrl+T shows all.")

    @work(group="tree", exclusive=True, exit_on_error=False)
    async def action_tree(self) -> None:
        """Open the tree, and go to the message chosen there."""
        self._player.rest()
        names = {seat: self._speakers.name(seat) for seat in self._stage.loaded.seats} | {
            NARRATOR: "Narrator"
        }
        title = self._stage.loaded.scene.title
        tree = TreeScreen(self._stage, title=title, names=names)
        chosen = await self.app.push_screen_wait(tree)
        if chosen:
            self._stage.choose(chosen)
            await self.show_branch("")
        elif tree.has_deleted:
            await self.show_branch(DELETED)

    async def show_branch(self, message: str) -> None:
        """Show the current branch."""
        self._player.rest()
        self._player.forget()
        self._status.show_message(message)
        await self._text.show()
        self._show_state()

    # Single lines

    def action_why(self) -> None:
        """Open the inspector for the selected line, or a model's last line."""
        line = self._text.chosen or self._last_by_model
        if line is None or line.speaker not in self._stage.loaded.seats or "model" not in line.made_by:
            self._status.show_message("Only answers of a model can be inspected.")
            return
        voice = self._stage.ensemble.voices[line.speaker]
        self.app.push_screen(InspectorScreen(line, self._provenance.of(line.id), voice))

    def action_copy(self) -> None:
        """Copy the text of the selected line, or of the last."""
        if line := self._text.chosen or next(reversed(self._stage.messages), None):
            text = self.get_selected_text() or plain(line.text)
            self.app.copy_to_clipboard(text)
            self._status.show_message(copied(text))

    @property
    def _last_by_model(self) -> Message | None:
        messages = self._stage.messages if self.viewer is None else self._stage.witnessed(self.viewer)
        return next((message for message in reversed(messages) if "model" in message.made_by), None)

    # Other screens

    def action_export(self) -> None:
        """Export the scene."""
        if self._stage.conversation:
            self.post_message(self.ExportRequested(self._stage.conversation))

    def action_new(self) -> None:
        """Restart the scene; the old conversation is kept."""
        self._stage.cancel()
        self.post_message(self.NewScene(self._stage.loaded))

    def action_library(self) -> None:
        """Go back to the library."""
        self._stage.cancel()
        self.dismiss()

    # State

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the actions that apply now."""
        return is_offered(
            action,
            busy=self.busy,
            playing=self._player.playing,
            sees_all=self.viewer is None,
            has_own_seat=any(seat != NARRATOR for seat in self._stage.persons),
        )

    def _show_state(self) -> None:
        self._cast.show(self._player.speaking if self.viewer is None else None)
        self._prompt.show(waited_for=self._player.waits_for)
        self._player.show()
        self.query_one(ViewBanner).show(self.viewer, "F3" if self._own_eyes else "Esc")
        self.query_one("#figures", Static).update(tokens_of(self._last_by_model))

    def _called(self, seat: str | None) -> str:
        return seat_name(self._stage, seat or "")

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        """Show an error."""
        try:
            yield
        except RoleLLMError as error:
            self._status.complain(error)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._status.complain(failure)

    @on(Failed)
    def _show_failure(self, event: Failed) -> None:
        self._status.complain(event.sentence)
