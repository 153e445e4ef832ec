"""The role graph stands alone, behind anybody's checkpointer, and as a node of another graph."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from helpers.failing import refused, refusing_first
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from rolellm_agents.errors import MessageError, ModelError, PersonaError, SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.prompting.strategies import get_strategy
from rolellm_agents.recall import Recaller, RecallOptions, demonstrations_of
from rolellm_graphs import RoleContext, role_graph

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada counts everything.",
    demonstrations=(
        Demonstration(user="How many stairs?", reply="Seventeen."),
        Demonstration(user="How many bees?", reply="Three hives of them."),
    ),
)
ANSWER = "One, two, three; and four."
LINE = "How many bees are there?"
THREAD: RunnableConfig = {"configurable": {"thread_id": "1"}}

Saver = Callable[[Path], AbstractContextManager[BaseCheckpointSaver[Any]]]
AsyncSaver = Callable[[Path], AbstractAsyncContextManager[BaseCheckpointSaver[Any]]]


@contextmanager
def in_memory(_: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    yield InMemorySaver()


@contextmanager
def in_sqlite(folder: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        yield saver


@asynccontextmanager
async def in_memory_async(_: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    yield InMemorySaver()


@asynccontextmanager
async def in_sqlite_async(folder: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        yield saver


SAVERS = pytest.mark.parametrize("saver", [in_memory, in_sqlite])
ASYNC_SAVERS = pytest.mark.parametrize("saver", [in_memory_async, in_sqlite_async])


def scripted(*replies: str | Exception) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies), once=True)


def said(*messages: str | AnyMessage) -> MessagesState:
    """Lines of the user's, and other messages as they are."""
    return MessagesState(messages=[HumanMessage(one) if isinstance(one, str) else one for one in messages])


def lines(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in messages]


def check_answer(result: dict[str, Any]) -> None:
    """The output of one turn: the line, the answer in the persona's name, and what was recalled."""
    assert set(result) == {"messages", "recalled"}
    line, answer = result["messages"]
    assert (line.type, line.text) == ("human", LINE)
    assert isinstance(answer, AIMessage)
    assert (answer.text, answer.name) == (ANSWER, "ada")
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] == 5
    by_words = Recaller(demonstrations_of(ADA), ADA, "bm25", RecallOptions(floor=0.0))
    assert result["recalled"] == by_words.recall(LINE)
    assert [item["index"] for item in result["recalled"]] == [1, 0]
    assert [item["why"] for item in result["recalled"]] == ["shares “bees”, “many”", "shares “many”"]


# Ways to call it


def test_invoke_answers() -> None:
    check_answer(dict(role_graph(ADA, model=scripted(ANSWER)).invoke(said(LINE))))


async def test_ainvoke_answers() -> None:
    check_answer(dict(await role_graph(ADA, model=scripted(ANSWER)).ainvoke(said(LINE))))


def test_its_nodes_are_recall_compose_and_speak_in_this_order() -> None:
    graph = role_graph(ADA, model=scripted(ANSWER))
    assert list(graph.nodes) == ["__start__", "recall", "compose", "speak"]
    edges = {(edge.source, edge.target) for edge in graph.get_graph().edges}
    assert edges == {
        ("__start__", "recall"),
        ("recall", "compose"),
        ("compose", "speak"),
        ("speak", "__end__"),
    }
    assert graph.name == "ada"


@pytest.mark.parametrize("strategy", ["few-shot-dialogue", "few-shot-prompt", "zero-shot", "system"])
def test_the_model_is_sent_what_the_strategy_composed(strategy: str) -> None:
    model = scripted(ANSWER)
    graph = role_graph(ADA, model=model, strategy=strategy)
    result = graph.invoke(said("Hello.", AIMessage("Good day!"), LINE))
    composed = get_strategy(strategy)(
        ADA, [HumanMessage("Hello."), AIMessage("Good day!")], result["recalled"], LINE
    )
    assert lines(model.calls[0]) == lines(composed)
    uses_them = strategy.startswith("few-shot")
    assert (len(result["recalled"]), "Three hives" in str(model.calls[0])) == (
        (2, True) if uses_them else (0, False)
    )


