"""OpenTelemetry spans by the GenAI semantic conventions, kept in memory."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.small_scene import small_scene
from helpers.tool_calling_model import calling, tool_calling_model
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from rolellm_agents.errors import ModelError, SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.recall import RecallOptions
from rolellm_graphs import SceneContext, role_graph, scene_graph
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.role.retriever import PersonaRetriever
from rolellm_graphs.role.tool import persona_tool
from rolellm_graphs.tracing.otel import CAPTURE, OpenTelemetryHandler
from rolellm_graphs.tracing.tags import opentelemetry_handler

ADA = Persona(
    id="ada",
    name="Ada Bee",
    description="Ada counts everything.",
    demonstrations=(Demonstration(user="How many bees?", reply="Three hives of them."),),
    knowledge=(Knowledge(title="The hives", text="I counted the bees in May."),),
)
LINE = "How many bees are there?"
BM25 = RecallOptions(method="bm25")
OF_ADA = {"gen_ai.agent.id": "ada", "gen_ai.agent.name": "Ada Bee", "rolellm.strategy": "retrieval"}
SECRETS = (LINE, "Three hives of them.", "I counted the bees in May.", "Just three.")
"""What nobody is told who did not ask for it."""


class Traced:
    """Handlers, and the spans they made."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.handlers: list[OpenTelemetryHandler] = []

    def config(self, content: bool | None = None) -> Any:
        handler = opentelemetry_handler(content=content, tracer_provider=self.provider)
        assert isinstance(handler, OpenTelemetryHandler)
        self.handlers.append(handler)
        return {"callbacks": [handler]}

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """By their names; of several of one name, the last that ended."""
        return {span.name: span for span in self._exporter.get_finished_spans()}

    @property
    def names(self) -> list[str]:
        return [span.name for span in self._exporter.get_finished_spans()]

    def parent_of(self, name: str) -> str | None:
        parent = self.spans[name].parent
        if parent is None:
            return None
        return next(one.name for one in self.spans.values() if one.context.span_id == parent.span_id)

    def check_nothing_is_held(self) -> None:
        for handler in self.handlers:
            assert not handler._spans
            assert not handler._within


@pytest.fixture
def traced() -> Traced:
    return Traced()


def said(line: str = LINE) -> MessagesState:
    return MessagesState(messages=[HumanMessage(line)])


def ada_graph() -> Any:
    return role_graph(ADA, model="scripted:Just three.", strategy="retrieval", recall=BM25)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_role_graphs_turn_is_an_agents(is_async: bool, traced: Traced) -> None:
    if is_async:
        await ada_graph().ainvoke(said(), traced.config())
    else:
        ada_graph().invoke(said(), traced.config())
    assert traced.names == ["retrieval ada", "chat scripted", "invoke_agent Ada Bee"]
    spans = traced.spans
    assert dict(spans["invoke_agent Ada Bee"].attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted:scripted",
        **OF_ADA,
    }
    chat = dict(spans["chat scripted"].attributes or {})
    assert chat.pop("gen_ai.usage.input_tokens") > 10  # type: ignore[operator]
    assert chat == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.model": "scripted",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.output_tokens": 2,
        **OF_ADA,
    }
    assert dict(spans["retrieval ada"].attributes or {}) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "ada",
        **OF_ADA,
    }
    assert [span.kind for span in spans.values()] == [SpanKind.CLIENT, SpanKind.CLIENT, SpanKind.INTERNAL]
    assert traced.parent_of("chat scripted") == "invoke_agent Ada Bee"
    assert traced.parent_of("retrieval ada") == "invoke_agent Ada Bee"
    assert traced.parent_of("invoke_agent Ada Bee") is None
    traced.check_nothing_is_held()


def told(traced: Traced) -> str:
    """Everything that the spans tell."""
    return " ".join(span.to_json() for span in traced.spans.values())


def test_nothing_of_what_was_said_is_told_unless_asked_for(traced: Traced) -> None:
    ada_graph().invoke(said(), traced.config())
    assert [secret for secret in SECRETS if secret in told(traced)] == []


