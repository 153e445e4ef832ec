"""Plain mode of scenes: a scene as lines of text, without colours, cursor movements or a full screen."""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator

from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.scene import NARRATOR
from rolellm_graphs.events import SceneEvent, YourTurn
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.output import complain, print_text
from rolellm_tui.plain import lines
from rolellm_tui.plain.background import BackgroundLoop
from rolellm_tui.plain.terminal import (
    ended_by_signals,
    look_for_damage,
    prepare_input,
    read_line,
    run_until_end,
)
from rolellm_tui.plain.turns import TurnPrinter
from rolellm_tui.slash.arguments import ALL
from rolellm_tui.slash.exporting import export_by_name
from rolellm_tui.slash.moves import begin_branch, branch_paths, choose_branch, step_back, step_forward
from rolellm_tui.slash.scene_commands import SceneCommand, SceneCommandName, scene_help_lines
from rolellm_tui.slash.scene_moves import (
    check_not_over,
    choose_version,
    director_line,
    last_by_model,
    other_speaker,
    seat_name,
    understood,
    who_lines,
    writers,
)
from rolellm_tui.staging import OpenStage, with_director

_LAST = 2
"""The number of lines that are repeated on resuming."""
_NO_LINES = "No lines yet; press Enter to play a turn."


def play_plainly(stage: Stage, reopen: OpenStage) -> None:
    """Play until /quit, Ctrl-D, or Ctrl-C without a running turn.

    SIGTERM exits with 143; a partial line is saved.

    Args:
        stage: the scene.
        reopen: opens stages for the commands that begin anew or change the director.
    """
    with ended_by_signals(), BackgroundLoop() as loop:
        loop.begin(look_for_damage(stage.transcript))
        scene = PlainScene(stage, reopen, loop)
        prepare_input(())
        run_until_end(scene.open, lambda: scene.run_line(read_line(f"{scene.writer}: ")))


