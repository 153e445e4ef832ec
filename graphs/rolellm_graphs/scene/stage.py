"""The interface between a scene and a front end, which holds a `Stage`.

A stage runs the scene graph turn by turn, records the transcript, and yields typed events. The graph gets
its history from the transcript for each turn, so an interrupted scene can resume at any point.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from rolellm_agents.chat_files.scenes import SCENE
from rolellm_agents.errors import MessageError, RoleLLMError, SceneError
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.local import load_model
from rolellm_agents.models.presets.using import left_out_note
from rolellm_agents.scene import NARRATOR, LoadedScene, Scene, SceneLine, agreed, cast_scene, line_of
from rolellm_agents.scene.events import check_present, event_line, join_event, leave_event
from rolellm_agents.scene.message_kinds import MessageKind
from rolellm_agents.scene.stopping import ending
from rolellm_agents.scene.turns import turns
from rolellm_agents.scene.witness import present_in, witnessed
from rolellm_agents.text import one_line
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs.chat.cursor import ConversationCursor
from rolellm_graphs.chat.graph_stream import GraphStream
from rolellm_graphs.events import MessageDone, SceneEnded, SceneEvent, TurnFailed
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.graph import staged_scene_graph
from rolellm_graphs.scene.state import PersonsLine, SceneContext, SceneInput
from rolellm_graphs.scene.tape import Call, Tape
from rolellm_graphs.scene.turn import SET_ASIDE, SceneTurn

_STEPS = 60
"""LangGraph's recursion limit for one turn, which takes ten steps, and more if people pass."""


class TurnRequest(NamedTuple):
    """The input of one turn."""

    given: SceneInput
    path: list[Message]
    """The messages before the turn."""
    swipes: int = 0
    """The number of existing swipes, which is added to the seed."""


