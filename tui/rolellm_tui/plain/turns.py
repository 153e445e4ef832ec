"""Playing of turns in plain mode."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.scene import line_of
from rolellm_agents.scene.view import render_line
from rolellm_agents.scene.witness import witnessed
from rolellm_agents.transcript import Message
from rolellm_graphs.events import (
    MessageDone,
    Prompted,
    Recalled,
    Retried,
    SceneEnded,
    SceneEvent,
    TokenDelta,
    TurnFailed,
    Waiting,
    YourTurn,
)
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.output import complain, print_text
from rolellm_tui.plain.background import BackgroundLoop
from rolellm_tui.widgets.inspector.provenance import ProvenanceLog


class TurnPrinter:
    """Plays the turns of a stage, and prints the lines that its viewer sees."""

    def __init__(self, stage: Stage, loop: BackgroundLoop) -> None:
        """Create the printer of a stage, which sees all lines.

        Args:
            stage: the scene.
            loop: the event loop that runs the stage.
        """
        self.viewer: str | None = None
        """The seat whose view is printed; None for all lines."""
        self.asked: YourTurn | None = None
        """The user's turn for which the scene waits."""
        self.goes_on = True
        """Whether the last turn ended by itself and did not fail."""
        self.provenance = ProvenanceLog()
        self._stage = stage
        self._loop = loop

    @property
    def waited_for(self) -> str | None:
        """The seat whose turn it is, if the user plays it."""
        return self.asked.seat if self.asked else None

    def get_ready(self) -> None:
        """Load the models in the background."""
        self._loop.begin(self._prepare())

    async def _prepare(self) -> None:
        # The turn itself reports the error.
        with suppress(RoleLLMError):
            await self._stage.prepare()

    def play(self, events: AsyncGenerator[SceneEvent, None], *, typed_by: str | None = None) -> None:
        """Play a turn. Ctrl-C stops it; a second Ctrl-C stops waiting for its end.

        Args:
            events: the events of the turn.
            typed_by: the seat whose line the user has just typed, which is not printed again.

        Raises:
            RoleLLMError: the turn cannot begin.
            KeyboardInterrupt: Ctrl-C was pressed a second time.
        """
        self.asked, self.goes_on = None, True
        turn = self._loop.begin(self._print(events, typed_by))
        try:
            self._loop.wait_for(turn)
        except KeyboardInterrupt:
            self.goes_on = False
            self._loop.call(self._stage.cancel)
            self._loop.wait_for(turn)

    async def _print(self, events: AsyncGenerator[SceneEvent, None], typed_by: str | None) -> None:
        async with aclosing(events):
            async for event in events:
                match event:
                    case MessageDone(message=message) if (
                        message.speaker == typed_by and "model" not in message.made_by
                    ):
                        typed_by = None
                    case MessageDone(message=message):
                        if self.sees(message):
                            print_text(self.line(message))
                    case Prompted() | Recalled() | TokenDelta():
                        self.provenance.note(event)
                    case _:
                        self._take(event)

    def _take(self, event: SceneEvent) -> None:
        match event:
            case Waiting():
                complain(str(event))
            case Retried(fault=fault) if self.viewer is None:
                complain(f"Retrying: {fault}")
            case TurnFailed(error=error):
                self.goes_on = False
                complain(str(error))
            case YourTurn():
                self.asked = event
            case SceneEnded(why=why):
                print_text(f"The scene is over. {why}")

    def sees(self, message: Message) -> bool:
        """Whether the viewer sees a message."""
        return self.viewer is None or bool(witnessed([line_of(message)], self.viewer))

    def line(self, message: Message) -> str:
        """A message as a line."""
        ending = f" ({message.ending})" if message.ending else ""
        return render_line(self._stage.loaded, line_of(message)) + ending
