"""The seam between a scene and whatever shows it: a front end holds a `Stage`.

A stage lets the scene graph play turn by turn, keeps what happens in the transcript, and yields typed
events. The graph gets what happened from the transcript each time, so a scene that was killed anywhere goes
on where it stood.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver

from rolellm_agents.chat_files.scenes import SCENE
from rolellm_agents.errors import MessageError, RoleLLMError, SceneError
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.local import load_model
from rolellm_agents.scene import NARRATOR, LoadedScene, Scene, SceneLine, cast_scene, line_of
from rolellm_agents.scene.events import check_present, event_line, join_event, leave_event
from rolellm_agents.scene.stopping import ending
from rolellm_agents.scene.turns import turns
from rolellm_agents.scene.witness import present_in, witnessed
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
"""LangGraph's recursion limit for one turn: a turn takes ten steps, and people may pass theirs on."""


class TurnRequest(NamedTuple):
    """What one turn is to be."""

    given: SceneInput
    path: list[Message]
    """What happened before it."""
    beside: int = 0
    """How many answers stand in its place already."""


class Stage(ConversationCursor):
    """One scene on its way, on one branch of its tree."""

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
            ensemble: the scene and who plays it.
            transcript: where all that happens is kept.
            conversation: the id of a scene that was begun, to go on with; it must be of this scene.
            seed: of directors and models; that of the scene, or 0, when None.
            persons: the seats in which people sit; those the scene names when None.
            listeners: hear of every call of a model.

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
        """What the models were asked in the last turn, and what they said."""
        told = persons if persons is not None else [seat.id for seat in scene.cast if seat.person]
        self._persons = dict.fromkeys(self._seat(one) for one in told)
        self._listeners = tuple(listeners)
        self._saver = InMemorySaver()
        self._graph = staged_scene_graph(ensemble, checkpointer=self._saver)
        self._stream: GraphStream | None = None

    @property
    def lines(self) -> list[SceneLine]:
        """What happened on this branch, as the scene's rules see it."""
        return [line_of(message) for message in self._path]

    @property
    def present(self) -> tuple[str, ...]:
        """The seats that are there."""
        return present_in(self.loaded.scene, self.lines)

    @property
    def persons(self) -> tuple[str, ...]:
        """The seats in which people sit."""
        return tuple(self._persons)

    @property
    def turns(self) -> int:
        """How many turns are over."""
        return len(turns(self.lines))

    @property
    def ended(self) -> str:
        """Why the scene is over; empty while it is not."""
        return ending(self.loaded.scene, self.lines) or ""

    def witnessed(self, seat: str) -> list[Message]:
        """What a seat has seen and heard on this branch.

        Raises:
            SceneError: there is no such seat.
        """
        seen = {line["id"] for line in witnessed(self.lines, self._seat(seat))}
        return [message for message in self._path if message.id in seen]

    def take_seat(self, seat: str) -> None:
        """Let a person sit there from the next turn on; on the narrator's chair, too.

        Raises:
            SceneError: there is no such seat.
        """
        self._persons[self._seat(seat)] = None

    def give_back(self, seat: str) -> None:
        """Let a model play the seat again.

        Raises:
            SceneError: there is no such seat.
        """
        self._persons.pop(self._seat(seat), None)

    async def prepare(self) -> None:
        """Load the models now.

        Raises:
            ModelError: one of them cannot be loaded.
        """
        for model in self.ensemble.models:
            await asyncio.to_thread(load_model, model)

    def step(self, *, speaker: str | None = None) -> AsyncGenerator[SceneEvent, None]:
        """Play one turn, and what happens before and after it.

        Args:
            speaker: who is to speak, in place of whom the director would choose.

        Raises:
            MessageError: a turn is on its way.
            SceneError: there is no such seat.
        """
        return self._play(
            lambda: TurnRequest(
                SceneInput(next=self.loaded.check_seat(speaker) if speaker else None), self._path
            )
        )

    def say(self, said: PersonsLine) -> AsyncGenerator[SceneEvent, None]:
        """Let a person in a seat do something: the turn is theirs, asked or unasked.

        Raises:
            MessageError: the text is empty, the seat is not there, or a turn is on its way.
            SceneError: there is no such seat.
        """

        def checked() -> TurnRequest:
            if self._seat(said["seat"]) != NARRATOR:
                check_present(self.loaded, said["seat"], self.lines)
            if not said["text"].strip():
                raise MessageError("The message is empty; type something to say.")
            return TurnRequest(SceneInput(said=said), self._path)

        return self._play(checked)

    def again(self) -> AsyncGenerator[SceneEvent, None]:
        """Let the last speaker say it anew, with another seed; what was said stays, as a swipe.

        When nothing new comes, what was said stays in view.

        Raises:
            MessageError: nobody has spoken yet, or a turn is on its way.
        """

        def before_last() -> TurnRequest:
            places = [place for place, one in enumerate(self._path) if "model" in one.made_by]
            if not places:
                raise MessageError("Nobody has spoken yet; let the scene play a turn.")
            last = self._path[places[-1]]
            beside = len(self._transcript.siblings(last.id))
            return TurnRequest(SceneInput(next=last.speaker), self._path[: places[-1]], beside)

        return self._play(before_last)

    def take_over(self, lines: Sequence[SceneLine]) -> None:
        """Begin with what happened elsewhere, such as in a file.

        Raises:
            MessageError: something has happened here already.
        """
        if self._path:
            raise MessageError("This scene has begun; what happened elsewhere can only come first.")
        with self._turn():
            for line in lines:
                self._record(line)

    def let_in(self, seat: str, text: str = "") -> Message:
        """Let somebody come in.

        Raises:
            MessageError: they are there already, or a turn is on its way.
            SceneError: there is no such seat.
        """
        if self.loaded.check_seat(seat) in self.present:
            raise MessageError(f"{self.loaded.names[seat]} is there already.")
        with self._turn():
            return self._record(event_line(self.loaded, self.lines, join_event(self.loaded, seat, text)))

    def let_out(self, seat: str, text: str = "") -> Message:
        """Let somebody leave.

        Raises:
            MessageError: they are not there, or a turn is on its way.
            SceneError: there is no such seat.
        """
        check_present(self.loaded, seat, self.lines)
        with self._turn():
            return self._record(event_line(self.loaded, self.lines, leave_event(self.loaded, seat, text)))

    def cancel(self) -> None:
        """Stop the turn that is on its way, if any; what was said is kept."""
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
        """One call of the graph.

        Args:
            begin: checks and says what is played.
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
        """Go on from what a turn has brought; from where it began, if it has brought nothing."""
        if turn.brought:
            self._path = turn.path

    def _without_broken_off(self, path: list[Message]) -> list[Message]:
        """A path without the answer at its end that was on its way when the process died.

        It is given anew, as if nothing had been, and what there is of it stays beside.
        """
        if not path or not _is_broken_off(path[-1]):
            return path
        # If something was said after it, somebody has chosen it since.
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
            context=SceneContext(seed=self.seed + request.beside, turns=1, persons=self.persons),
            stream_mode=["messages", "updates"],
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


def stored_scene(transcript: Transcript, conversation: str) -> tuple[LoadedScene, int]:
    """The scene that a conversation was begun with, and its seed.

    Raises:
        SceneError: the conversation is no scene.
        PersonaError: one of its cast cannot be found any more.
    """
    kept = transcript.extensions(conversation)
    if "scene" not in kept:
        raise SceneError(f"The conversation {conversation} is no scene; “rolellm history list” shows all.")
    path = Path(kept["path"]) if "path" in kept else None
    return cast_scene(Scene.model_validate(kept["scene"]), path), int(kept.get("seed", 0))