@pytest.mark.parametrize("asked", [True, "true", "SPAN_ONLY", "span_and_event"])
def test_what_was_said_and_recalled_is_told_when_asked_for(
    asked: Any, traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(asked, str):
        monkeypatch.setenv(CAPTURE, asked)
    ada_graph().invoke(said(), traced.config(content=asked if asked is True else None))
    chat = traced.spans["chat scripted"].attributes or {}
    asked_messages = json.loads(str(chat["gen_ai.input.messages"]))
    assert [message["role"] for message in asked_messages] == ["system", "system", "user"]
    assert asked_messages[-1]["parts"] == [{"type": "text", "content": LINE}]
    assert json.loads(str(chat["gen_ai.output.messages"])) == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "Just three."}],
            "finish_reason": "stop",
        }
    ]
    retrieval = traced.spans["retrieval ada"].attributes or {}
    assert retrieval["gen_ai.retrieval.query.text"] == LINE
    documents = json.loads(str(retrieval["gen_ai.retrieval.documents"]))
    assert {one["text"] for one in documents} == {
        "How many bees?\nThree hives of them.",
        "The hives\nI counted the bees in May.",
    }
    assert all(one["score"] > 0 for one in documents)


@pytest.mark.parametrize("asked", ["", "false", "no_content", "event_only"])
def test_other_words_in_the_environment_ask_for_nothing(
    asked: str, traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, asked)
    ada_graph().invoke(said(), traced.config())
    assert [secret for secret in SECRETS if secret in told(traced)] == []


@pytest.mark.parametrize("way", ["invoke", "stream"])
def test_a_persona_as_a_chat_model_is_one_span(way: str, traced: Traced) -> None:
    model = RoleChatModel(
        ADA, model="scripted:Just three.", strategy="retrieval", recall=BM25, temperature=0.5, max_tokens=9
    )
    asked: Any = (LINE, traced.config(content=True))
    list(model.stream(*asked, seed=7)) if way == "stream" else model.invoke(*asked, seed=7)
    assert traced.names == ["chat scripted"]
    attributes = dict(traced.spans["chat scripted"].attributes or {})
    assert attributes.items() >= OF_ADA.items()
    assert attributes["gen_ai.request.temperature"] == 0.5
    assert attributes["gen_ai.request.max_tokens"] == 9
    assert attributes["gen_ai.request.seed"] == 7
    assert attributes["gen_ai.usage.output_tokens"] == 2
    recalled = json.loads(str(attributes["gen_ai.retrieval.documents"]))
    assert "How many bees?" in [one["source"] for one in recalled]
    traced.check_nothing_is_held()


def test_what_a_model_reused_is_told(traced: Traced) -> None:
    class Remembering(ScriptedChatModel):
        def _chunks(self, *args: Any) -> Any:
            for chunk in super()._chunks(*args):
                if isinstance(chunk.message, AIMessageChunk) and chunk.message.usage_metadata:
                    chunk.message.usage_metadata["input_token_details"] = {"cache_read": 4}
                yield chunk

    Remembering(replies=["Three."]).invoke(LINE, traced.config())
    assert (traced.spans["chat scripted"].attributes or {})["gen_ai.usage.cache_read.input_tokens"] == 4


def test_spans_are_children_of_the_span_that_the_caller_is_in(traced: Traced) -> None:
    with traced.provider.get_tracer("app").start_as_current_span("request"):
        PersonaRetriever(ADA).invoke(LINE, traced.config())
    assert traced.parent_of("retrieval ada") == "request"


def test_a_failure_is_told_and_ends_its_spans(traced: Traced) -> None:
    model = ScriptedChatModel(replies=[ModelError("The model is asleep; wake it.")])
    with pytest.raises(ModelError):
        role_graph(ADA, model=model, strategy="system").invoke(said(), traced.config())
    for name in ("chat scripted", "invoke_agent Ada Bee"):
        span = traced.spans[name]
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description == "The model is asleep; wake it."
        assert (span.attributes or {})["error.type"] == "ModelError"
    traced.check_nothing_is_held()