class PlainScene:
    """The commands of a scene in plain mode."""

    def __init__(self, stage: Stage, reopen: OpenStage, loop: BackgroundLoop) -> None:
        """Create a scene in plain mode; `open` prints its start."""
        self._stage = stage
        self._reopen = reopen
        self._loop = loop
        self._seat = writers(stage)[0]
        self._turns = TurnPrinter(stage, loop)
        self.commands: dict[SceneCommandName, Callable[[SceneCommand], Iterable[str]]] = {
            "step": lambda _: self._step(),
            "play": lambda _: self._play_on(),
            "next": lambda command: self._let_speak(str(command.seat)),
            "skip": lambda _: self._let_speak(other_speaker(self._stage, self._turns.waited_for)),
            "again": lambda _: self._play(self._stage.again()),
            "as": lambda command: self._write_as(str(command.seat)),
            "release": lambda command: self._release(str(command.seat)),
            "in": lambda command: [self._turns.line(self._stage.let_in(str(command.seat), command.text))],
            "out": lambda command: [self._turns.line(self._stage.let_out(str(command.seat), command.text))],
            "who": lambda _: who_lines(self._stage),
            "see": lambda command: self._see(command.seat),
            "director": self._direct,
            "history": lambda _: self._numbered(),
            "swipe": lambda command: [choose_version(self._stage, command), *self._ending()],
            "undo": lambda _: self._moved(step_back(self._stage)),
            "redo": lambda _: self._moved(step_forward(self._stage)),
            "branch": lambda command: self._moved(begin_branch(self._stage, command.number)),
            "branches": self._branches,
            "why": self._why,
            "export": self._export,
            "new": lambda _: self._begin_anew(),
            "help": lambda _: scene_help_lines(self._stage.loaded.scene.turn_kinds),
        }
        """What each command except `quit` does; the texts are printed."""

    @property
    def writer(self) -> str:
        """The name of the one as whom the user writes."""
        return seat_name(self._stage, self._seat)

    def open(self) -> None:
        """Print the scene, and the last lines of a resumed one."""
        for text in self._opening():
            print_text(text)
        self._turns.get_ready()

    def run_line(self, line: str) -> bool:
        """Say a line or run its command; False to quit. An empty line plays a turn."""
        try:
            typed = understood(self._stage, self._seat, line) if line.strip() else SceneCommand("step")
            if isinstance(typed, SceneCommand):
                if typed.name == "quit":
                    return False
                told = self.commands[typed.name](typed)
            else:
                told = self._play(self._stage.say(typed), typed_by=typed["seat"])
            for text in told:
                print_text(text)
        except RoleLLMError as error:
            complain(str(error))
        return True

    # Turns

    def _step(self) -> Iterable[str]:
        if seat := self._turns.waited_for:
            return [f"It is {seat_name(self._stage, seat)}'s turn; write a line, or type /skip."]
        check_not_over(self._stage)
        return self._play(self._stage.step())

    def _play_on(self) -> Iterable[str]:
        """Play until the user is asked, a turn fails, the scene is over, or Ctrl-C is pressed."""
        yield from self._step()
        while self._turns.goes_on and not self._turns.asked and not self._stage.ended:
            yield from self._play(self._stage.step())

    def _let_speak(self, seat: str) -> Iterable[str]:
        check_not_over(self._stage)
        return self._play(self._stage.step(speaker=seat))

    def _play(
        self, events: AsyncGenerator[SceneEvent, None], *, typed_by: str | None = None
    ) -> Iterable[str]:
        self._turns.play(events, typed_by=typed_by)
        return self._announce(self._turns.asked) if self._turns.asked else ()

    def _announce(self, asked: YourTurn) -> Iterator[str]:
        if asked.seat is None:
            present = ", ".join(seat_name(self._stage, seat) for seat in self._stage.present)
            yield f"Who speaks? Type /next with a name: {present}."
            return
        self._seat = asked.seat
        yield f"It is {self.writer}'s turn, which is yours. {asked.why}"

    # Seats

    def _write_as(self, seat: str) -> Iterable[str]:
        """Write as a seat, which the user then plays; or as the narrator."""
        if seat != NARRATOR:
            self._stage.take_seat(seat)
        self._seat = seat
        return [f"You are {self.writer} now."]

    def _release(self, seat: str) -> Iterable[str]:
        self._stage.give_back(seat)
        if self._turns.waited_for == seat:
            self._turns.asked = None
        if self._seat == seat:
            self._seat = writers(self._stage)[0]
        return [f"A model plays {seat_name(self._stage, seat)} again; you are {self.writer} now."]

    def _see(self, seat: str | None) -> Iterable[str]:
        self._turns.viewer = None if seat is None else self._stage.loaded.check_seat(seat)
        whose = "all lines" if seat is None else f"what {seat_name(self._stage, seat)} witnessed"
        return [f"You see {whose}.", *self._numbered()]

    # Other stages

    def _direct(self, command: SceneCommand) -> Iterable[str]:
        if command.text:
            self._put_on(with_director(self._stage, command.text, self._reopen))
        return [director_line(self._stage)]

    def _begin_anew(self) -> Iterable[str]:
        self._put_on(self._reopen(self._stage.loaded, None))
        self._seat = writers(self._stage)[0]
        return self._opening()

    def _put_on(self, stage: Stage) -> None:
        self._stage, self._turns = stage, TurnPrinter(stage, self._loop)
        self._turns.get_ready()

    # Navigation

    def _moved(self, told: str) -> list[str]:
        self._turns.asked = None
        return [*([told] if told else []), *self._ending()]

    def _branches(self, command: SceneCommand) -> Iterable[str]:
        if command.number:
            return self._moved(choose_branch(self._stage, command.number))
        return lines.branches(branch_paths(self._stage), self._stage.branch_name) or [_NO_LINES]

    # Output

    def _opening(self) -> list[str]:
        scene, messages = self._stage.loaded.scene, self._stage.messages
        present = ", ".join(seat_name(self._stage, seat) for seat in self._stage.present)
        return [
            f"{scene.title}. {scene.setting}",
            *([scene.time] if scene.time else []),
            f"Present: {present}. You are {self.writer}. /help lists the commands, /who tells about the "
            "seats, Enter alone plays a turn, Ctrl-D leaves.",
            *([_so_far(len(messages))] if messages else []),
            *(self._turns.line(message) for message in messages[-_LAST:]),
        ]

    def _numbered(self) -> list[str]:
        numbered = enumerate(self._stage.messages, 1)
        seen = [f"{number}. {self._turns.line(one)}" for number, one in numbered if self._turns.sees(one)]
        return seen or [_NO_LINES]

    def _ending(self) -> list[str]:
        numbered = self._numbered()
        return ["The scene ends with:", numbered[-1]] if self._stage.messages else numbered

    def _why(self, command: SceneCommand) -> Iterable[str]:
        line = last_by_model(self._stage, self._turns.viewer)
        prompted = self._turns.provenance.of(line.id).prompted
        if command.text != ALL:
            number = [message.id for message in self._stage.messages].index(line.id) + 1
            return [*lines.why(number, line), *(lines.prompt(prompted) if prompted else [])]
        if prompted is None:
            raise MessageError("The prompt of this line was not saved; /why prints what was.")
        return lines.full_prompt(prompted)

    def _export(self, command: SceneCommand) -> Iterable[str]:
        path = export_by_name(self._stage.transcript, self._stage.conversation, command.text)
        return [f"Written to {path}."]


def _so_far(count: int) -> str:
    if count == 1:
        return "There is 1 line so far; /history prints it."
    return f"There are {count:,} lines so far; /history prints them."
