"""One running answer: streams the graph, records each word at once, and yields events."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from rolellm_agents.errors import MessageError, ModelError, RoleLLMError
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.graph_stream import GraphStream
from rolellm_graphs.chat.recording import Recording
from rolellm_graphs.chat.summary import ActiveSummary, covered_exchanges
from rolellm_graphs.chat.voice import Voice
from rolellm_graphs.events import Event, MessageDone, Prefilling, Prompted, Recalled, TurnFailed, Waiting
from rolellm_graphs.role.backoff import BACKOFF
from rolellm_graphs.role.context import RoleContext
from rolellm_graphs.role.graph import RoleInput
from rolellm_graphs.role.prefill import PREFILL
from rolellm_graphs.role.prompt_parts import parts_of
from rolellm_graphs.role.refused_prompt import SHORTENED

_STEPS = 10
"""LangGraph's recursion limit for one turn, which takes three steps."""


class PendingAnswer:
    """A voice's answer to the last message of a path, which is the user's line."""

    def __init__(
        self,
        voice: Voice,
        transcript: Transcript,
        path: Sequence[Message],
        *,
        branch: str,
        seed: int | None = None,
        note: str = "",
        prefix: str = "",
        summary: ActiveSummary | None = None,
    ) -> None:
        """Prepare the answer; iterating over `events` starts it.

        The path goes from the first message to the line that is answered. The branch points to the answer
        from its first word on. Without a seed, the model uses its own. The author's note is inserted a few
        messages before the end of the prompt; `prefix` is text of an earlier answer that this one
        continues. The summary stands in the prompt for the messages that it covers.
        """
        self._voice = voice
        self._path = list(path)
        self._seed = seed
        self._prefix = prefix
        self._summary = summary
        self._recording = Recording(
            transcript,
            self._path[-1].conversation,
            self._path[-1].id,
            speaker=voice.persona.id,
            branch=branch,
        )
        self._stream = GraphStream(self._astream(note))
        self._conclusion: asyncio.Future[Event] | None = None  # records the end of the answer
        self._prompt_hash = ""
        self._looked_up: dict[str, Any] = {}
        self._complete: AIMessage | None = None
        self._beginning = prefix

    @property
    def message(self) -> Message | None:
        """The answer after it was completed, stopped or failed; None before, or if it is empty."""
        return self._recording.message

    def cancel(self) -> None:
        """Stop the answer; the transcript keeps the part that was received."""
        self._stream.cancel()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Generate the answer. Closing the generator stops it."""
        try:
            async with aclosing(self._stream) as parts:
                async for part in parts:
                    if event := self._take(part):
                        yield event
            self._conclusion = asyncio.ensure_future(asyncio.to_thread(self._conclude))
            yield await asyncio.shield(self._conclusion)
        except (asyncio.CancelledError, GeneratorExit):
            # The consumer is gone: record the part that was received.
            if self._conclusion:
                await asyncio.wait({self._conclusion})
            elif self._recording.started:
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
        path = self._path
        context = RoleContext(seed=self._seed, note=note, answer_prefix=self._prefix)
        if self._summary:
            earlier = covered_exchanges(self._voice, path, self._summary)
            context = replace(context, summary=self._summary.text, earlier=earlier)
            path = path[self._summary.covers :]
        said = RoleInput(messages=[as_langchain(message) for message in path], lore=lore_so_far(self._path))
        return self._voice.graph.astream(
            said,
            {"recursion_limit": _STEPS},
            context=context,
            stream_mode=["messages", "updates", "custom"],
            version="v2",
        )

    def _take(self, part: Any) -> Event | None:
        """Convert a part of the graph's stream to an event; None if it has none."""
        if part["type"] == "messages":
            chunk, _ = part["data"]
            return self._take_words(chunk.text) if isinstance(chunk, AIMessage) and chunk.text else None
        if part["type"] == "custom":
            shortened = part["data"].get(SHORTENED) if isinstance(part["data"], dict) else None
            return self._prompted(shortened) if shortened else delay_in(part["data"])
        if "recall" in part["data"]:
            recalled = part["data"]["recall"]
            self._looked_up = record_of(recalled)
            return Recalled(items=tuple(recalled["recalled"]))
        if "compose" in part["data"]:
            return self._prompted(part["data"]["compose"]["prompt"])
        if "speak" in part["data"]:
            self._complete = part["data"]["speak"]["messages"][-1]
        return None

    def _prompted(self, prompt: list[dict[str, Any]]) -> Prompted:
        self._prompt_hash = hash_prompt(prompt)
        return Prompted(
            parts=parts_of(prompt),
            model=self._voice.model_name,
            strategy=self._voice.strategy,
            sampling={**describe_sampling(self._voice.model), "seed": self._seed},
        )

    def _take_words(self, words: str) -> Event | None:
        if not self._recording.started:
            words = self._beginning + words
            if not words.strip():
                # An answer of blanks alone is empty, so they wait for the first word.
                self._beginning = words
                return None
        made_by = {
            "model": self._voice.model_name,
            "strategy": self._voice.strategy,
            "prompt": self._prompt_hash,
        }
        audience = (USER, self._voice.persona.id)
        return self._recording.add(words, audience=audience, made_by=made_by)

    def _conclude(self) -> Event:
        seed = {} if self._seed is None else {"seed": self._seed}
        message = self._recording.end(
            "complete" if self._complete else "stopped", self._complete, seed | self._looked_up
        )
        if message is not None:
            return MessageDone(message=message)
        if self._complete is None:
            error: RoleLLMError = MessageError("The answer was stopped before its first word.")
        else:
            error = ModelError(f"{self._voice.model_name} returned an empty answer; let it answer again.")
        return TurnFailed(error=error, message=None)


def delay_in(written: Any) -> Waiting | Prefilling | None:
    """What a part of a graph's custom stream says the answer waits for; None if it is something else."""
    if not isinstance(written, dict):
        return None
    if wait := written.get(BACKOFF):
        return Waiting(**wait)
    read = written.get(PREFILL)
    return Prefilling(**read) if read else None


def as_langchain(message: Message) -> AnyMessage:
    """Convert a message of the transcript to a LangChain message."""
    kind = HumanMessage if message.speaker == USER else AIMessage
    return kind(message.text)


def lore_so_far(path: Sequence[Message]) -> dict[str, Any]:
    """The timed effects of the lorebook after the latest answer of a path."""
    kept = (message.made_by.get("lore") for message in reversed(path))
    return next((lore for lore in kept if isinstance(lore, dict)), {})


def record_of(found: dict[str, Any]) -> dict[str, Any]:
    """The provenance of recalled items: source and reason, without their text."""
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
    """The first 16 hex digits of the SHA-256 of a prompt's roles and contents."""
    turns = [[message["type"], message["data"]["content"]] for message in prompt]
    return hashlib.sha256(json.dumps(turns, ensure_ascii=False).encode()).hexdigest()[:16]