class Stage(ConversationCursor):
    """A scene that is being played, on one branch of its tree."""

    def __init__(
        self,
        ensemble: Ensemble,
        transcript: Transcript,
        *,
        conversation: str | None = None,
        seed: int | None = None,
        persons: Iterable[str] | None = None,
        listeners: Sequence[BaseCallbackHandler] = (),
    ) -> None:
        """Open a scene.

        Args:
            ensemble: the scene and its models.
            transcript: stores all messages.
            conversation: the id of a conversation of this scene to continue; None starts a new one.
            seed: seed of directors and models; defaults to the scene's seed, or 0.
            persons: the seats of people; defaults to those that the scene names.
            listeners: LangChain callbacks for all model calls.

        Raises:
            MessageError: there is no such conversation.
            SceneError: there is no such seat.
            StorageError: the transcript cannot be read.
        """
        super().__init__(transcript, conversation)
        self._path = self._without_broken_off(self._path)
        self.ensemble = ensemble
        self.loaded: LoadedScene = ensemble.loaded
        scene = self.loaded.scene
        self.seed = seed if seed is not None else scene.seed or 0
        self.calls: list[Call] = []
        """The model calls of the last turn."""
        told = persons if persons is not None else [seat.id for seat in scene.cast if seat.person]
        self._persons = dict.fromkeys(self._seat(one) for one in told)
        self._listeners = tuple(listeners)
        self._saver = InMemorySaver()
        self._graph = staged_scene_graph(ensemble, checkpointer=self._saver)
        self._stream: GraphStream | None = None

    @property
    def notice(self) -> str:
        """What the user should know before the first turn; empty if there is nothing."""
        voices = {voice.model_name: voice.model for voice in self.ensemble.voices.values()}
        told = (left_out_note(model, name) for name, model in voices.items())
        return " ".join(filter(None, told))

    @property
    def lines(self) -> list[SceneLine]:
        """The lines of this branch."""
        return [line_of(message) for message in self._path]

    @property
    def present(self) -> tuple[str, ...]:
        """The seats that are present."""
        return present_in(self.loaded.scene, self.lines)

    @property
    def persons(self) -> tuple[str, ...]:
        """The seats of people."""
        return tuple(self._persons)

    @property
    def turns(self) -> int:
        """The number of finished turns."""
        return len(turns(self.lines))

    @property
    def ended(self) -> str:
        """Why the scene is over; empty while it continues."""
        return ending(self.loaded.scene, self.lines) or ""

    def witnessed(self, seat: str) -> list[Message]:
        """The messages of this branch that a seat witnessed.

        Raises:
            SceneError: there is no such seat.
        """
        seen = {line["id"] for line in witnessed(self.lines, self._seat(seat))}
        return [message for message in self._path if message.id in seen]

    def take_seat(self, seat: str) -> None:
        """Let a person play a seat, or narrate, starting with the next turn.

        Raises:
            SceneError: there is no such seat.
        """
        self._persons[self._seat(seat)] = None

    def give_back(self, seat: str) -> None:
        """Let a model play a seat again.

        Raises:
            SceneError: there is no such seat.
        """
        self._persons.pop(self._seat(seat), None)

    async def prepare(self) -> None:
        """Load the models now.

        Raises:
            ModelError: a model cannot be loaded.
        """
        for model in self.ensemble.models:
            await asyncio.to_thread(load_model, model)

    def step(self, *, speaker: str | None = None) -> AsyncGenerator[SceneEvent, None]:
        """Play one turn, with the scheduled events and narration around it.

        Args:
            speaker: the seat that speaks; None lets the director choose.

        Raises:
            MessageError: a turn is running.
            SceneError: there is no such seat.
        """
        return self._play(
            lambda: TurnRequest(
                SceneInput(next=self.loaded.check_seat(speaker) if speaker else None), self._path
            )
        )

    def say(self, said: PersonsLine) -> AsyncGenerator[SceneEvent, None]:
        """Play a person's line as the next turn, whether or not it is that person's turn.

        Raises:
            MessageError: the text is empty, the seat is not present, or a turn is running.
            SceneError: there is no such seat.
        """

        def checked() -> TurnRequest:
            if self._seat(said["seat"]) != NARRATOR:
                check_present(self.loaded, said["seat"], self.lines)
            if not said["text"].strip():
                raise MessageError("The message is empty; type some text.")
            return TurnRequest(SceneInput(said=said), self._path)

        return self._play(checked)

    def again(self) -> AsyncGenerator[SceneEvent, None]:
        """Generate the last model's line again, with another seed; the previous line is kept as a swipe.

        If no new line is generated, the branch still shows the previous one.

        Raises:
            MessageError: no model has spoken yet, or a turn is running.
        """

        def before_last() -> TurnRequest:
            places = [place for place, one in enumerate(self._path) if "model" in one.made_by]
            if not places:
                raise MessageError("Nobody has spoken yet; let the scene play a turn.")
            last = self._path[places[-1]]
            swipes = len(self._transcript.siblings(last.id))
            return TurnRequest(SceneInput(next=last.speaker), self._path[: places[-1]], swipes)

        return self._play(before_last)

    def take_over(self, lines: Sequence[SceneLine]) -> None:
        """Start the scene with existing lines, for example from a file.

        Raises:
            MessageError: the scene already has lines.
        """
        if self._path:
            raise MessageError(
                "This scene already has lines; existing lines can only be added at its start."
            )
        with self._turn():
            for line in lines:
                self._record(line)

    def let_in(self, seat: str, text: str = "") -> Message:
        """Let a seat join the scene.

        Raises:
            MessageError: the seat is already present, or a turn is running.
            SceneError: there is no such seat.
        """
        if self.loaded.check_seat(seat) in self.present:
            raise MessageError(f"{self.loaded.names[seat]} is present already.")
        with self._turn():
            return self._record(event_line(self.loaded, self.lines, join_event(self.loaded, seat, text)))

    def let_out(self, seat: str, text: str = "") -> Message:
        """Let a seat leave the scene.

        Raises:
            MessageError: the seat is not present, or a turn is running.
            SceneError: there is no such seat.
        """
        check_present(self.loaded, seat, self.lines)
        with self._turn():
            return self._record(event_line(self.loaded, self.lines, leave_event(self.loaded, seat, text)))

    def cancel(self) -> None:
        """Stop the running turn, if any; the transcript keeps the part that was received."""
        if self._stream is not None:
            self._stream.cancel()

    def _begin_conversation(self) -> str:
        scene = self.loaded.scene
        kept = {"scene": scene.model_dump(mode="json", exclude_unset=True), "seed": self.seed}
        if self.loaded.path:
            kept["path"] = str(self.loaded.path.resolve())
        conversation = self._transcript.create_conversation(f"{SCENE}{scene.id}", kept)
        self._transcript.rename(conversation, scene.title)
        return conversation

    async def _play(self, begin: Callable[[], TurnRequest]) -> AsyncGenerator[SceneEvent, None]:
        """Run the graph for one turn.

        Args:
            begin: validates and returns the turn's input.
        """
        request = begin()
        with self._turn():
            tape, thread = Tape(), uuid4().hex
            turn = self._turn_after(request.path)
            stream = self._stream = GraphStream(self._astream(request, list(turn.lines), tape, thread))
            try:
                async with aclosing(stream) as parts:
                    async for part in parts:
                        for event in turn.take(part):
                            self._follow(turn)
                            yield event
                if stopped := turn.stop():
                    self._follow(turn)
                    yield MessageDone(message=stopped)
            except Exception as error:
                explained = self._explained(error)
                kept = turn.fail()
                self._follow(turn)
                if explained is None:
                    raise
                yield TurnFailed(error=explained, message=kept)
            finally:
                turn.stop()
                self._follow(turn)
                self.calls = tape.calls
                self._saver.delete_thread(thread)
                self._stream = None
            if over := self.ended:
                yield SceneEnded(why=over)

    def _follow(self, turn: SceneTurn) -> None:
        """Move to the end of a turn; stay in place if the turn added no messages."""
        if turn.brought:
            self._path = turn.path

    def _without_broken_off(self, path: list[Message]) -> list[Message]:
        """A path without an incomplete answer at its end, which remains if the process was killed.

        The answer is generated again, and the incomplete one is kept as a swipe.
        """
        if not path or not _is_broken_off(path[-1]):
            return path
        # If later messages exist, the user has selected this answer since.
        return path[:-1] if self.tree()[-1].id == path[-1].id else path

    def _explained(self, error: Exception) -> RoleLLMError | None:
        told = (explain_failure(error, model) for model in self.ensemble.models)
        return next((explained for explained in told if explained), None)

    def _turn_after(self, path: list[Message]) -> SceneTurn:
        if self.conversation is None:
            self.conversation = self._begin_conversation()
        return SceneTurn(self.ensemble, self._transcript, self.conversation, self._branch, path)

    def _astream(self, request: TurnRequest, lines: list[SceneLine], tape: Tape, thread: str) -> Any:
        given = request.given
        return self._graph.astream(
            SceneInput(lines=lines, said=given.get("said"), next=given.get("next")),
            {
                "recursion_limit": _STEPS,
                "callbacks": [tape, *self._listeners],
                "configurable": {"thread_id": thread},
            },
            context=SceneContext(seed=self.seed + request.swipes, turns=1, persons=self.persons),
            stream_mode=["messages", "updates", "custom"],
            subgraphs=True,
            version="v2",
        )

    def _record(self, line: SceneLine) -> Message:
        made_by = dict(line["made_by"])
        return self._append(
            self._path,
            line["speaker"],
            line["text"],
            audience=line["audience"],
            kind=line["kind"],
            made_by=made_by or None,
        )

    def _seat(self, seat: str) -> str:
        return seat if seat == NARRATOR else self.loaded.check_seat(seat)