def check_parts(mode: str, parts: list[Any]) -> None:
    """What `stream` gives in one mode."""
    match mode:
        case "values":
            # The state at the start and after each node; the prompt is there while it is needed.
            assert [len(part["messages"]) for part in parts] == [1, 1, 1, 2]
            assert ["prompt" in part for part in parts] == [False, False, True, False]
            check_answer(parts[-1])
        case "updates":
            assert [list(part) for part in parts] == [["recall"], ["compose"], ["speak"]]
            assert parts[0]["recall"]["recalled"][0]["index"] == 1
            prompt = parts[1]["compose"]["prompt"]
            assert [turn["type"] for turn in prompt] == ["system", "human", "ai", "human", "ai", "human"]
            assert prompt[-1]["data"]["content"] == LINE
            assert [message.text for message in parts[2]["speak"]["messages"]] == [ANSWER]
        case "messages":
            # The answer's chunks and nothing else: no prompt, no demonstration, no line, no repetition.
            assert all(isinstance(chunk, AIMessageChunk) for chunk, _ in parts)
            assert [chunk.text for chunk, _ in parts if chunk.text] == [
                "One,",
                " two,",
                " three;",
                " and",
                " four.",
            ]
            assert {metadata["langgraph_node"] for _, metadata in parts} == {"speak"}
            assert len({chunk.id for chunk, _ in parts}) == 1
        case "custom":
            assert parts == []


MODES = pytest.mark.parametrize("mode", ["values", "updates", "messages", "custom"])


@MODES
def test_stream_gives(mode: Any) -> None:
    graph = role_graph(ADA, model=scripted(ANSWER))
    check_parts(mode, list(graph.stream(said(LINE), stream_mode=mode)))


@MODES
async def test_astream_gives(mode: Any) -> None:
    graph = role_graph(ADA, model=scripted(ANSWER))
    check_parts(mode, [part async for part in graph.astream(said(LINE), stream_mode=mode)])


async def test_a_model_that_cannot_stream_appears_once_in_the_message_stream() -> None:
    model = ScriptedChatModel(replies=[ANSWER], disable_streaming=True)
    graph = role_graph(ADA, model=model)
    parts: list[Any] = [part async for part in graph.astream(said(LINE), stream_mode="messages")]
    assert [message.text for message, _ in parts] == [ANSWER]


async def test_async_callers_are_not_held_up_while_the_model_computes() -> None:
    started, may_go_on = threading.Event(), threading.Event()

    def answer(_: list[BaseMessage]) -> str:
        started.set()
        assert may_go_on.wait(10), "nobody could let it go on: the event loop is held up"
        return ANSWER

    model = FunctionModel(function=answer)
    turn = asyncio.create_task(role_graph(ADA, model=model).ainvoke(said(LINE)))
    assert await asyncio.to_thread(started.wait, 10)
    may_go_on.set()
    check_answer(dict(await turn))


