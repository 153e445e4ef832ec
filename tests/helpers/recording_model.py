"""A scripted model that also notes with which options it was called."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field

from rolellm_agents.models.scripted import ScriptedChatModel


class RecordingModel(ScriptedChatModel):
    """`options` holds those of each call, oldest first."""

    options: list[dict[str, Any]] = Field(default_factory=list)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        self.options.append(kwargs)
        return super()._stream(messages, stop, run_manager, **kwargs)

    def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.options.append(kwargs)
        return super()._astream(messages, stop, run_manager, **kwargs)
