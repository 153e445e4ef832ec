"""What LangChain's tracers show of a persona's runs."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest
from helpers.cards import book, entry
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers import Run
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langgraph.graph import MessagesState

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.recall import Passage, RecallOptions
from rolellm_graphs import role_graph
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.role.retriever import PersonaRetriever
from rolellm_graphs.role.tool import persona_tool

ADA = Persona(
    id="ada",
    name="Ada Bee",
    description="Ada counts everything.",
    demonstrations=(Demonstration(user="How many bees?", reply="Three hives of them.", place="chapter 1"),),
    knowledge=(Knowledge(title="The hives", text="I counted the bees in May."),),
    lorebook=book(entry(content="The lamp burns herring oil.", comment="Lamp")),
)
LINE = "How many bees are there by the lamp?"
BM25 = RecallOptions(method="bm25")
OF_ADA = {
    "persona": "ada",
    "persona_name": "Ada Bee",
    "strategy": "retrieval",
    "model": "scripted:scripted",
}
TAGS = ["persona:ada", "strategy:retrieval"]


@pytest.fixture
def runs() -> RunCollectorCallbackHandler:
    """Keeps the runs it is told of in the process."""
    return RunCollectorCallbackHandler()


def said(line: str = LINE) -> MessagesState:
    return MessagesState(messages=[HumanMessage(line)])


def chat(**options: Any) -> RoleChatModel:
    model = ScriptedChatModel(replies=["Three."])
    return RoleChatModel(ADA, model=model, strategy="retrieval", recall=BM25, **options)


def metadata_of(run: Run) -> dict[str, Any]:
    return {key: value for key, value in run.metadata.items() if key in OF_ADA}


def within(run: Run) -> Iterator[Run]:
    yield run
    for child in run.child_runs:
        yield from within(child)


def named(run: Run, name: str) -> list[Run]:
    return [one for one in within(run) if one.name == name]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
async def test_a_chat_models_run_shows_persona_strategy_model_and_what_was_recalled(
    way: str, runs: RunCollectorCallbackHandler
) -> None:
    config = RunnableConfig(callbacks=[runs], tags=["mine"], metadata={"app": "shop"})
    match way:
        case "invoke":
            chat().invoke(LINE, config)
        case "ainvoke":
            await chat().ainvoke(LINE, config)
        case "stream":
            list(chat().stream(LINE, config))
        case "astream":
            [chunk async for chunk in chat().astream(LINE, config)]
    (run,) = runs.traced_runs
    assert metadata_of(run) == OF_ADA
    assert {"mine", *TAGS} == set(run.tags or ())
    assert (run.metadata["ls_provider"], run.metadata["app"]) == ("scripted", "shop")
    assert "How many bees?" in str(run.outputs)
    assert "ada, knowledge 1" in str(run.outputs)
    assert "I counted the bees in May." not in str(run.outputs)
    assert "Three hives of them." not in str(run.outputs)
    assert "Ada counts everything." not in str(run.serialized)


def test_tags_and_metadata_of_the_model_inside_and_of_the_callers_stay(
    runs: RunCollectorCallbackHandler,
) -> None:
    inner = ScriptedChatModel(replies=["Three."], tags=["inner"], metadata={"room": 1})
    model = RoleChatModel(ADA, model=inner, strategy="retrieval", recall=BM25, tags=["own"])
    model.invoke(LINE, {"callbacks": [runs]})
    (run,) = runs.traced_runs
    assert set(run.tags or ()) == {*TAGS, "inner", "own"}
    assert run.metadata["room"] == 1


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_role_graphs_runs_show_them_too(is_async: bool, runs: RunCollectorCallbackHandler) -> None:
    model = ScriptedChatModel(replies=["Three."])
    memories = [Passage("memory", "Tom: The bees are back.", "conversation 1")]
    graph = role_graph(ADA, model=model, strategy="retrieval", recall=BM25, memories=memories)
    config = RunnableConfig(callbacks=[runs])
    if is_async:
        await graph.ainvoke(said(), config)
    else:
        graph.invoke(said(), config)
    (root,) = runs.traced_runs
    assert root.name == "ada"
    assert [metadata_of(run) for run in within(root)] == [OF_ADA] * len(list(within(root)))
    assert all(set(TAGS) <= set(run.tags or ()) for run in within(root))

    (recall,) = [run for run in within(root) if run.run_type == "retriever"]
    assert recall.inputs == {"query": LINE}
    assert recall.outputs is not None
    shown: Sequence[Document] = recall.outputs["documents"]
    assert {(one.metadata["kind"], one.page_content) for one in shown} == {
        ("demonstration", "How many bees?\nThree hives of them."),
        ("knowledge", "The hives\nI counted the bees in May."),
        ("memory", "Tom: The bees are back."),
        ("lore", "The lamp burns herring oil."),
    }
    assert all(one.metadata["persona"] == "ada" and one.metadata["why"] for one in shown)
    (step,) = [run for run in named(root, "recall") if run.run_type == "chain"]
    assert recall.parent_run_id == step.id


def test_of_what_was_not_looked_up_no_run_tells(runs: RunCollectorCallbackHandler) -> None:
    bare = ADA.model_copy(update={"lorebook": None})
    role_graph(bare, model="scripted:Three.", strategy="system").invoke(said(), {"callbacks": [runs]})
    assert {run.run_type for run in within(runs.traced_runs[0])} == {"chain", "llm"}
    runs.traced_runs.clear()
    answer = RoleChatModel(bare, model="scripted:Three.", strategy="system").invoke(LINE)
    assert "recalled" not in answer.response_metadata


async def test_async_handlers_are_told_in_their_own_loop() -> None:
    heard: list[Any] = []

    class Listener(AsyncCallbackHandler):
        async def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
            heard.append(asyncio.get_running_loop())

        async def on_retriever_end(
            self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any
        ) -> None:
            heard.append(asyncio.get_running_loop())

    graph = role_graph(ADA, model="scripted:Three.", strategy="retrieval", recall=BM25)
    await graph.ainvoke(said(), {"callbacks": [Listener()]})
    assert heard == [asyncio.get_running_loop()] * 2


def test_a_retrievers_run_shows_the_persona_and_what_it_found(runs: RunCollectorCallbackHandler) -> None:
    PersonaRetriever(ADA, tags=["mine"], metadata={"app": "shop"}).invoke(LINE, {"callbacks": [runs]})
    (run,) = runs.traced_runs
    assert metadata_of(run) == {"persona": "ada", "persona_name": "Ada Bee"}
    assert set(run.tags or ()) == {"persona:ada", "mine"}
    assert run.metadata["app"] == "shop"
    assert run.metadata["ls_retriever_name"] == "persona"
    assert run.outputs is not None
    assert len(run.outputs["documents"]) == 2


def test_a_tools_run_holds_the_personas(runs: RunCollectorCallbackHandler) -> None:
    ada = persona_tool(ADA, model="scripted:Three.", strategy="system")
    ada.invoke({"question": LINE}, {"callbacks": [runs]})
    (tool,) = runs.traced_runs
    (answer,) = tool.child_runs
    assert (tool.name, tool.run_type, answer.run_type) == ("ask_ada", "tool", "llm")
    assert tool.metadata["persona"] == answer.metadata["persona"] == "ada"