class Started(BaseCallbackHandler):
    """Notes which prompts reach a model, and under which tags."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[tuple[str, str]], list[str] | None, Any]] = []

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.calls.append((lines(messages[0]), tags, (metadata or {}).get("app")))


async def test_the_callers_callbacks_tags_and_metadata_reach_the_model() -> None:
    started = Started()
    model = scripted(ANSWER, ANSWER)
    graph = role_graph(ADA, model=model)
    config = RunnableConfig(callbacks=[started], tags=["mine"], metadata={"app": "shop"})
    graph.invoke(said(LINE), config)
    await graph.ainvoke(said(LINE), config)
    assert [prompt for prompt, _, _ in started.calls] == [lines(call) for call in model.calls]
    assert all("mine" in (tags or ()) for _, tags, _ in started.calls)
    assert [app for _, _, app in started.calls] == ["shop", "shop"]


# What it is given


@pytest.mark.parametrize("history", [[], [SystemMessage("It is raining.")]])
def test_nobody_is_not_answered(history: list[str | AnyMessage]) -> None:
    model = scripted(ANSWER)
    with pytest.raises(MessageError, match="There is no user message that the persona could answer"):
        role_graph(ADA, model=model).invoke(said(*history))
    assert model.calls == []


@pytest.mark.parametrize("strategy", ["few-shot-dialogue", "few-shot-prompt", "zero-shot", "system"])
def test_everything_of_the_history_survives_into_the_prompt(strategy: str) -> None:
    model = scripted(ANSWER)
    call = {"name": "count", "args": {"what": "bees"}, "id": "call-1", "type": "tool_call"}
    history: list[AnyMessage] = [
        HumanMessage("Count them."),
        AIMessage("", tool_calls=[call]),
        ToolMessage("60,000", tool_call_id="call-1"),
        AIMessage("Sixty thousand.", name="ada", additional_kwargs={"mood": "proud"}),
    ]
    role_graph(ADA, model=model, strategy=strategy).invoke(said(*history, LINE))
    (prompt,) = model.calls
    kept = [
        (m.type, m.text, m.name, m.additional_kwargs, getattr(m, "tool_calls", []))
        for m in prompt[-len(history) - 1 : -1]
    ]
    assert kept == [
        (m.type, m.text, m.name, m.additional_kwargs, getattr(m, "tool_calls", [])) for m in history
    ]
    tool = prompt[-3]
    assert isinstance(tool, ToolMessage)
    assert tool.tool_call_id == "call-1"


def test_plain_tuples_and_text_blocks_are_lines_too() -> None:
    model = scripted("First.", "Second.")
    graph = role_graph(ADA, model=model, strategy="zero-shot")
    plain: Any = {"messages": [("user", LINE)]}
    assert graph.invoke(plain)["messages"][-1].text == "First."
    blocks = HumanMessage([{"type": "text", "text": "How many "}, {"type": "text", "text": "bees?"}])
    assert graph.invoke(said(blocks))["messages"][-1].text == "Second."
    assert [call[-1].text for call in model.calls] == [LINE, "How many bees?"]


@pytest.mark.parametrize("context", [RoleContext(seed=11), {"seed": 11}])
async def test_a_seed_in_the_context_reaches_the_model(context: Any) -> None:
    model = scripted(ANSWER, ANSWER, ANSWER)
    graph = role_graph(ADA, model=model)
    graph.invoke(said(LINE), context=context)
    await graph.ainvoke(said(LINE), context=context)
    graph.invoke(said(LINE), context=RoleContext())
    assert [options.get("seed", "none") for options in model.options] == [11, 11, "none"]


def test_what_does_not_exist_is_told_before_anything_is_said() -> None:
    with pytest.raises(PersonaError, match="There is no persona 'nobody'"):
        role_graph("nobody", model=scripted(ANSWER))
    with pytest.raises(ModelError, match="There is no model"):
        role_graph(ADA, model="nothing")
    with pytest.raises(SettingsError):
        role_graph(ADA, model=scripted(ANSWER), strategy="telepathy")


# With a checkpointer


def check_two_turns(result: dict[str, Any], model: ScriptedChatModel) -> None:
    """The second turn knows the first."""
    conversation = [
        ("human", LINE),
        ("ai", ANSWER),
        ("human", "And stairs?"),
        ("ai", "Seventeen."),
    ]
    assert lines(result["messages"]) == conversation
    assert lines(model.calls[1])[-3:] == conversation[:3]
    # The demonstrations of the first line stay, so the second prompt begins with the first one.
    assert lines(model.calls[1])[: len(model.calls[0])] == lines(model.calls[0])
    assert len(model.calls[1]) == len(model.calls[0]) + 2


@SAVERS
def test_two_turns_with_a_saver(saver: Saver, tmp_path: Path) -> None:
    model = scripted(ANSWER, "Seventeen.")
    with saver(tmp_path) as checkpointer:
        graph = role_graph(ADA, model=model, checkpointer=checkpointer)
        check_answer(dict(graph.invoke(said(LINE), THREAD)))
        check_two_turns(dict(graph.invoke(said("And stairs?"), THREAD)), model)
        state = graph.get_state(THREAD)
        assert set(state.values) == {"messages", "recalled"}
        assert state.next == ()
        other: RunnableConfig = {"configurable": {"thread_id": "2"}}
        assert graph.get_state(other).values == {}


@ASYNC_SAVERS
async def test_two_turns_with_an_async_saver(saver: AsyncSaver, tmp_path: Path) -> None:
    model = scripted(ANSWER, "Seventeen.")
    async with saver(tmp_path) as checkpointer:
        graph = role_graph(ADA, model=model, checkpointer=checkpointer)
        check_answer(dict(await graph.ainvoke(said(LINE), THREAD)))
        check_two_turns(dict(await graph.ainvoke(said("And stairs?"), THREAD)), model)
        assert set((await graph.aget_state(THREAD)).values) == {"messages", "recalled"}


def test_another_process_goes_on_with_the_file(tmp_path: Path) -> None:
    """As far as a saver and a graph of their own can show it."""
    model = scripted(ANSWER, "Seventeen.")
    with in_sqlite(tmp_path) as checkpointer:
        role_graph(ADA, model=model, checkpointer=checkpointer).invoke(said(LINE), THREAD)
    with in_sqlite(tmp_path) as checkpointer:
        result = role_graph(ADA, model=model, checkpointer=checkpointer).invoke(said("And stairs?"), THREAD)
    check_two_turns(dict(result), model)


@SAVERS
def test_a_turn_whose_model_failed_can_be_resumed(saver: Saver, tmp_path: Path) -> None:
    model = scripted(ModelError("The model is asleep; wake it."), ANSWER)
    with saver(tmp_path) as checkpointer:
        graph = role_graph(ADA, model=model, checkpointer=checkpointer)
        with pytest.raises(ModelError, match="asleep"):
            graph.invoke(said(LINE), THREAD)
        assert graph.get_state(THREAD).next == ("speak",)
        check_answer(dict(graph.invoke(None, THREAD)))
        assert lines(model.calls[0]) == lines(model.calls[1])


@ASYNC_SAVERS
async def test_a_turn_whose_model_failed_can_be_resumed_async(saver: AsyncSaver, tmp_path: Path) -> None:
    model = scripted(ModelError("The model is asleep; wake it."), ANSWER)
    async with saver(tmp_path) as checkpointer:
        graph = role_graph(ADA, model=model, checkpointer=checkpointer)
        with pytest.raises(ModelError, match="asleep"):
            await graph.ainvoke(said(LINE), THREAD)
        check_answer(dict(await graph.ainvoke(None, THREAD)))


@SAVERS
def test_an_interrupt_before_speaking_shows_the_prompt(saver: Saver, tmp_path: Path) -> None:
    model = scripted(ANSWER)
    with saver(tmp_path) as checkpointer:
        graph = role_graph(ADA, model=model, checkpointer=checkpointer)
        graph.invoke(said(LINE), THREAD, interrupt_before=["speak"])
        assert model.calls == []
        state = graph.get_state(THREAD)
        assert state.next == ("speak",)
        prompt = state.values["prompt"]
        check_answer(dict(graph.invoke(None, THREAD)))
        shown = [(turn["type"], turn["data"]["content"]) for turn in prompt]
        assert shown == lines(model.calls[0])
        assert "prompt" not in graph.get_state(THREAD).values


STRICT = """
import sys
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde import _msgpack
from langgraph.checkpoint.sqlite import SqliteSaver
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs import role_graph
assert _msgpack.STRICT_MSGPACK_ENABLED
config = {"configurable": {"thread_id": "1"}}
for line in ("One?", "Two?"):
    with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
        graph = role_graph("sherlock-holmes", model=ScriptedChatModel(), checkpointer=saver)
        graph.invoke({"messages": [HumanMessage(line)]}, config, interrupt_before=["speak"])
    with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
        graph = role_graph("sherlock-holmes", model=ScriptedChatModel(), checkpointer=saver)
        result = graph.invoke(None, config)
