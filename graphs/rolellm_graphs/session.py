"""The seam between a conversation and whatever shows it: a front end holds a `Session`.

A session drives the role graph, keeps the transcript, and yields typed events. The transcript is the
truth; the graph gets its history from there and needs no checkpointer.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage

from rolellm_agents.card_persona import with_macros
from rolellm_agents.cards import Lorebook
from rolellm_agents.errors import MessageError, ModelError, RoleLLMError
from rolellm_agents.models.catalog import describe_model, get_model
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.local import Cancellable, LocalModel, load_model
from rolellm_agents.persona import Persona
from rolellm_agents.prompting import Prompting
from rolellm_agents.settings import DEFAULT_MODEL, DEFAULT_STRATEGY, DEFAULT_USER
from rolellm_agents.text import whole
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_agents.transcript.store import MAIN
from rolellm_graphs.events import Event, MessageDone, Recalled, TokenDelta, TurnFailed
from rolellm_graphs.role import RoleContext, RoleInput, role_graph

_STILL_ANSWERING = "An answer is still on its way; stop it first, or wait for its end."
_STEPS = 10
"""LangGraph's recursion limit for one turn, which takes three."""


class Session:
    """One person's conversation with one persona."""

    def __init__(
        self,
        persona: Persona,
        transcript: Transcript,
        *,
        model: BaseChatModel | str = DEFAULT_MODEL,
        model_name: str | None = None,
        strategy: str = DEFAULT_STRATEGY,
        conversation: str | None = None,
        seed: int | None = None,
        user_name: str = DEFAULT_USER,
        lorebooks: Sequence[Lorebook] = (),
    ) -> None:
        """Open a conversation.

        Args:
            persona: whom to talk with.
            transcript: where everything said is kept.
            model: any LangChain chat model, or a spec for `get_model`.
            model_name: what the transcript calls the model; its spec when None.
            strategy: how the persona reaches the model.
            conversation: the id of one to go on with; a new one begins with the first message.
            seed: makes answers repeatable; each swipe of an answer adds one to it.
            user_name: what the persona calls the person, for `{{user}}` in cards.
            lorebooks: of the world, beside the persona's own.

        Raises:
            ModelError: there is no such model.
            SettingsError: there is no such strategy.
            MessageError: there is no such conversation.
            StorageError: the transcript cannot be read.
        """
        if conversation and not transcript.branches(conversation):
            raise MessageError(f"There is no conversation {conversation!r}.")
        self.persona = with_macros(persona, user_name)
        self.model = get_model(model) if isinstance(model, str) else model
        spec = model if isinstance(model, str) else describe_model(model)
        self.model_name = model_name or spec
        self.strategy = strategy
        self.conversation = conversation
        self._seed = seed
        self._user_name = user_name
        self._lorebooks = tuple(lorebooks)
        self._transcript = transcript
        self._graph = role_graph(
            self.persona, model=self.model, strategy=strategy, user=user_name, lorebooks=lorebooks
        )
        self._branch = transcript.latest_branch(conversation) if conversation else MAIN
        self._path = transcript.path(conversation, self._branch) if conversation else []
        self._turn: _Turn | None = None
        self._ahead: Cancellable | None = None

    @property
    def messages(self) -> Sequence[Message]:
        """What was said on this branch, oldest first."""
        return tuple(self._path)

    @property
    def answering(self) -> bool:
        """Whether an answer is on its way."""
        return self._turn is not None

    async def prepare(self) -> None:
        """Load the model now, while the person reads or types.

        Raises:
            ModelError: it cannot be loaded.
        """
        await asyncio.to_thread(load_model, self.model)

    async def read_ahead(self, draft: str = "") -> None:
        """Let a local model read what is known of the next prompt, while the person reads or types.

        Nobody waits for it: an answer goes first, and what cannot be read ahead is read later.

        Args:
            draft: what the person has typed so far.
        """
        if self._ahead is not None:
            self._ahead.cancel()
        if isinstance(self.model, LocalModel) and not self.answering:
            self._ahead = await asyncio.to_thread(self._read_ahead, self.model, draft.strip())

    def _read_ahead(self, model: LocalModel, draft: str) -> Cancellable | None:
        history: list[BaseMessage] = [_as_langchain(message) for message in self._path]
        if not history and self.persona.greeting:
            history = [AIMessage(self.persona.greeting)]
        try:
            return model.prefetch(self._foresee(history, draft))
        except RoleLLMError:
            # The answer itself will tell what is wrong.
            return None

    def _foresee(self, history: list[BaseMessage], draft: str) -> list[BaseMessage]:
        if not draft:
            return self._prompting.foreseen(history)
        found = self._prompting.look_up(history, draft, self._lore_so_far())
        return self._prompting.compose(history, found.recalled, draft)

    @cached_property
    def _prompting(self) -> Prompting:
        return Prompting(self.persona, self.strategy, user=self._user_name, lorebooks=self._lorebooks)

    def greet(self) -> None:
        """Let the persona's greeting, if it has one, be the first message.

        Call it before the first `send`, so that a conversation nobody began is not kept.

        Raises:
            StorageError: it could not be recorded.
        """
        if not self._path and self.persona.greeting:
            self._append([], self.persona.id, self.persona.greeting, made_by={"greeting": True})

    async def send(self, text: str) -> AsyncGenerator[Event, None]:
        """Say something and hear the answer.

        Raises:
            MessageError: the text is empty, or an answer is still on its way. Nothing was recorded.
            StorageError: the text could not be recorded.
        """
        line = _checked(text)
        with self._begin_turn() as turn:
            yield MessageDone(message=self._append(self._path, USER, line))
            async with aclosing(self._answer(turn)) as events:
                async for event in events:
                    yield event

    async def regenerate(self) -> AsyncGenerator[Event, None]:
        """Answer the person's last line again; the answer before stays, as a swipe.

        When no new answer comes, the one before stays in view.

        Raises:
            MessageError: there is nothing to answer, or an answer is still on its way.
        """
        with self._begin_turn() as turn:
            before = self._path
            asked = [place for place, message in enumerate(before) if message.speaker == USER]
            if not asked:
                raise MessageError("There is nothing to answer yet; say something first.")
            self._path = before[: asked[-1] + 1]
            try:
                async with aclosing(self._answer(turn)) as events:
                    async for event in events:
                        yield event
            finally:
                if len(self._path) == asked[-1] + 1:
                    self._path = before

    async def edit(self, message_id: str, text: str) -> AsyncGenerator[Event, None]:
        """Put other words beside a message of this branch and go on from there; the old ones stay.

        A line of the person's is answered anew.

        Raises:
            MessageError: the text is empty, there is no such message, or an answer is on its way.
        """
        line = _checked(text)
        with self._begin_turn() as turn:
            place = self._place_of(message_id)
            old = self._path[place]
            edited = self._append(self._path[:place], old.speaker, line, made_by={"edited": old.id})
            yield MessageDone(message=edited)
            if edited.speaker == USER:
                async with aclosing(self._answer(turn)) as events:
                    async for event in events:
                        yield event

    def branch(self, message_id: str) -> str:
        """Go on from a message of this branch in a new branch; returns the new branch's name.

        Raises:
            MessageError: there is no such message, or an answer is on its way.
        """
        if self.answering:
            raise MessageError(_STILL_ANSWERING)
        kept = self._path[: self._place_of(message_id) + 1]
        conversation = kept[-1].conversation
        name = f"branch-{len(self._transcript.branches(conversation)) + 1}"
        self._transcript.move_branch(conversation, kept[-1].id, name)
        self._branch, self._path = name, kept
        return name

    def cancel(self) -> None:
        """Stop the answer that is on its way, if any; what was said of it is kept."""
        if self._turn is not None:
            self._turn.cancel()

    # Recording

    def _append(
        self, path: list[Message], speaker: str, text: str, made_by: dict[str, Any] | None = None
    ) -> Message:
        """Record a finished message at the end of `path`, and go on from there."""
        if self.conversation is None:
            self.conversation = self._transcript.create_conversation(self.persona.id)
        message = self._transcript.append(
            self.conversation,
            path[-1].id if path else None,
            speaker=speaker,
            audience=self._everybody,
            text=text,
            made_by=made_by,
            branch=self._branch,
        )
        self._path = [*path, message]
        return message

    def _place_of(self, message_id: str) -> int:
        for place, message in enumerate(self._path):
            if message.id == message_id:
                return place
        raise MessageError(f"There is no message {message_id!r} on this branch.")

    @property
    def _everybody(self) -> tuple[str, str]:
        return (USER, self.persona.id)

    # Answering

    @contextmanager
    def _begin_turn(self) -> Iterator["_Turn"]:
        if self.answering:
            raise MessageError(_STILL_ANSWERING)
        self._turn = _Turn()
        try:
            yield self._turn
        finally:
            self._turn = None

    async def _answer(self, turn: "_Turn") -> AsyncGenerator[Event, None]:
        """Let the persona answer the last message of the path, which is the person's."""
        try:
            turn.seed = self._next_seed()
            work = turn.begin_work(self._run_graph(turn))
            while parts := await turn.waiting_parts():
                for event in self._take(turn, parts):
                    yield event
            if not work.cancelled():
                work.result()  # raises what went wrong in the graph
            turn.conclusion = asyncio.ensure_future(asyncio.to_thread(self._conclude, turn))
            yield await asyncio.shield(turn.conclusion)
        except (asyncio.CancelledError, GeneratorExit):
            # Nobody listens any more: keep what was said.
            if turn.conclusion:
                await asyncio.wait({turn.conclusion})
            elif turn.message:
                self._conclude(turn)
            raise
        except Exception as error:
            explained = explain_failure(error, self.model)
            part_said = self._conclude_failed(turn)
            if explained is None:
                raise
            yield TurnFailed(error=explained, message=part_said)
        finally:
            turn.cancel()

    async def _run_graph(self, turn: "_Turn") -> None:
        """Put the graph's stream into the turn's queue."""
        said = RoleInput(
            messages=[_as_langchain(message) for message in self._path], lore=self._lore_so_far()
        )
        async for part in self._graph.astream(
            said,
            {"recursion_limit": _STEPS},
            context=RoleContext(seed=turn.seed),
            stream_mode=["messages", "updates"],
            version="v2",
        ):
            turn.parts.put_nowait(part)

    def _take(self, turn: "_Turn", parts: Sequence[Any]) -> list[Event]:
        """Turn parts of the graph's stream into events; words that wait together come together."""
        events: list[Event] = []
        words = ""
        for part in parts:
            if part["type"] == "messages":
                chunk, _ = part["data"]
                words += chunk.text if isinstance(chunk, AIMessage) else ""
            elif "recall" in part["data"]:
                recalled = part["data"]["recall"]
                turn.lore = _lore_record(recalled)
                events.append(Recalled(items=tuple(recalled["recalled"])))
            elif "compose" in part["data"]:
                turn.prompt_hash = _hash_prompt(part["data"]["compose"]["prompt"])
            elif "speak" in part["data"]:
                turn.answer = part["data"]["speak"]["messages"][-1]
        if words:
            events.append(self._take_words(turn, words))
        return events

    def _take_words(self, turn: "_Turn", words: str) -> TokenDelta:
        words = whole(words)
        if turn.message is None:
            turn.message = self._transcript.begin(
                self._path[-1].conversation,
                self._path[-1].id,
                speaker=self.persona.id,
                audience=self._everybody,
                made_by={
                    "model": self.model_name,
                    "strategy": self.strategy,
                    "prompt": turn.prompt_hash,
                },
                branch=self._branch,
            )
        self._transcript.add_piece(turn.message, words)
        turn.text += words
        return TokenDelta(message=turn.message, text=words)

    def _conclude(self, turn: "_Turn") -> Event:
        if turn.message is None:
            if turn.answer is None:
                error: RoleLLMError = MessageError("The answer was stopped before its first word.")
            else:
                error = ModelError(f"{self.model_name} had nothing to say; let it answer again.")
            return TurnFailed(error=error, message=None)
        metadata = turn.answer.response_metadata if turn.answer else {}
        told = {key: metadata[key] for key in _TOLD_AT_THE_END if metadata.get(key) is not None}
        done = self._transcript.end(
            turn.message,
            turn.text,
            "complete" if turn.answer else "stopped",
            dict(turn.answer.usage_metadata or {}) if turn.answer else None,
            ({} if turn.seed is None else {"seed": turn.seed}) | told | (turn.lore),
        )
        self._path = [*self._path, done]
        return MessageDone(message=done)

    def _conclude_failed(self, turn: "_Turn") -> Message | None:
        if turn.message is None:
            return None
        try:
            done = self._transcript.end(turn.message, turn.text, "failed")
        except RoleLLMError:
            # It was the transcript that failed; the pieces written so far stay in it.
            return None
        self._path = [*self._path, done]
        return done

    def _lore_so_far(self) -> dict[str, Any]:
        """Timed effects as the latest answer on this branch left them."""
        kept = (message.made_by.get("lore") for message in reversed(self._path))
        return next((lore for lore in kept if isinstance(lore, dict)), {})

    def _next_seed(self) -> int | None:
        if self._seed is None:
            return None
        swipes = self._transcript.children(self._path[-1].id)
        return self._seed + len(swipes)