def test_leaving_a_stream_ends_its_span(traced: Traced) -> None:
    words = RoleChatModel(ADA, model="scripted:One two three.").stream(LINE, traced.config())
    next(words)
    words.close()  # type: ignore[attr-defined]
    assert traced.names == ["chat scripted"]
    traced.check_nothing_is_held()


def test_each_turn_of_a_scene_is_its_speakers(traced: Traced, tmp_path: Path) -> None:
    graph = scene_graph(small_scene(tmp_path), model="scripted:Good day to you all.", strategy="system")
    graph.invoke({"lines": []}, traced.config(), context=SceneContext(turns=2))
    agents = [name for name in traced.names if name.startswith("invoke_agent")]
    assert set(agents) <= {"invoke_agent Ada", "invoke_agent Ben", "invoke_agent Cy"}
    assert len(agents) >= 2
    traced.check_nothing_is_held()


def test_a_tool_call_holds_the_persona_that_answers_it(traced: Traced) -> None:
    ada = persona_tool(ADA, model="scripted:Just three.", strategy="system")
    replies = iter([calling(ada.name, question=LINE), AIMessage("She says three.")])
    asking = FunctionModel(function=lambda _: next(replies), takes_tools=True)
    question: Any = said("Ask Ada.")
    create_agent(asking, [ada]).invoke(question, traced.config(content=True))
    assert sorted(traced.names) == ["chat function"] * 2 + ["chat scripted", "execute_tool ask_ada"]
    tool = traced.spans["execute_tool ask_ada"]
    attributes = dict(tool.attributes or {})
    assert tool.kind is SpanKind.INTERNAL
    assert attributes["gen_ai.operation.name"] == "execute_tool"
    assert attributes["gen_ai.tool.name"] == "ask_ada"
    assert attributes["gen_ai.tool.call.id"] == "call-ask_ada"
    assert attributes["gen_ai.tool.call.result"] == "Just three."
    assert LINE in str(attributes["gen_ai.tool.call.arguments"])
    assert traced.parent_of("chat scripted") == "execute_tool ask_ada"
    traced.check_nothing_is_held()


def test_tool_calls_are_told_in_the_conventions_form(traced: Traced) -> None:
    asking = tool_calling_model(calling("count", what="bees"))
    asking.invoke(LINE, traced.config(content=True))
    (span,) = traced.spans.values()
    (message,) = json.loads(str((span.attributes or {})["gen_ai.output.messages"]))
    assert message["parts"] == [
        {"type": "tool_call", "id": "call-count", "name": "count", "arguments": {"what": "bees"}}
    ]


def test_a_graph_that_waits_for_somebody_has_not_failed(traced: Traced) -> None:
    def wait(state: MessagesState) -> dict[str, Any]:
        interrupt("Go on?")
        return {}

    inner = StateGraph(MessagesState)
    inner.add_node("wait", wait)
    inner.add_edge(START, "wait")
    waiting = inner.compile().with_config(metadata={"persona": "ada", "strategy": "system"})
    outer = StateGraph(MessagesState)
    outer.add_node("ada", waiting)
    outer.add_edge(START, "ada")
    graph = outer.compile(checkpointer=InMemorySaver())
    config: Any = {**traced.config(), "configurable": {"thread_id": "1"}}
    graph.invoke(said(), config)
    assert traced.spans["invoke_agent ada"].status.status_code is StatusCode.UNSET
    traced.check_nothing_is_held()


def test_without_the_handler_nothing_is_recorded(traced: Traced) -> None:
    ada_graph().invoke(said())
    assert traced.names == []


def test_what_is_missing_is_told_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rolellm_graphs.tracing.otel", None)
    with pytest.raises(
        SettingsError, match=r"needs the extra otel: pip install 'rolellm-agents\[otel\]'\.$"
    ):
        opentelemetry_handler()


def test_it_is_a_langchain_handler_of_opentelemetrys_own_provider_by_default() -> None:
    handler = opentelemetry_handler()
    assert isinstance(handler, BaseCallbackHandler)
    RoleChatModel(ADA, model="scripted:Three.").invoke(LINE, {"callbacks": [handler]})
