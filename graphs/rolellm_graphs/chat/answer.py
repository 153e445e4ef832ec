"""One answer on its way: the graph runs, its words are recorded as they come, and events tell of it."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from rolellm_agents.errors import MessageError, ModelError, RoleLLMError
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.graph_stream import GraphStream
from rolellm_graphs.chat.recording import Recording
from rolellm_graphs.chat.voice import Voice
from rolellm_graphs.events import Event, MessageDone, Prompted, Recalled, TurnFailed
from rolellm_graphs.role.graph import RoleContext, RoleInput
from rolellm_graphs.role.prompt_parts import parts_of

_STEPS = 10
"""LangGraph's recursion limit for one turn, which takes three."""


class PendingAnswer:
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
        self._voice = voice
        self._path = list(path)
        self._seed = seed
        self._begun = begun
        self._recording = Recording(
            transcript,
            self._path[-1].conversation,
            self._path[-1].id,
            speaker=voice.persona.id,
            branch=branch,
        )
        self._stream = GraphStream(self._astream(note))
        self._conclusion: asyncio.Future[Event] | None = None  # its last words being recorded
        self._prompt_hash = ""
        self._looked_up: dict[str, Any] = {}
        self._whole: AIMessage | None = None

    @property
    def message(self) -> Message | None:
        """The answer when it has ended, however it ended; None while it has no word."""
        return self._recording.message

    def cancel(self) -> None:
        """Stop it; what was said of it is kept."""
        self._stream.cancel()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Let the voice answer. Whoever stops listening stops the answer."""
        try:
            async with aclosing(self._stream) as parts:
                async for part in parts:
                    if event := self._take(part):
                        yield event
            self._conclusion = asyncio.ensure_future(asyncio.to_thread(self._conclude))
            yield await asyncio.shield(self._conclusion)
        except (asyncio.CancelledError, GeneratorExit):
            # Nobody listens any more: keep what was said.
            if self._conclusion:
                await asyncio.wait({self._conclusion})
            elif self._recording.begun:
                self._conclude()
            raise
        except Exception as error:
            explained = explain_failure(error, self._voice.model)
            self._recording.fail()
            if explained is None:
                raise
            yield TurnFailed(error=explained, message=self.message)
        finally:
            self.cancel()

    def _astream(self, note: str) -> Any:
        said = RoleInput(
            messages=[as_langchain(message) for message in self._path], lore=lore_so_far(self._path)
        )
        return self._voice.graph.astream(
            said,
            {"recursion_limit": _STEPS},
            context=RoleContext(seed=self._seed, note=note, begun=self._begun),
            stream_mode=["messages", "updates"],
            version="v2",
        )

    def _take(self, part: Any) -> Event | None:
        """Turn a part of the graph's stream into an event, if it has one to tell."""
        if part["type"] == "messages":
            chunk, _ = part["data"]
            return self._take_words(chunk.text) if isinstance(chunk, AIMessage) and chunk.text else None
        if "recall" in part["data"]:
            recalled = part["data"]["recall"]
            self._looked_up = record_of(recalled)
            return Recalled(items=tuple(recalled["recalled"]))
        if "compose" in part["data"]:
            return self._prompted(part["data"]["compose"]["prompt"])
        if "speak" in part["data"]:
            self._whole = part["data"]["speak"]["messages"][-1]
        return None

    def _prompted(self, prompt: list[dict[str, Any]]) -> Prompted:
        self._prompt_hash = hash_prompt(prompt)
        return Prompted(
            parts=parts_of(prompt),
            model=self._voice.model_name,
            strategy=self._voice.strategy,
            sampling={**describe_sampling(self._voice.model), "seed": self._seed},
        )

    def _take_words(self, words: str) -> Event:
        made_by = {
            "model": self._voice.model_name,
            "strategy": self._voice.strategy,
            "prompt": self._prompt_hash,
        }
        begun = "" if self._recording.begun else self._begun
        audience = (USER, self._voice.persona.id)
        return self._recording.add(begun + words, audience=audience, made_by=made_by)

    def _conclude(self) -> Event:
        seed = {} if self._seed is None else {"seed": self._seed}
        message = self._recording.end(
            "complete" if self._whole else "stopped", self._whole, seed | self._looked_up
        )
        if message is not None:
            return MessageDone(message=message)
        if self._whole is None:
            error: RoleLLMError = MessageError("The answer was stopped before its first word.")
        else:
            error = ModelError(f"{self._voice.model_name} had nothing to say; let it answer again.")
        return TurnFailed(error=error, message=None)


def as_langchain(message: Message) -> AnyMessage:
    """A message of the transcript as the graph takes it."""
    kind = HumanMessage if message.speaker == USER else AIMessage
    return kind(message.text)


def lore_so_far(path: Sequence[Message]) -> dict[str, Any]:
    """Timed effects of the lorebook as the latest answer on a path left them."""
    kept = (message.made_by.get("lore") for message in reversed(path))
    return next((lore for lore in kept if isinstance(lore, dict)), {})


def record_of(found: dict[str, Any]) -> dict[str, Any]:
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


def hash_prompt(prompt: list[dict[str, Any]]) -> str:
    """The first 16 hex digits of the SHA-256 of roles and contents."""
    turns = [[message["type"], message["data"]["content"]] for message in prompt]
    return hashlib.sha256(json.dumps(turns, ensure_ascii=False).encode()).hexdigest()[:16]
