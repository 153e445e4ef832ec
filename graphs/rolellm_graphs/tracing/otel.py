"""OpenTelemetry spans of LangChain runs, by the GenAI semantic conventions (status: development).

The conventions are those of open-telemetry/semantic-conventions-genai. Of what is `Opt-In` there, which is
all that was said, nothing is recorded unless it is asked for.
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

from rolellm_agents.text import one_line, whole
from rolellm_graphs.tracing.tags import RECALLED

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable by which OpenTelemetry's instrumentations are told to record what was said."""
_IN_SPANS = frozenset({"true", "1", "span_only", "span_and_event"})
_ROLES = {"human": "user", "ai": "assistant"}
_REQUEST = {
    "seed": "gen_ai.request.seed",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}
"""What a call was given, and what the conventions call it."""


class OpenTelemetryHandler(BaseCallbackHandler):
    """Makes a span of each run that the conventions know; other runs only pass on whose child they are."""

    run_inline = True
    """Spans begin and end where the runs do, in their order."""

    def __init__(
        self, *, content: bool | None = None, tracer_provider: TracerProvider | None = None
    ) -> None:
        """Prepare it; nothing is recorded before it is among some call's callbacks.

        Args:
            content: whether spans hold what was said and recalled; None asks the environment.
            tracer_provider: the global one when None.
        """
        asked = os.environ.get(CAPTURE, "").strip().lower() in _IN_SPANS
        self._content = asked if content is None else content
        self._tracer = trace.get_tracer("rolellm_graphs", tracer_provider=tracer_provider)
        self._spans: dict[UUID, Span] = {}
        """Of the runs that go on."""
        self._within: dict[UUID, tuple[Context, str | None]] = {}
        """Of the runs that go on: the context of their children's spans, and whose runs they are."""

    # Runs that begin

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
        """A graph or a step of one; the outermost run in a persona's name is the persona's turn."""
        told = metadata or {}
        context, persona = self._parent(parent_run_id)
        if "strategy" not in told or told.get("persona") in (None, persona):
            self._within[run_id] = (context, persona)
            return
        attributes = {**_operation("invoke_agent", told), **_agent(told)}
        attributes |= _known({"gen_ai.request.model": told.get("model")})
        name = f"invoke_agent {attributes['gen_ai.agent.name']}"
        self._begin(run_id, context, name, SpanKind.INTERNAL, attributes, told)

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
        """A model is asked."""
        told = metadata or {}
        given = kwargs.get("invocation_params") or {}
        model = told.get("ls_model_name")
        attributes = {**_operation("chat", told), **_agent(told)}
        attributes |= _known(
            {
                "gen_ai.request.model": model,
                "gen_ai.request.temperature": told.get("ls_temperature"),
                "gen_ai.request.max_tokens": told.get("ls_max_tokens"),
                "gen_ai.request.stop_sequences": told.get("ls_stop"),
                **{name: given.get(key) for key, name in _REQUEST.items()},
            }
        )
        if self._content:
            asked = [_message(message) for conversation in messages for message in conversation]
            attributes["gen_ai.input.messages"] = _json(asked)
        context, _ = self._parent(parent_run_id)
        self._begin(
            run_id, context, f"chat {model}" if model else "chat", SpanKind.CLIENT, attributes, told
        )

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
        """Something is looked up."""
        told = metadata or {}
        source = told.get("persona")
        attributes = {"gen_ai.operation.name": "retrieval", **_agent(told)}
        attributes |= _known({"gen_ai.data_source.id": source})
        if self._content:
            attributes["gen_ai.retrieval.query.text"] = whole(query)
        context, _ = self._parent(parent_run_id)
        name = f"retrieval {source}" if source else "retrieval"
        self._begin(run_id, context, name, SpanKind.CLIENT, attributes, told)

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
        """A tool is called."""
        name = kwargs.get("name") or (serialized or {}).get("name")
        attributes: dict[str, AttributeValue] = {"gen_ai.operation.name": "execute_tool"}
        attributes |= _known({"gen_ai.tool.name": name, "gen_ai.tool.call.id": kwargs.get("tool_call_id")})
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = whole(input_str)
        context, _ = self._parent(parent_run_id)
        title = f"execute_tool {name}" if name else "execute_tool"
        self._begin(run_id, context, title, SpanKind.INTERNAL, attributes, metadata or {})

    # Runs that end

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A graph or a step has ended."""
        self._end(run_id, {})

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """The model has answered."""
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
        """It was looked up."""
        found = [{"id": one.id, "text": one.page_content, **one.metadata} for one in documents]
        self._end(run_id, {"gen_ai.retrieval.documents": _json(found)} if self._content else {})

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """The tool has done its work."""
        told = output.text if isinstance(output, BaseMessage) else str(output)
        self._end(run_id, {"gen_ai.tool.call.result": whole(told)} if self._content else {})

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A run has failed, waits for a person, or nobody reads its answer any more."""
        self._end(run_id, {}, error)

    on_llm_error = on_retriever_error = on_tool_error = on_chain_error

    def _parent(self, run_id: UUID | None) -> tuple[Context, str | None]:
        """The context of the run that a new one is part of, or else the caller's; and whose run that is."""
        known = self._within.get(run_id) if run_id else None
        return known or (get_current(), None)

    def _begin(
        self,
        run_id: UUID,
        context: Context,
        name: str,
        kind: SpanKind,
        attributes: dict[str, AttributeValue],
        told: dict[str, Any],
    ) -> None:
        span = self._tracer.start_span(name, context, kind, attributes)
        self._spans[run_id] = span
        self._within[run_id] = (trace.set_span_in_context(span, context), told.get("persona"))

    def _end(
        self, run_id: UUID, attributes: dict[str, AttributeValue], error: BaseException | None = None
    ) -> None:
        self._within.pop(run_id, None)
        span = self._spans.pop(run_id, None)
        if span is None:
            return
        span.set_attributes(attributes)
        if error is not None and not isinstance(error, GraphBubbleUp):
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(Status(StatusCode.ERROR, one_line(str(error), 300)))
        span.end()


