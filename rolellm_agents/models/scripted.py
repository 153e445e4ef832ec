"""A chat model that says what it was told to say: for tests, demonstrations and dry runs."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.language_models import LangSmithParams
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk
from pydantic import ConfigDict, Field, PrivateAttr

from rolellm_agents.errors import ModelError
from rolellm_agents.models.threaded import ThreadedChatModel


class ScriptedChatModel(ThreadedChatModel):
    """Answers with its `replies` in turn, streamed by words; an exception among them is raised.

    After the last reply it begins again, unless `once` is set; then it raises, so that a test that
    asks too often fails. Without replies it repeats the last message.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    replies: list[str | Exception] = Field(default_factory=list)
    once: bool = False
    seconds_per_word: float = 0.0
    """How long each word takes."""
    calls: list[list[BaseMessage]] = Field(default_factory=list)
    """Every prompt it was given, oldest first."""
    kept: int | None = Field(default=None, ge=1)
    """How many of the last prompts stay in `calls`; all when None."""

    _next: int = PrivateAttr(default=0)

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        self.calls.append(list(messages))
        if self.kept is not None:
            del self.calls[: -self.kept]
        reply = self._reply_to(messages)
        for mark in stop or ():
            reply = reply.partition(mark)[0]
        words = re.findall(r"\s*\S+|\s+$", reply)
        for word in words:
            time.sleep(self.seconds_per_word)
            if should_stop():
                return
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))
        read = sum(len(message.text.split()) for message in messages)
        usage = UsageMetadata(input_tokens=read, output_tokens=len(words), total_tokens=read + len(words))
        metadata = {"model_name": "scripted", "finish_reason": "stop"}
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content="", usage_metadata=usage, response_metadata=metadata, chunk_position="last"
            )
        )

    def _reply_to(self, messages: list[BaseMessage]) -> str:
        if not self.replies:
            return messages[-1].text
        if self.once and self._next >= len(self.replies):
            raise ModelError(f"The scripted model has no reply left after {len(self.replies)}.")
        reply = self.replies[self._next % len(self.replies)]
        self._next += 1
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = params["ls_model_name"] = "scripted"
        return params

    @property
    def _llm_type(self) -> str:
        return "scripted"
