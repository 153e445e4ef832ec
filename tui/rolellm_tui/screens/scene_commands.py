"""Runs the commands that are typed into the prompt of a scene."""

from typing import Protocol

from rolellm_graphs.scene.stage import Stage
from rolellm_tui.slash.moves import begin_branch, choose_branch, step_back, step_forward
from rolellm_tui.slash.scene_commands import SceneCommand, SceneCommandName
from rolellm_tui.slash.scene_moves import check_not_over, choose_version, director_line


class ScenePlay(Protocol):
    """What the commands need of the scene's screen."""

    @property
    def stage(self) -> Stage:
        """The scene."""

    async def perform(self, action: str) -> None:
        """Run an action of the screen or of the app."""

    def let_speak(self, seat: str) -> None:
        """Let a seat speak next."""

    def skip(self) -> None:
        """Skip the turn of a user."""

    def write_as(self, seat: str) -> None:
        """Write as a seat, which the user then plays; or as the narrator."""

    def release(self, seat: str) -> None:
        """Let a model play a seat again."""

    def see(self, seat: str | None) -> None:
        """Show only what a seat witnessed; None for all lines."""

    def direct(self, kind: str) -> None:
        """Go on with another director."""

    async def export(self, file: str) -> None:
        """Write the scene to a file."""

    async def show_branch(self, message: str) -> None:
        """Show the current branch."""

    async def show_lines(self) -> None:
        """Show the lines of the branch as they are now."""

    def tell(self, text: str) -> None:
        """Show a sentence."""

    def put(self, text: str) -> None:
        """Put a text into the prompt."""


_ACTIONS: dict[SceneCommandName, str] = {
    "step": "screen.step",
    "play": "screen.play",
    "again": "screen.again",
    "who": "screen.cast",
    "history": "screen.first_line",
    "branches": "screen.tree",
    "why": "screen.why",
    "export": "screen.export",
    "new": "screen.new",
    "quit": "app.quit",
}
"""Actions of commands without an argument; the inspector of `/why` always has the complete prompt."""


async def run_scene_command(play: ScenePlay, command: SceneCommand) -> None:
    """Run a command.

    Raises:
        RoleLLMError: the command cannot be run.
    """
    match command:
        case SceneCommand(name="branches", number=number) if number:
            await play.show_branch(choose_branch(play.stage, number))
        case SceneCommand(name="export", text=file) if file:
            await play.export(file)
        case SceneCommand(name=name) if name in _ACTIONS:
            await play.perform(_ACTIONS[name])
        case SceneCommand(name="undo" | "redo" | "branch" | "swipe"):
            await play.show_branch(_moved(play.stage, command))
        case SceneCommand(seat=str(seat)):
            await _act_on(play, command, seat)
        case _:
            _use_screen(play, command)


def _moved(stage: Stage, command: SceneCommand) -> str:
    """Move in the scene; what to tell."""
    match command.name:
        case "undo":
            return step_back(stage)
        case "redo":
            return step_forward(stage)
        case "branch":
            return begin_branch(stage, command.number)
        case _:
            return choose_version(stage, command)


async def _act_on(play: ScenePlay, command: SceneCommand, seat: str) -> None:
    match command.name:
        case "next":
            check_not_over(play.stage)
            play.let_speak(play.stage.loaded.check_seat(seat))
        case "as":
            play.write_as(seat)
        case "release":
            play.release(seat)
        case "see":
            play.see(play.stage.loaded.check_seat(seat))
        case "in" | "out":
            stage = play.stage
            (stage.let_in if command.name == "in" else stage.let_out)(seat, command.text)
            await play.show_lines()


def _use_screen(play: ScenePlay, command: SceneCommand) -> None:
    match command.name:
        case "skip":
            play.skip()
        case "see":
            play.see(None)
        case "director" if command.text:
            play.direct(command.text)
        case "director":
            play.tell(director_line(play.stage))
        case "help":
            play.put("/")