def _is_broken_off(message: Message) -> bool:
    return message.status == "cut" or SET_ASIDE in message.made_by


def stored_scene(
    transcript: Transcript, conversation: str, *, turn_kinds: Sequence[MessageKind] = ()
) -> tuple[LoadedScene, int]:
    """The scene of a conversation as it was stored at its start, and its seed.

    Args:
        transcript: holds the conversation.
        conversation: its id.
        turn_kinds: the turn kinds of the scene that neither we nor a package provide.

    Raises:
        SceneError: the conversation is not a scene, or its definition is invalid.
        PersonaError: a persona of the cast cannot be found any more.
    """
    kept = transcript.extensions(conversation)
    if "scene" not in kept:
        raise SceneError(
            f"The conversation {conversation} is not a scene; “rolellm history list” shows all."
        )
    path = Path(kept["path"]) if "path" in kept else None
    try:
        scene = Scene.model_validate(kept["scene"], context={"turn_kinds": turn_kinds})
    except ValidationError as error:
        fault = one_line(str(error.errors()[0]["msg"]).removeprefix("Value error, "), 300)
        raise SceneError(
            f"The scene of the conversation {conversation} cannot be played here: {fault}."
        ) from error
    # Its models count: it began here, after somebody agreed to them, and imports leave models out.
    return agreed(cast_scene(scene, path)), int(kept.get("seed", 0))
