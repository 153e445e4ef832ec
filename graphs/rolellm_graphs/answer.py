"""One answer on its way: the graph runs, its words are recorded as they come, and events tell of it."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncGenerator, Coroutine, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from rolellm_agents.errors import MessageError, ModelError, RoleLLMError
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.text import whole
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.events import Event, MessageDone, Prompted, Recalled, TokenDelta, TurnFailed
from rolellm_graphs.prompt_parts import parts_of
from rolellm_graphs.role import RoleContext, RoleInput
from rolellm_graphs.voice import Voice

_STEPS = 10
"""LangGraph's recursion limit for one turn, which takes three."""


class Answer:
    """A voice's answer to the last message of a path, which is the person's."""

    def __init__(
        self,
        voice: Voice,
        transcript: Transcript,
        path: Sequence[Message],
        *,
        branch: str,
        seed: int | None = None,
        note: str = "",
        begun: str = "",
    ) -> None:
        """Prepare it; `events` sets it going.

        Args:
            voice: who answers.
            transcript: where it is recorded.
            path: what was said, from the first message to the one that is answered.
            branch: that points to it from its first word on.
            seed: makes it repeatable; None leaves it to the model.
            note: the author's, which stands in the prompt a few messages before its end.
            begun: words it begins with and goes on from.
        """
        self.message: Message | None = None
        """The answer when it has ended, however it ended; None while it has no word."""
        self._voice = voice
        self._transcript = transcript
        self._path = list(path)
        self._branch = branch
        self._seed = seed
        self._note = note
        self._begun = begun
        self._parts: asyncio.Queue[Any] = asyncio.Queue()
        self._work: asyncio.Task[None] | None = None
        self._conclusion: asyncio.Future[Event] | None = None  # its last words being recorded
        self._cancelled = False
        self._started = 0.0
        self._first_word_s: float | None = None
        self._prompt_hash = ""
        self._looked_up: dict[str, Any] = {}
        self._id: str | None = None
        self._text = ""
        self._whole: AIMessage | None = None

    def cancel(self) -> None:
        """Stop it; what was said of it is kept."""
        self._cancelled = True
        if self._work is not None:
            self._work.cancel()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Let the voice answer. Whoever stops listening stops the answer."""
        self._started = time.perf_counter()
        try:
            work = self._begin(self._run_graph())
            while parts := await self._waiting_parts():
                for event in self._take(parts):
                    yield event
            if not work.cancelled():
                work.result()  # raises what went wrong in the graph
            self._conclusion = asyncio.ensure_future(asyncio.to_thread(self._conclude))
            yield await asyncio.shield(self._conclusion)
        except (asyncio.CancelledError, GeneratorExit):
            # Nobody listens any more: keep what was said.
            if self._conclusion:
                await asyncio.wait({self._conclusion})
            elif self._id:
                self._conclude()
            raise
        except Exception as error:
            explained = explain_failure(error, self._voice.model)
            self._conclude_failed()
            if explained is None:
                raise
            yield TurnFailed(error=explained, message=self.message)
        finally:
            self.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run what fills the queue; the end of it, however it comes, ends the queue."""
        self._work = asyncio.create_task(work)
        self._work.add_done_callback(lambda _: self._parts.put_nowait(None))
        if self._cancelled:
            self._work.cancel()
        return self._work

    async def _run_graph(self) -> None:
        """Put the graph's stream into the queue."""
        said = RoleInput(
            messages=[as_langchain(message) for message in self._path], lore=lore_so_far(self._path)
        )
        async for part in self._voice.graph.astream(
            said,
            {"recursion_limit": _STEPS},
            context=RoleContext(seed=self._seed, note=self._note, begun=self._begun),
            stream_mode=["messages", "updates"],
            version="v2",
        ):
            self._parts.put_nowait(part)

    async def _waiting_parts(self) -> list[Any]:
        """Wait for a part, and take all that have come by then; an empty list is the end."""
        parts = [await self._parts.get()]
        while not self._parts.empty():
            parts.append(self._parts.get_nowait())
        if parts[-1] is None:
            parts.pop()
            if parts:
                self._parts.put_nowait(None)
        return parts

    def _take(self, parts: Sequence[Any]) -> list[Event]:
        """Turn parts of the graph's stream into events; words that wait together come together."""
        events: list[Event] = []
        words = ""
        for part in parts:
            if part["type"] == "messages":
                chunk, _ = part["data"]
                words += chunk.text if isinstance(chunk, AIMessage) else ""
            elif "recall" in part["data"]:
                recalled = part["data"]["recall"]
                self._looked_up = _record(recalled)
                events.append(Recalled(items=tuple(recalled["recalled"])))
            elif "compose" in part["data"]:
                events.append(self._prompted(part["data"]["compose"]["prompt"]))
            elif "speak" in part["data"]:
                self._whole = part["data"]["speak"]["messages"][-1]
        if words:
            events += self._take_words(words)
        return events

    def _prompted(self, prompt: list[dict[str, Any]]) -> Prompted:
        self._prompt_hash = _hash_prompt(prompt)
        return Prompted(
            parts=parts_of(prompt),
            model=self._voice.model_name,
            strategy=self._voice.strategy,
            sampling={**describe_sampling(self._voice.model), "seed": self._seed},
        )

    def _take_words(self, words: str) -> list[Event]:
        words = whole(words)
        events: list[Event] = []
        if self._id is None:
            self._first_word_s = time.perf_counter() - self._started
            self._id = self._transcript.begin(
                self._path[-1].conversation,
                self._path[-1].id,
                speaker=self._voice.persona.id,
                audience=(USER, self._voice.persona.id),
                made_by={
                    "model": self._voice.model_name,
                    "strategy": self._voice.strategy,
                    "prompt": self._prompt_hash,
                },
                branch=self._branch,
            )
            words = self._begun + words
        self._transcript.add_piece(self._id, words)
        self._text += words
        events.append(TokenDelta(message=self._id, text=words))
        return events

    def _conclude(self) -> Event:
        if self._id is None:
            if self._whole is None:
                error: RoleLLMError = MessageError("The answer was stopped before its first word.")
            else:
                error = ModelError(f"{self._voice.model_name} had nothing to say; let it answer again.")
            return TurnFailed(error=error, message=None)
        self.message = self._transcript.end(
            self._id,
            self._text,
            "complete" if self._whole else "stopped",
            dict(self._whole.usage_metadata or {}) if self._whole else None,
            self._made_by(),
        )
        return MessageDone(message=self.message)

    def _made_by(self) -> dict[str, Any]:
        """What is known of its making at the end."""
        metadata = self._whole.response_metadata if self._whole else {}
        told = {key: metadata[key] for key in _TOLD_AT_THE_END if metadata.get(key) is not None}
        seed = {} if self._seed is None else {"seed": self._seed}
        times = {
            "first_token_s": round(self._first_word_s or 0.0, 3),
            "seconds": round(time.perf_counter() - self._started, 3),
        }
        return seed | told | times | self._looked_up

    def _conclude_failed(self) -> None:
        if self._id is None:
            return
        try:
            self.message = self._transcript.end(self._id, self._text, "failed")
        except RoleLLMError:
            # It was the transcript that failed; the pieces written so far stay in it.
            return