_TOLD_AT_THE_END = ("seed", "finish_reason", "dropped_messages")


@dataclass
class _Turn:
    """An answer on its way."""

    seed: int | None = None
    parts: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    work: asyncio.Task[None] | None = None
    prompt_hash: str = ""
    lore: dict[str, Any] = field(default_factory=dict)
    """What goes into the transcript of the lorebook: `lore`, the timed effects after this answer, which
    rest with it so that a branch has its own; and `lore_fired`."""
    message: str | None = None
    text: str = ""
    answer: AIMessage | None = None
    cancelled: bool = False
    conclusion: asyncio.Future[Event] | None = None
    """Its last words being written into the transcript."""

    def begin_work(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run what fills `parts`; the end of it, however it comes, ends them."""
        self.work = asyncio.create_task(work)
        self.work.add_done_callback(lambda _: self.parts.put_nowait(None))
        if self.cancelled:
            self.work.cancel()
        return self.work

    def cancel(self) -> None:
        """End the work, if it has begun, or as soon as it begins."""
        self.cancelled = True
        if self.work is not None:
            self.work.cancel()

    async def waiting_parts(self) -> list[Any]:
        """Wait for a part, and take all that have come by then; an empty list is the end."""
        parts = [await self.parts.get()]
        while not self.parts.empty():
            parts.append(self.parts.get_nowait())
        if parts[-1] is None:
            parts.pop()
            if parts:
                self.parts.put_nowait(None)
        return parts


def _lore_record(recalled: dict[str, Any]) -> dict[str, Any]:
    """What to keep of the lore that an answer was given: which entries were active, and why."""
    if "lore" not in recalled:
        return {}
    fired = [
        {key: item[key] for key in ("book", "uid", "name", "why")}
        for item in recalled["recalled"]
        if item["kind"] == "lore"
    ]
    return {"lore": recalled["lore"], "lore_fired": fired}


def _checked(text: str) -> str:
    if not text.strip():
        raise MessageError("The message is empty; type something to say.")
    return text.strip()


def _as_langchain(message: Message) -> AnyMessage:
    kind = HumanMessage if message.speaker == USER else AIMessage
    return kind(message.text)


def _hash_prompt(prompt: list[dict[str, Any]]) -> str:
    """The first 16 hex digits of the SHA-256 of roles and contents."""
    turns = [[message["type"], message["data"]["content"]] for message in prompt]
    return hashlib.sha256(json.dumps(turns, ensure_ascii=False).encode()).hexdigest()[:16]
