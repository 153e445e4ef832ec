"""OpenTelemetry spans of LangChain runs, by the GenAI semantic conventions (status: development).

The conventions are those of open-telemetry/semantic-conventions-genai. Attributes that are `Opt-In` there,
which contain messages and recalled items, are recorded only on request.
"""

import json
import os
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.errors import GraphBubbleUp
from opentelemetry import trace
from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.util.types import AttributeValue

from rolellm_agents.text import one_line, replace_surrogates
from rolellm_graphs.tracing.tags import RECALLED

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable that enables the recording of messages in OpenTelemetry's instrumentations."""
_IN_SPANS = frozenset({"true", "1", "span_only", "span_and_event"})
_ROLES = {"human": "user", "ai": "assistant"}
_REQUEST = {
    "seed": "gen_ai.request.seed",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}
"""LangChain's names of call options, with the conventions' attributes."""


class OpenTelemetryHandler(BaseCallbackHandler):
    """Creates a span for each kind of run in the conventions; other runs only pass on their parent span."""

    run_inline = True
    """Callbacks run in the thread of the run, in order, so that spans have its timing."""

    def __init__(
        self, *, content: bool | None = None, tracer_provider: TracerProvider | None = None
    ) -> None:
        """Create a handler, which records the calls that have it in their callbacks.

        Args:
            content: whether spans contain messages and recalled items; None reads the environment variable.
            tracer_provider: OpenTelemetry's tracer provider; defaults to the global one.
        """
        asked = os.environ.get(CAPTURE, "").strip().lower() in _IN_SPANS
        self._content = asked if content is None else content
        self._tracer = trace.get_tracer("rolellm_graphs", tracer_provider=tracer_provider)
        self._spans: dict[UUID, Span] = {}
        """The spans of running runs."""
        self._within: dict[UUID, tuple[Context, str | None]] = {}
        """For each running run the context of its children's spans, and the id of its persona."""

    # Start of runs

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start a graph or a node; the outermost run of a persona becomes an `invoke_agent` span."""
        metadata = metadata or {}
        context, persona = self._parent(parent_run_id)
        if "strategy" not in metadata or metadata.get("persona") in (None, persona):
            self._within[run_id] = (context, persona)
            return
        attributes = {
            **_operation("invoke_agent", metadata),
            **_agent(metadata),
            "gen_ai.request.model": metadata.get("model"),
        }
        name = f"invoke_agent {attributes['gen_ai.agent.name']}"
        self._begin(run_id, parent_run_id, name, SpanKind.INTERNAL, attributes, metadata)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start a span for a model call."""
        metadata = metadata or {}
        given = kwargs.get("invocation_params") or {}
        model = metadata.get("ls_model_name")
        attributes = {
            **_operation("chat", metadata),
            **_agent(metadata),
            "gen_ai.request.model": model,
            "gen_ai.request.temperature": metadata.get("ls_temperature"),
            "gen_ai.request.max_tokens": metadata.get("ls_max_tokens"),
            "gen_ai.request.stop_sequences": metadata.get("ls_stop"),
            **{name: given.get(key) for key, name in _REQUEST.items()},
        }
        if self._content:
            asked = [_message(message) for conversation in messages for message in conversation]
            attributes["gen_ai.input.messages"] = _json(asked)
        name = f"chat {model}" if model else "chat"
        self._begin(run_id, parent_run_id, name, SpanKind.CLIENT, attributes, metadata)

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start a span for a retrieval."""
        metadata = metadata or {}
        source = metadata.get("persona")
        attributes = {
            "gen_ai.operation.name": "retrieval",
            **_agent(metadata),
            "gen_ai.data_source.id": source,
            "gen_ai.retrieval.query.text": replace_surrogates(query) if self._content else None,
        }
        name = f"retrieval {source}" if source else "retrieval"
        self._begin(run_id, parent_run_id, name, SpanKind.CLIENT, attributes, metadata)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Start a span for a tool call."""
        name = kwargs.get("name") or (serialized or {}).get("name")
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": kwargs.get("tool_call_id"),
            "gen_ai.tool.call.arguments": replace_surrogates(input_str) if self._content else None,
        }
        title = f"execute_tool {name}" if name else "execute_tool"
        self._begin(run_id, parent_run_id, title, SpanKind.INTERNAL, attributes, metadata or {})

    # End of runs

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End a graph or a node."""
        self._end(run_id, {})

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """End the span of a model call."""
        answers = [
            generation.message
            for generations in response.generations
            for generation in generations
            if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage)
        ]
        attributes = _answered(answers)
        if self._content:
            attributes["gen_ai.output.messages"] = _json([_message(answer) for answer in answers])
            recalled = [item for one in answers for item in one.response_metadata.get(RECALLED, [])]
            if recalled:
                attributes["gen_ai.retrieval.documents"] = _json(recalled)
        self._end(run_id, attributes)

    def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any) -> None:
        """End the span of a retrieval."""
        found = [{"id": one.id, "text": one.page_content, **one.metadata} for one in documents]
        self._end(run_id, {"gen_ai.retrieval.documents": _json(found)} if self._content else {})

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End the span of a tool call."""
        result = output.text if isinstance(output, BaseMessage) else str(output)
        self._end(run_id, {"gen_ai.tool.call.result": replace_surrogates(result)} if self._content else {})

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End a run that failed, was interrupted for a person, or was cancelled."""
        self._end(run_id, {}, error)

    on_llm_error = on_retriever_error = on_tool_error = on_chain_error

    def _parent(self, run_id: UUID | None) -> tuple[Context, str | None]:
        """The parent run's context, or the caller's if there is none, and the id of its persona."""
        known = self._within.get(run_id) if run_id else None
        return known or (get_current(), None)

    def _begin(
        self,
        run_id: UUID,
        parent_run_id: UUID | None,
        name: str,
        kind: SpanKind,
        attributes: dict[str, Any],
        metadata: dict[str, Any],
    ) -> None:
        context, _ = self._parent(parent_run_id)
        span = self._tracer.start_span(name, context, kind, _without_none(attributes))
        self._spans[run_id] = span
        self._within[run_id] = (trace.set_span_in_context(span, context), metadata.get("persona"))

    def _end(self, run_id: UUID, attributes: dict[str, Any], error: BaseException | None = None) -> None:
        self._within.pop(run_id, None)
        span = self._spans.pop(run_id, None)
        if span is None:
            return
        span.set_attributes(_without_none(attributes))
        if error is not None and not isinstance(error, GraphBubbleUp):
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(Status(StatusCode.ERROR, one_line(str(error), 300)))
        span.end()


def _operation(name: str, metadata: dict[str, Any]) -> dict[str, Any]:
    provider = metadata.get("ls_provider") or str(metadata.get("model", "")).partition(":")[0]
    return {"gen_ai.operation.name": name, "gen_ai.provider.name": provider or None}


def _agent(metadata: dict[str, Any]) -> dict[str, Any]:
    """Attributes of the persona and its strategy; the conventions have none for the latter."""
    return {
        "gen_ai.agent.id": metadata.get("persona"),
        "gen_ai.agent.name": metadata.get("persona_name") or metadata.get("persona"),
        "rolellm.strategy": metadata.get("strategy"),
    }


def _answered(answers: Sequence[AIMessage]) -> dict[str, Any]:
    """Attributes of the answers, without their text."""
    metadata = [answer.response_metadata for answer in answers]
    usage = [answer.usage_metadata for answer in answers if answer.usage_metadata]
    reasons = [one.get("finish_reason") or one.get("stop_reason") for one in metadata]
    first: dict[str, Any] = metadata[0] if metadata else {}
    reused = [(one.get("input_token_details") or {}).get("cache_read") for one in usage]
    return {
        "gen_ai.response.model": first.get("model_name") or first.get("model"),
        "gen_ai.response.id": first.get("id"),
        "gen_ai.response.finish_reasons": [reason for reason in reasons if reason] or None,
        "gen_ai.usage.input_tokens": sum(one["input_tokens"] for one in usage) if usage else None,
        "gen_ai.usage.output_tokens": sum(one["output_tokens"] for one in usage) if usage else None,
        "gen_ai.usage.cache_read.input_tokens": sum(one or 0 for one in reused) if any(reused) else None,
    }


def _without_none(values: dict[str, Any]) -> dict[str, AttributeValue]:
    return {name: value for name, value in values.items() if value is not None}


def _message(message: BaseMessage) -> dict[str, Any]:
    """A message in the format of the conventions."""
    parts: list[dict[str, Any]] = [{"type": "text", "content": message.text}] if message.text else []
    if isinstance(message, ToolMessage):
        parts = [{"type": "tool_call_response", "id": message.tool_call_id, "response": message.text}]
    if isinstance(message, AIMessage):
        parts += [
            {"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": call["args"]}
            for call in message.tool_calls
        ]
    converted = {"role": _ROLES.get(message.type, message.type), "parts": parts}
    if isinstance(message, AIMessage) and (reason := message.response_metadata.get("finish_reason")):
        converted["finish_reason"] = reason
    return {**converted, **({"name": message.name} if message.name else {})}


def _json(value: Any) -> str:
    """JSON text, because not every OpenTelemetry version supports nested values."""
    return replace_surrogates(json.dumps(value, ensure_ascii=False, default=str))