def as_langchain(message: Message) -> AnyMessage:
    """A message of the transcript as the graph takes it."""
    kind = HumanMessage if message.speaker == USER else AIMessage
    return kind(message.text)


def lore_so_far(path: Sequence[Message]) -> dict[str, Any]:
    """Timed effects of the lorebook as the latest answer on a path left them."""
    kept = (message.made_by.get("lore") for message in reversed(path))
    return next((lore for lore in kept if isinstance(lore, dict)), {})


_TOLD_AT_THE_END = ("seed", "finish_reason", "dropped_messages")


def _record(found: dict[str, Any]) -> dict[str, Any]:
    """What to keep of what an answer was given: where it comes from and why, the words are elsewhere."""
    items = found["recalled"]
    record: dict[str, Any] = {}
    if passages := [item for item in items if item["kind"] != "lore"]:
        record["recalled"] = [
            {key: value for key, value in item.items() if key != "text"} for item in passages
        ]
    if "lore" in found:
        fired = [item for item in items if item["kind"] == "lore"]
        record["lore"] = found["lore"]
        record["lore_fired"] = [
            {key: item[key] for key in ("book", "uid", "name", "why")} for item in fired
        ]
    return record


def _hash_prompt(prompt: list[dict[str, Any]]) -> str:
    """The first 16 hex digits of the SHA-256 of roles and contents."""
    turns = [[message["type"], message["data"]["content"]] for message in prompt]
    return hashlib.sha256(json.dumps(turns, ensure_ascii=False).encode()).hexdigest()[:16]
