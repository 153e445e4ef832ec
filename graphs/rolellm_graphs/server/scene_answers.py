"""Answers of scenes: characters play until it is the user's turn."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Final

from rolellm_agents.scene import NARRATOR, LoadedScene, SceneLine
from rolellm_agents.scene.events import ScheduledEvent, due_lines, event_line
from rolellm_agents.scene.message_kinds import MessageKind, kind_of
from rolellm_agents.scene.utterances import parse_typed_line
from rolellm_agents.scene.witness import present_in
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs.events import MessageDone, SceneEvent, TurnFailed
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.run import Played, play
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine
from rolellm_graphs.server.answers import AnswerChunk, AnswerEnd, AnswerPart
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.names import SCENE
from rolellm_graphs.server.scene_memory import SceneMemory
from rolellm_graphs.server.scene_text import WrittenLine, heading, parse_lines
from rolellm_graphs.server.wire import (
    ChatMessage,
    ChatRequest,
    PromptDetails,
    SceneMessage,
    SceneReply,
    Usage,
)

_UNUSED: Final = (
    "frequency_penalty",
    "max_completion_tokens",
    "max_tokens",
    "min_p",
    "parallel_tool_calls",
    "presence_penalty",
    "repeat_penalty",
    "response_format",
    "stop",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
)
"""Fields that have no effect in a scene, whose file says how its characters are generated."""


class SceneAgent:
    """A scene with its models, and a user in one of its seats or as a spectator."""

    persona: str | None = None

    def __init__(self, ensemble: Ensemble, memory: SceneMemory, *, seat: str | None, turns: int) -> None:
        """Create the agent; nothing is loaded yet.

        Args:
            ensemble: the scene and its models.
            memory: the lines of earlier answers.
            seat: the user's seat. None uses the scene's first seat for a person; if it has none, the user
                watches, and what the user writes is narrated.
            turns: the maximum number of turns of one answer.

        Raises:
            SceneError: there is no such seat.
        """
        self._ensemble = ensemble
        self._loaded: LoadedScene = ensemble.loaded
        self._memory = memory
        self._turns = turns
        persons = [seat_.id for seat_ in self._loaded.scene.cast if seat_.person]
        self.seat = self._loaded.check_seat(seat) if seat else (persons or [NARRATOR])[0]
        self.name = f"{SCENE}{self._loaded.scene.id}@{self.seat}"

    def ignored(self, request: ChatRequest) -> list[str]:
        """The fields of a request that have no effect in a scene; see `Agent`."""
        return [name for name in _UNUSED if getattr(request, name) not in (None, [])]

    async def answer(self, request: ChatRequest, seed: int | None) -> AsyncGenerator[AnswerPart, None]:
        """Play turns; see `Agent`. Lines are sent when they are final, since a faulty one is retried.

        Raises:
            ApiError: the scene is over.
            RoleLLMError: a model cannot answer, or the user's action is invalid.
        """
        history, new_lines = _split(request.messages)
        sent: list[Message] = []
        with Transcript(None) as transcript:
            stage = Stage(self._ensemble, transcript, seed=seed, persons=[self.seat])
            stage.take_over(self._lines(history))
            if new_lines and stage.ended:
                raise _scene_over_error(stage.ended)
            async for message in self._played(stage, new_lines):
                if self._sees(message):
                    line = self._written_line(message)
                    separator = "\n\n" if sent else ""
                    sent.append(message)
                    yield AnswerChunk(
                        separator + heading(line, self._loaded.names) + line.text, message.speaker
                    )
            if not sent and stage.ended:
                raise _scene_over_error(stage.ended)
            text = "\n\n".join(
                heading(self._written_line(one), self._loaded.names) + one.text for one in sent
            )
            texts = [*_texts(request.messages), ("assistant", text)]
            self._memory.keep(self.name, texts, stage.lines)
            messages = [SceneMessage(name=one.speaker, kind=one.kind, content=one.text) for one in sent]
            reply = SceneReply(messages=messages, seat=self.seat, ended=stage.ended)
            yield AnswerEnd("stop", _total_usage(stage.messages), reply)

    async def _played(self, stage: Stage, texts: Sequence[str]) -> AsyncGenerator[Message, None]:
        """Events of the next turns, without the user's."""
        for text in texts:
            line = self._persons_line(text, stage.present)
            async with aclosing(stage.say(line)) as events:
                async for event in events:
                    if (message := _message_of(event)) and not message.made_by.get("person"):
                        yield message
        async with aclosing(play(stage, self._turns)) as played:
            async for played_event in played:
                if message := _message_of(played_event):
                    yield message

    def _persons_line(self, text: str, present: Iterable[str]) -> PersonsLine:
        if self.seat == NARRATOR:
            return PersonsLine(seat=NARRATOR, kind="narrate", to=[], text=text.strip())
        others = {seat: self._loaded.names[seat] for seat in present if seat != self.seat}
        typed = parse_typed_line(text, others, self._loaded.scene.turn_kinds)
        return PersonsLine(seat=self.seat, kind=typed.kind, to=list(typed.to), text=typed.text)

    def _sees(self, message: Message) -> bool:
        if self.seat == NARRATOR:
            return self._kind_of(message).perceived_by == "everyone"
        return self.seat in message.audience

    def _kind_of(self, message: Message) -> MessageKind:
        return kind_of(message.kind, self._loaded.scene.turn_kinds)

    def _written_line(self, message: Message) -> WrittenLine:
        addressed = self._kind_of(message).perceived_by == "addressees"
        to = tuple(seat for seat in message.audience if seat != message.speaker) if addressed else ()
        return WrittenLine(message.speaker, message.kind, to, message.text)

    # What happened before

    def _lines(self, messages: Sequence[ChatMessage]) -> list[SceneLine]:
        """Earlier lines: from memory, or else parsed from the messages."""
        if not messages:
            return []
        remembered = self._memory.find(self.name, _texts(messages))
        if remembered is not None:
            return remembered
        lines: list[SceneLine] = []
        for message in messages:
            due = due_lines(self._loaded, lines)
            lines += due
            due_texts = {(line["speaker"], line["text"]) for line in due}
            for entry in self._lines_in(message, lines):
                if (entry.speaker, entry.text) not in due_texts:
                    event = ScheduledEvent(*entry, {})
                    lines.append(event_line(self._loaded, lines, event))
        return lines

    def _lines_in(self, message: ChatMessage, lines: Sequence[SceneLine]) -> list[WrittenLine]:
        if message.role == "user":
            line = self._persons_line(message.text, present_in(self._loaded.scene, lines))
            return [WrittenLine(line["seat"], line["kind"], tuple(line["to"]), line["text"])]
        if message.role == "assistant":
            return parse_lines(message.text, self._loaded.names, self._loaded.scene.message_kinds)
        return []  # system messages of clients do not concern a scene


