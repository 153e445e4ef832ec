"""One call of `ChatLlamaCpp` and its answer, apart from the model's reasoning.

Reasoning has a limit of its own. After it, its closing mark is put into the prompt, and the model goes on
with the answer ("budget forcing", Muennighoff et al., arXiv 2501.19393). The engine still has the
tokens, so only the mark is computed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGenerationChunk

from rolellm_agents.models.llamacpp.engine.jobs import AnswerJob, Finished, StreamItem
from rolellm_agents.models.llamacpp.engine.sampling import Sampling
from rolellm_agents.models.llamacpp.loaded import LoadedModel
from rolellm_agents.models.llamacpp.tools import ToolCallSplitter
from rolellm_agents.models.prefill import PrefillProgress
from rolellm_agents.models.reasoning import (
    ReasoningMarks,
    ReasoningSplitter,
    SplitPart,
    Thinking,
    chunks_of,
)

BUDGETS: Final[Mapping[Thinking, int]] = MappingProxyType(
    {"off": 0, "low": 256, "medium": 1024, "high": 4096}
)
"""The most tokens of reasoning."""


_MARKS: Final = 32
"""Tokens for the marks between reasoning and answer."""


@dataclass(frozen=True)
class EngineRequest:
    """One call, ready for the engine."""

    loaded: LoadedModel
    prompt: list[int]
    sampling: Sampling
    adapter: str | None
    cacheable: int
    neutral: list[int]
    dropped: int
    continues: bool
    """Whether the answer continues the model's last message."""
    thinking: Thinking
    has_tools: bool
    """Whether the answer may call tools."""
    on_prefill: Callable[[PrefillProgress], object] | None
    """Called in the engine's thread while a long prompt is computed."""

    @property
    def reasoning(self) -> ReasoningMarks | None:
        """The marks of the model's reasoning; None if it does not reason or a grammar forbids it."""
        return None if self.sampling.grammar else self.loaded.model.template.reasoning


class ReasonedAnswer:
    """An answer as chunks. Reasoning is a call of the engine by itself, and the answer a second one."""

    def __init__(self, request: EngineRequest, model_name: str) -> None:
        """Prepare the answer of a request."""
        self._request = request
        self._model_name = model_name
        opened = request.reasoning if request.thinking != "off" else None
        self._splitter = ReasoningSplitter(opened)
        self._raw = ""
        self._reasoning = ""
        self.prompt = request.prompt
        """The tokens of the next call of the engine."""
        self._neutral = request.neutral
        self._first: Finished | None = None
        """The end of the reasoning's call."""
        self._calls = ToolCallSplitter()
        self.is_waiting = True
        """Whether a call of the engine is needed."""

    def submit(self, on_item: Callable[[StreamItem], None]) -> AnswerJob:
        """Submit the next call to the engine."""
        request, sampling = self._request, self._request.sampling
        if (opened := self._splitter.inside) is not None:
            sampling = replace(sampling, max_tokens=self._longest_reasoning(), stop=(opened.closes,))
        self.is_waiting = False
        plain = request.continues or bool(sampling.grammar)
        return request.loaded.engine.submit(
            self.prompt,
            sampling,
            on_item if plain else _without_leading_spaces(on_item),
            on_prefill=request.on_prefill,
            adapter=request.adapter,
            cacheable=request.cacheable,
            neutral=self._neutral,
        )

    def _longest_reasoning(self) -> int:
        """The most tokens of reasoning after which an answer still fits into the context."""
        n_ctx = self._request.loaded.n_ctx
        answer = min(self._request.sampling.max_tokens, n_ctx // 8) + _MARKS
        return max(1, min(BUDGETS[self._request.thinking], n_ctx - len(self.prompt) - answer))

    def take(self, item: str | Finished) -> Iterator[ChatGenerationChunk]:
        """The chunks of an item of the engine's stream."""
        if self._request.has_tools:
            for chunk in self._calls.push(item) if isinstance(item, str) else self._calls.end():
                if chunk.message.content:
                    yield from self._chunks(self._splitter.push(str(chunk.message.content)))
                else:
                    yield chunk
        elif isinstance(item, str) and self._request.sampling.grammar:
            yield ChatGenerationChunk(message=AIMessageChunk(content=item))
        if isinstance(item, str) and self._request.sampling.grammar:
            return
        if isinstance(item, str):
            self._raw += item
            yield from self._chunks(self._splitter.push(item))
            return
        inside = self._splitter.inside
        yield from self._chunks(self._splitter.end())
        is_cut = inside is not None and self._first is None and item.reason != "cancelled"
        if is_cut and inside is not None and not self._request.sampling.grammar:
            self._answer_now(inside, item)
        else:
            yield ChatGenerationChunk(message=self._last_message(item))

    def _chunks(self, parts: list[SplitPart]) -> Iterator[ChatGenerationChunk]:
        self._reasoning += "".join(part.text for part in parts if part.is_reasoning)
        return chunks_of(parts)

    def _answer_now(self, marks: ReasoningMarks, finished: Finished) -> None:
        """Prepare a second call that begins after the reasoning."""
        self._first = finished
        self._splitter.close()
        text = f"{self._raw.rstrip()}\n{marks.closes}\n\n"
        if marks.answers:
            text = f"{self._raw}{marks.closes}<|start|>assistant{marks.answers}"
        added = self._tokens(text)
        self.prompt = [*self.prompt, *added]
        self._neutral = [*self._neutral, *added] if self._neutral else []
        self.is_waiting = True

    def _tokens(self, text: str) -> list[int]:
        return self._request.loaded.model.tokenize(text, add_special=False)

    def _last_message(self, finished: Finished) -> AIMessageChunk:
        first = self._first or finished
        written = finished.completion_tokens + (self._first.completion_tokens if self._first else 0)
        usage = UsageMetadata(
            input_tokens=first.prompt_tokens,
            output_tokens=written,
            total_tokens=first.prompt_tokens + written,
            input_token_details=InputTokenDetails(cache_read=first.reused_tokens),
        )
        if self._reasoning:
            counted = self._first.completion_tokens if self._first else len(self._tokens(self._reasoning))
            usage["output_token_details"] = OutputTokenDetails(reasoning=counted)
        metadata: dict[str, Any] = {
            "model_name": self._model_name,
            "finish_reason": "tool_calls" if self._calls.calls else finished.reason,
            "seed": self._request.sampling.seed,
            "dropped_messages": self._request.dropped,
            "first_token_s": first.first_token_s,
            "threads": self._request.loaded.threads.use._asdict(),
        }
        return AIMessageChunk(
            content="", usage_metadata=usage, response_metadata=metadata, chunk_position="last"
        )


def _without_leading_spaces(on_item: Callable[[StreamItem], None]) -> Callable[[StreamItem], None]:
    """Templates of some SentencePiece models end at a colon, so their answers begin with a space."""
    has_text = False

    def on_trimmed_item(item: StreamItem) -> None:
        nonlocal has_text
        if isinstance(item, str):
            item = item if has_text else item.lstrip(" ")
            has_text = has_text or bool(item)
        if item != "":
            on_item(item)

    return on_trimmed_item