def _operation(name: str, told: dict[str, Any]) -> dict[str, AttributeValue]:
    provider = told.get("ls_provider") or str(told.get("model", "")).partition(":")[0]
    return {"gen_ai.operation.name": name, **_known({"gen_ai.provider.name": provider or None})}


def _agent(told: dict[str, Any]) -> dict[str, AttributeValue]:
    """Who answers, and what the conventions have no name for: by which strategy."""
    return _known(
        {
            "gen_ai.agent.id": told.get("persona"),
            "gen_ai.agent.name": told.get("persona_name") or told.get("persona"),
            "rolellm.strategy": told.get("strategy"),
        }
    )


def _answered(answers: Sequence[AIMessage]) -> dict[str, AttributeValue]:
    """What answers tell of themselves, but for their words."""
    metadata = [answer.response_metadata for answer in answers]
    usage = [answer.usage_metadata for answer in answers if answer.usage_metadata]
    reasons = [one.get("finish_reason") or one.get("stop_reason") for one in metadata]
    first: dict[str, Any] = metadata[0] if metadata else {}
    reused = [(one.get("input_token_details") or {}).get("cache_read") for one in usage]
    return _known(
        {
            "gen_ai.response.model": first.get("model_name") or first.get("model"),
            "gen_ai.response.id": first.get("id"),
            "gen_ai.response.finish_reasons": [reason for reason in reasons if reason] or None,
            "gen_ai.usage.input_tokens": sum(one["input_tokens"] for one in usage) if usage else None,
            "gen_ai.usage.output_tokens": sum(one["output_tokens"] for one in usage) if usage else None,
            "gen_ai.usage.cache_read.input_tokens": sum(one or 0 for one in reused)
            if any(reused)
            else None,
        }
    )


def _known(told: dict[str, Any]) -> dict[str, AttributeValue]:
    return {name: value for name, value in told.items() if value is not None}


def _message(message: BaseMessage) -> dict[str, Any]:
    """A message in the conventions' form."""
    parts: list[dict[str, Any]] = [{"type": "text", "content": message.text}] if message.text else []
    if isinstance(message, ToolMessage):
        parts = [{"type": "tool_call_response", "id": message.tool_call_id, "response": message.text}]
    if isinstance(message, AIMessage):
        parts += [
            {"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": call["args"]}
            for call in message.tool_calls
        ]
    told = {"role": _ROLES.get(message.type, message.type), "parts": parts}
    if isinstance(message, AIMessage) and (reason := message.response_metadata.get("finish_reason")):
        told["finish_reason"] = reason
    return {**told, **({"name": message.name} if message.name else {})}


def _json(value: Any) -> str:
    """As text: not every OpenTelemetry can hold more than lists of plain values."""
    return whole(json.dumps(value, ensure_ascii=False, default=str))