print([message.text for message in result["messages"]], len(result["recalled"]))
"""


def test_its_state_needs_no_type_that_strict_checkpoints_refuse(tmp_path: Path) -> None:
    """Every turn is read back from the file twice, once in its middle."""
    child = subprocess.run(
        (sys.executable, "-W", "error", "-c", STRICT, str(tmp_path / "checkpoints.db")),
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.returncode, child.stdout, child.stderr) == (
        0,
        "['One?', 'One?', 'Two?', 'Two?'] 5\n",
        "",
    )


# Inside another graph


async def test_it_is_a_node_of_another_graph() -> None:
    model = scripted(*[ANSWER] * 3)

    def count(state: MessagesState) -> dict[str, Any]:
        return {"messages": [SystemMessage(f"{len(state['messages'])} were said.")]}

    builder = StateGraph(MessagesState, context_schema=RoleContext)
    builder.add_node("ada", role_graph(ADA, model=model))
    builder.add_node("count", count)
    builder.add_edge(START, "ada")
    builder.add_edge("ada", "count")
    graph = builder.compile(checkpointer=InMemorySaver())

    expected = [("human", LINE), ("ai", ANSWER), ("system", "2 were said.")]
    result = graph.invoke(said(LINE), THREAD, context=RoleContext(seed=3))
    assert lines(result["messages"]) == expected
    # The lines that went in came back as the same messages, not as copies of them.
    second = await graph.ainvoke(said("Again?"), THREAD)
    assert lines(second["messages"]) == [
        *expected,
        ("human", "Again?"),
        ("ai", ANSWER),
        ("system", "5 were said."),
    ]
    assert lines(model.calls[1])[-3:] == [*expected[:2], ("human", "Again?")]
    assert model.calls[1][0].text.endswith("2 were said."), "system messages are the scene"
    assert [options.get("seed") for options in model.options] == [3, None]

    other: RunnableConfig = {"configurable": {"thread_id": "2"}}
    parts: list[Any] = [
        part async for part in graph.astream(said(LINE), other, stream_mode="messages", subgraphs=True)
    ]
    spoken = [chunk.text for _, (chunk, metadata) in parts if metadata["langgraph_node"] == "speak"]
    assert "".join(spoken) == ANSWER


# A server that refuses for the moment


def test_a_refusal_is_waited_out_and_written_to_the_custom_stream() -> None:
    refusals = [refused(503, retry_after="0"), refused(429, retry_after_ms="1")]
    graph = role_graph(
        ADA, model=FunctionModel(function=refusing_first(*refusals, answer=lambda _: ANSWER))
    )
    parts: list[Any] = list(graph.stream(said(LINE), stream_mode=["custom", "values"]))
    waits = [data["backoff"] for mode, data in parts if mode == "custom"]
    assert [wait["seconds"] for wait in waits] == [0, 0.001]
    assert [wait["reason"].rpartition(" ")[2] for wait in waits] == ["(503)", "(429)"]
    check_answer(parts[-1][1])


def test_a_refusal_for_good_is_raised_at_once() -> None:
    refusing = refusing_first(refused(401), answer=lambda _: ANSWER)
    with pytest.raises(RuntimeError, match="refused"):
        role_graph(ADA, model=FunctionModel(function=refusing)).invoke(said(LINE))
