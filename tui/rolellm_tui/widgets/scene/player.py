"""What lets a scene play, and tells how far it is."""

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
from rolellm_tui.widgets.common.failures import Failed, what_failed

PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between two turns that can be chosen from."""
USUAL_PAUSE = 1.0

Events = AsyncGenerator[SceneEvent, None]


class Player(Static):
    """Plays one turn at a time, and turn after turn as long as it is to; it shows how things stand."""

    class Changed(Message):
        """It began or ended something."""

    @dataclass
    class TurnOver(Message):
        """A turn has come to its end."""

        error: RoleLLMError | None
        """Why it could not even begin."""
        words: str
        """What was typed for it."""

    def __init__(
        self,
        stage: Stage,
        take: Callable[[SceneEvent], Awaitable[None]],
        *,
        pause: float = USUAL_PAUSE,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        """At rest.

        Args:
            stage: to play.
            take: is told each event before the next comes.
            pause: seconds between turns.
            id: the widget's.
        """
        super().__init__(id=id, markup=False)
        self.busy = False
        """Whether a turn is running."""
        self.playing = False
        """Whether turn follows turn."""
        self.speaking: str | None = None
        """The seat that speaks now."""
        self.asked: YourTurn | None = None
        """What a person was asked that they have not answered."""
        self.pause = pause
        self._stage = stage
        self._take = take
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        """Tell how far it is."""
        self.show()

    @property
    def waits_for(self) -> str | None:
        """The seat whose turn it is, when that is a person's."""
        return self.asked.seat if self.asked else None

    def begin(self, make: Callable[[], Events], *, words: str = "") -> None:
        """Begin a turn; nothing else may be on its way.

        Args:
            make: makes the turn's events.
            words: what was typed for it, to be given back if nothing comes of it.
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
        """Let the next turn follow after a pause, if turn follows turn and nobody is waited for."""
        if self._stage.ended:
            self.playing = False
        if self.playing and self.asked is None:
            self._timer = self.set_timer(max(self.pause, 0.01), self._next)

    def _next(self) -> None:
        if self.playing and not self.busy:
            self.begin(self._stage.step)

    def play(self) -> None:
        """Let turn follow turn."""
        self.playing = True
        if not self.busy and self.waits_for is None:
            self.begin(self._stage.step)
        self._changed()

    def rest(self) -> None:
        """Let no turn follow by itself."""
        self.playing = False
        self._wait_no_longer()
        self._changed()

    def forget(self) -> None:
        """Wait for nobody."""
        self.asked = None

    def stop(self) -> None:
        """Rest, and stop the turn that is on its way; its words so far stay."""
        self.rest()
        self._stage.cancel()

    def lengthen(self, step: int) -> None:
        """Make the pauses longer, or shorter when negative."""
        longer = [pause for pause in PAUSES if pause > self.pause][:1]
        shorter = [pause for pause in PAUSES if pause < self.pause][-1:]
        self.pause = next(iter(longer if step > 0 else shorter), self.pause)
        self.show()

    def show(self) -> None:
        """Tell who directs, how far it is, and whether it plays."""
        scene = self._stage.loaded.scene
        told = f"{scene.director.kind}, seed {self._stage.seed}"
        turn = f"turn {self._stage.turns:,} of {scene.stop.turns:,}"
        state = (self._state(), "$text-accent" if self.playing else "")
        self.update(Content.assemble(f"{told} · {turn} · ", state))

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
        """Tell the screen what went wrong."""
        if failure := what_failed(event):
            self.rest()
            self.post_message(Failed(failure))