def _split(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[str]]:
    """The answered messages, and the user messages since."""
    played = [message for message in messages if message.role in ("user", "assistant")]
    new_lines: list[str] = []
    while played and played[-1].role == "user":
        new_lines.insert(0, played.pop().text)
    return played, new_lines


def _texts(messages: Iterable[ChatMessage]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages if message.role in ("user", "assistant")]


def _message_of(event: SceneEvent | Played) -> Message | None:
    if isinstance(event, TurnFailed):
        raise event.error
    return event.message if isinstance(event, MessageDone) else None


def _total_usage(messages: Iterable[Message]) -> Usage:
    """Token counts of all turns."""
    used = [message.usage for message in messages if message.usage]
    return Usage(
        prompt_tokens=sum(usage.get("input_tokens", 0) for usage in used),
        completion_tokens=sum(usage.get("output_tokens", 0) for usage in used),
        total_tokens=sum(usage.get("total_tokens", 0) for usage in used),
        prompt_tokens_details=PromptDetails(
            cached_tokens=sum(usage.get("input_token_details", {}).get("cache_read", 0) for usage in used)
        ),
    )


def _scene_over_error(reason: str) -> ApiError:
    return ApiError(
        HTTPStatus.BAD_REQUEST,
        f"The scene is over ({reason}); start it again in a new conversation.",
        code="scene_over",
        param="messages",
    )
