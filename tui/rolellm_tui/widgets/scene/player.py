"""The player of a scene, with a status line."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from textual import work
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static
from textual.worker import Worker

from rolellm_agents.errors import RoleLLMError
from rolellm_graphs.events import SceneEvent, SpeakerChosen, TurnFailed, YourTurn
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.widgets.common.failures import Failed, failure_text

PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Available pauses between turns, in seconds."""
USUAL_PAUSE = 1.0

Events = AsyncGenerator[SceneEvent, None]


class Player(Static):
    """Plays single turns, or turn after turn, and shows the state."""

    class Changed(Message):
        """The state changed."""

    @dataclass
    class TurnOver(Message):
        """A turn ended."""

        error: RoleLLMError | None
        """The error that prevented it."""
        words: str
        """The typed text."""

    def __init__(
        self,
        stage: Stage,
        take: Callable[[SceneEvent], Awaitable[None]],
        *,
        pause: float = USUAL_PAUSE,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        """Create a paused player.

        Args:
            stage: the stage to play.
            take: called with each event.
            pause: seconds between turns.
            id: the id of the widget.
        """
        super().__init__(id=id, markup=False)
        self.busy = False
        """Whether a turn is running."""
        self.playing = False
        """Whether turns follow automatically."""
        self.speaking: str | None = None
        """The speaking seat."""
        self.asked: YourTurn | None = None
        """The pending request for user input."""
        self.pause = pause
        self._stage = stage
        self._take = take
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        """Show the progress."""
        self.show()

    @property
    def waits_for(self) -> str | None:
        """The seat whose turn it is, if a user plays it."""
        return self.asked.seat if self.asked else None

    def begin(self, make: Callable[[], Events], *, words: str = "") -> None:
        """Start a turn. No other may be running.

        Args:
            make: creates the events of the turn.
            words: the typed text, which is restored if the turn fails.
        """
        self.busy = True
        self.forget()
        self._wait_no_longer()
        self._changed()
        self._follow(make(), words)

    @work(group="turn", exit_on_error=False)
    async def _follow(self, events: Events, words: str) -> None:
        failed: RoleLLMError | None = None
        try:
            async with aclosing(events):
                async for event in events:
                    self._note(event)
                    await self._take(event)
        except RoleLLMError as error:
            self.playing, failed = False, error
        finally:
            self.busy, self.speaking = False, None
        self.post_message(self.TurnOver(failed, words))
        self._go_on()
        self._changed()

    def _note(self, event: SceneEvent) -> None:
        match event:
            case SpeakerChosen(seat=seat):
                self.speaking = seat
            case YourTurn():
                self.asked = event
            case TurnFailed():
                self.playing = False

    def _go_on(self) -> None:
        """Schedule the next turn, unless paused or waiting for input."""
        if self._stage.ended:
            self.playing = False
        if self.playing and self.asked is None:
            self._timer = self.set_timer(max(self.pause, 0.01), self._next)

    def _next(self) -> None:
        if self.playing and not self.busy:
            self.begin(self._stage.step)

    def play(self) -> None:
        """Play turns automatically."""
        self.playing = True
        if not self.busy and self.waits_for is None:
            self.begin(self._stage.step)
        self._changed()

    def rest(self) -> None:
        """Pause."""
        self.playing = False
        self._wait_no_longer()
        self._changed()

    def forget(self) -> None:
        """Drop the pending request for input."""
        self.asked = None

    def stop(self) -> None:
        """Pause, and stop the running turn. Its text so far is kept."""
        self.rest()
        self._stage.cancel()

    def lengthen(self, step: int) -> None:
        """Make the pauses longer, or shorter when negative."""
        longer = [pause for pause in PAUSES if pause > self.pause][:1]
        shorter = [pause for pause in PAUSES if pause < self.pause][-1:]
        self.pause = next(iter(longer if step > 0 else shorter), self.pause)
        self.show()

    def show(self) -> None:
        """Show state, progress and director; a narrow terminal cuts off the last one."""
        scene = self._stage.loaded.scene
        settings = f"{scene.director.kind}, seed {self._stage.seed}"
        turn = f"turn {self._stage.turns:,} of {scene.stop.turns:,}"
        state = (self._state(), "$text-accent" if self.playing else "")
        self.update(Content.assemble(state, f" · {turn} · {settings}"))

    def _state(self) -> str:
        if self._stage.ended and not self.busy:
            return "■ over"
        if self.waits_for is not None:
            return "✎ your turn"
        if self.playing:
            return f"▶ pause {self.pause:g} s"
        return "▶ one turn" if self.busy else "‖ paused"

    def _wait_no_longer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _changed(self) -> None:
        self.show()
        self.post_message(self.Changed())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors."""
        if failure := failure_text(event):
            self.rest()
            self.post_message(Failed(failure))
