"""Our graphs as parts of somebody else's: their state, checkpointer, streams, people and detours."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from helpers.cards import book, entry, v2
from helpers.scenes import line_by, prattlers, room
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from rolellm_agents.cards import Card
from rolellm_agents.errors import ModelError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import persona_of
from rolellm_agents.scene import LoadedScene, SceneLine
from rolellm_agents.scene.scene import Stop
from rolellm_graphs import RoleContext, SceneContext, role_graph, scene_graph
from rolellm_graphs.scene.graph import SceneGraph
from rolellm_graphs.scene.state import SceneOutput, merge_lines

ADA = Persona(id="ada", name="Ada", description="Ada counts everything.")
BEN = Persona(id="ben", name="Ben", description="Ben catches herring.")
THREAD: RunnableConfig = {"configurable": {"thread_id": "theirs"}}
ANSWER = "Seventeen stairs, and one loose."

Saver = Callable[[Path], AbstractContextManager[BaseCheckpointSaver[Any]]]
AsyncSaver = Callable[[Path], AbstractAsyncContextManager[BaseCheckpointSaver[Any]]]


@contextmanager
def in_memory(_: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    yield InMemorySaver()


@contextmanager
def in_sqlite(folder: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    with SqliteSaver.from_conn_string(str(folder / "theirs.db")) as saver:
        yield saver


@asynccontextmanager
async def in_memory_async(_: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    yield InMemorySaver()


@asynccontextmanager
async def in_sqlite_async(folder: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "theirs.db")) as saver:
        yield saver


SAVERS = pytest.mark.parametrize("saver", [in_memory, in_sqlite])
ASYNC_SAVERS = pytest.mark.parametrize("saver", [in_memory_async, in_sqlite_async])


class Case(MessagesState):
    """The state of their graph: messages like everybody's, and what only they know of."""

    case: str
    log: list[str]


def model_of(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=[*replies])


def around(persona: Any, saver: Any = None, state: Any = Case, **options: Any) -> Any:
    """Their graph: what comes in is filed, a persona answers, and what was said is logged."""

    def file(state: Case) -> dict[str, Any]:
        get_stream_writer()({"filed": state["case"]})
        return {"case": state["case"].upper()}

    def log(state: Case) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"log": [*state.get("log", []), f"{last.name}: {last.text}"]}

    builder = StateGraph(state, **options)
    builder.add_node("file", file)
    builder.add_node("persona", persona)
    builder.add_node("log", log)
    builder.add_edge(START, "file")
    builder.add_edge("file", "persona")
    builder.add_edge("persona", "log")
    builder.add_edge("log", END)
    return builder.compile(checkpointer=saver)


def ask(text: str, **told: str) -> dict[str, Any]:
    return {"messages": [("user", text)], **told}


# A persona as a node


@SAVERS
def test_a_persona_answers_in_their_state_and_leaves_the_rest_of_it_alone(
    tmp_path: Path, saver: Saver
) -> None:
    model = model_of(ANSWER, "Three hives.")
    with saver(tmp_path) as checkpointer:
        graph = around(role_graph(ADA, model=model, strategy="system"), checkpointer)
        first = graph.invoke(ask("How many stairs?", case="a theft"), THREAD)
        assert set(first) == {"messages", "case", "log"}
        assert (first["case"], first["log"]) == ("A THEFT", [f"ada: {ANSWER}"])
        assert [message.type for message in first["messages"]] == ["human", "ai"]
        again = graph.invoke(ask("And bees?"), THREAD)
    assert again["log"] == [f"ada: {ANSWER}", "ada: Three hives."]
    assert [message.text for message in model.calls[1][1:]] == ["How many stairs?", ANSWER, "And bees?"]


@ASYNC_SAVERS
async def test_awaited_it_is_the_same(tmp_path: Path, saver: AsyncSaver) -> None:
    model = model_of(ANSWER, "Three hives.")
    async with saver(tmp_path) as checkpointer:
        graph = around(role_graph(ADA, model=model, strategy="system"), checkpointer)
        await graph.ainvoke(ask("How many stairs?", case="a theft"), THREAD)
        again = await graph.ainvoke(ask("And bees?"), THREAD)
    assert again["log"] == [f"ada: {ANSWER}", "ada: Three hives."]
    assert [message.text for message in model.calls[1][1:]] == ["How many stairs?", ANSWER, "And bees?"]


def test_another_process_goes_on_with_what_is_stored(tmp_path: Path) -> None:
    with in_sqlite(tmp_path) as checkpointer:
        persona = role_graph(ADA, model=model_of(ANSWER), strategy="system")
        around(persona, checkpointer).invoke(ask("How many stairs?", case="a theft"), THREAD)
    later = model_of("Three hives.")
    with in_sqlite(tmp_path) as checkpointer:
        graph = around(role_graph(ADA, model=later, strategy="system"), checkpointer)
        graph.invoke(ask("And bees?"), THREAD)
    assert [message.text for message in later.calls[0][1:]] == ["How many stairs?", ANSWER, "And bees?"]


@SAVERS
def test_a_turn_that_failed_is_resumed_where_it_failed(tmp_path: Path, saver: Saver) -> None:
    model = ScriptedChatModel(replies=[ModelError("The model has gone."), ANSWER])
    with saver(tmp_path) as checkpointer:
        graph = around(role_graph(ADA, model=model, strategy="system"), checkpointer)
        with pytest.raises(ModelError):
            graph.invoke(ask("How many stairs?", case="a theft"), THREAD)
        assert graph.get_state(THREAD).next == ("persona",)
        assert graph.invoke(None, THREAD)["log"] == [f"ada: {ANSWER}"]
    assert model.calls[0] == model.calls[1]


@SAVERS
def test_they_can_stop_before_the_persona_and_change_what_it_hears(tmp_path: Path, saver: Saver) -> None:
    model = model_of(ANSWER)
    with saver(tmp_path) as checkpointer:
        graph = around(role_graph(ADA, model=model, strategy="system"), checkpointer)
        graph.invoke(ask("How many stars?", case="a theft"), THREAD, interrupt_before=["persona"])
        (said,) = graph.get_state(THREAD).values["messages"]
        graph.update_state(THREAD, {"messages": [said.model_copy(update={"content": "How many stairs?"})]})
        assert graph.invoke(None, THREAD)["log"] == [f"ada: {ANSWER}"]
    assert model.calls[0][-1].text == "How many stairs?"


def test_an_older_checkpoint_leads_to_another_answer_and_both_stay() -> None:
    model = model_of("Seventeen.", "Three hives.", "Two cats.")
    graph = around(role_graph(ADA, model=model, strategy="system"), InMemorySaver())
    graph.invoke(ask("How many stairs?", case="a theft"), THREAD)
    after_first = graph.get_state(THREAD).config
    graph.invoke(ask("And bees?"), THREAD)
    other = graph.invoke(ask("And cats?"), after_first)
    assert [message.text for message in other["messages"][2:]] == ["And cats?", "Two cats."]
    assert [message.text for message in model.calls[2][1:]] == [
        "How many stairs?",
        "Seventeen.",
        "And cats?",
    ]
    ends = [
        state.values["messages"][-1].text for state in graph.get_state_history(THREAD) if not state.next
    ]
    assert ends == ["Two cats.", "Three hives.", "Seventeen."]


def test_the_same_turn_is_played_again_from_before_it() -> None:
    graph = around(role_graph(ADA, model=model_of("One.", "Two."), strategy="system"), InMemorySaver())
    graph.invoke(ask("How many?", case="a theft"), THREAD)
    (before,) = [state for state in graph.get_state_history(THREAD) if state.next == ("persona",)]
    assert graph.invoke(None, before.config)["log"] == ["ada: Two."]


def sticky_ada() -> Persona:
    card = Card(v2(character_book=book(entry(comment="Lamp", extensions={"sticky": 5}))))
    return persona_of(card, "ada")


class CaseWithLore(Case):
    """A state that keeps the persona's timed effects, too."""

    lore: dict[str, Any]


@pytest.mark.parametrize(
    ("state", "own", "sticks"), [(Case, True, True), (CaseWithLore, None, True), (Case, None, False)]
)
def test_timed_lore_stays_where_somebody_keeps_it(state: Any, own: bool | None, sticks: bool) -> None:
    model = model_of("Yes.")
    persona = role_graph(sticky_ada(), model=model, strategy="system", checkpointer=own)
    graph = around(persona, InMemorySaver(), state)
    for line in ("Is the lamp lit?", "Good.", "And so on."):
        output = graph.invoke(ask(line, case="a light"), THREAD)
    assert ("herring oil" in model.calls[-1][0].text) is sticks
    assert len(output["messages"]) == 6


# Streams


def streamed(graph: Any, mode: Any, told: Any, **options: Any) -> list[tuple[tuple[str, ...], Any]]:
    return [*graph.stream(told, stream_mode=mode, subgraphs=True, **options)]


def inner(parts: Sequence[tuple[tuple[str, ...], Any]]) -> list[Any]:
    """What comes out of the persona's own graph."""
    return [part for place, part in parts if place and place[0].startswith("persona:")]


def outer(parts: Sequence[tuple[tuple[str, ...], Any]]) -> list[Any]:
    return [part for place, part in parts if not place]


class TestStreams:
    @pytest.fixture
    def graph(self) -> Any:
        return around(role_graph(ADA, model=model_of(ANSWER), strategy="system"), InMemorySaver())

    def parts(self, graph: Any, mode: str) -> list[tuple[tuple[str, ...], Any]]:
        return streamed(graph, mode, ask("How many stairs?", case="a theft"), config=THREAD)

    def test_values_grow_step_by_step(self, graph: Any) -> None:
        parts = self.parts(graph, "values")
        assert [len(state["messages"]) for state in outer(parts)] == [1, 1, 2, 2]
        assert [len(state["messages"]) for state in inner(parts)] == [1, 1, 2]
        assert all("case" not in state for state in inner(parts)), (
            "theirs is none of the persona's business"
        )

    def test_updates_tell_of_each_node(self, graph: Any) -> None:
        parts = self.parts(graph, "updates")
        assert [node for update in inner(parts) for node in update] == ["recall", "compose", "speak"]
        assert [node for update in outer(parts) for node in update] == ["file", "persona", "log"]
        (told,) = (update["persona"] for update in outer(parts) if "persona" in update)
        assert told["messages"][-1].text == ANSWER

    def test_messages_are_the_answers_words_and_no_others(self, graph: Any) -> None:
        parts = self.parts(graph, "messages")
        assert outer(parts) == []
        chunks = [chunk for chunk, _ in inner(parts) if isinstance(chunk, AIMessageChunk)]
        assert len([chunk for chunk in chunks if chunk.text]) == len(ANSWER.split())
        assert "".join(chunk.text for chunk, _ in inner(parts)) == ANSWER
        assert {told["langgraph_node"] for _, told in inner(parts)} == {"speak"}

    def test_without_subgraphs_the_words_come_too(self, graph: Any) -> None:
        told = ask("How many stairs?", case="a theft")
        stream = graph.stream(told, THREAD, stream_mode="messages")
        assert "".join(chunk.text for chunk, _ in stream) == ANSWER

    def test_custom_is_theirs_alone(self, graph: Any) -> None:
        assert self.parts(graph, "custom") == [((), {"filed": "a theft"})]

    def test_debug_tells_of_every_step_and_checkpoint(self, graph: Any) -> None:
        parts = self.parts(graph, "debug")
        kinds = [(part["type"], part["payload"].get("name")) for part in inner(parts)]
        assert [name for kind, name in kinds if kind == "task"] == ["recall", "compose", "speak"]
        assert [name for kind, name in kinds if kind == "task_result"] == ["recall", "compose", "speak"]
        assert ("checkpoint", None) in kinds

    async def test_awaited_streams_are_the_same(self, graph: Any) -> None:
        modes = ["values", "updates", "messages", "custom", "debug"]
        told = ask("How many stairs?", case="a theft")
        stream = graph.astream(told, THREAD, stream_mode=modes, subgraphs=True)
        parts = [part async for part in stream]
        assert {mode for _, mode, _ in parts} == set(modes)
        words = [part[0].text for place, mode, part in parts if mode == "messages" and place]
        assert "".join(words) == ANSWER


# What their calls are told


@dataclass
class Tenant:
    """Their context."""

    name: str
    scene: int = 7


@dataclass(frozen=True, kw_only=True)
class TenantAndRole(RoleContext):
    """Their context, which is ours as well."""

    tenant: str = ""


def test_a_context_of_their_own_is_no_matter_to_the_persona() -> None:
    model = model_of(ANSWER)
    graph = around(role_graph(ADA, model=model, strategy="system"), context_schema=Tenant)
    output = graph.invoke(ask("Hm?", case="x"), context=Tenant("a"))
    assert output["log"] == [f"ada: {ANSWER}"]


def test_a_context_that_is_ours_as_well_reaches_the_persona() -> None:
    model = model_of(ANSWER)
    graph = around(role_graph(ADA, model=model, strategy="system"), context_schema=TenantAndRole)
    graph.invoke(ask("Hm?", case="x"), context=TenantAndRole(tenant="a", scene="It is dark."))
    assert "It is dark." in "\n".join(message.text for message in model.calls[0])


# A supervisor


class Desk(MessagesState):
    """Whom the supervisor sends a caller to."""

    desk: str


def desks(saver: Any = None) -> tuple[Any, dict[str, ScriptedChatModel]]:
    models = {"ada": model_of("Seventeen.", "Eighteen now."), "ben": model_of("Forty herring.")}

    def supervise(state: Desk) -> Command[Any]:
        desk = "ben" if "herring" in state["messages"][-1].text else "ada"
        return Command(goto=desk, update={"desk": desk})

    builder = StateGraph(Desk)
    builder.add_node("supervise", supervise, destinations=("ada", "ben"))
    for persona in (ADA, BEN):
        builder.add_node(persona.id, role_graph(persona, model=models[persona.id], strategy="system"))
        builder.add_edge(persona.id, END)
    builder.add_edge(START, "supervise")
    return builder.compile(checkpointer=saver), models


@SAVERS
def test_a_supervisor_sends_each_line_to_one_of_two_personas(tmp_path: Path, saver: Saver) -> None:
    with saver(tmp_path) as checkpointer:
        graph, models = desks(checkpointer)
        for line in ("How many stairs?", "How many herring?", "And stairs again?"):
            output = graph.invoke(ask(line), THREAD)
    answers = [(one.name, one.text) for one in output["messages"] if isinstance(one, AIMessage)]
    assert answers == [("ada", "Seventeen."), ("ben", "Forty herring."), ("ada", "Eighteen now.")]
    assert output["desk"] == "ada"
    assert (len(models["ada"].calls), len(models["ben"].calls)) == (2, 1)
    assert "Ben catches herring." in models["ben"].calls[0][0].text
    heard = "User: How many stairs?\nAda: Seventeen.\nUser: How many herring?"
    assert models["ben"].calls[0][1].text == heard, "it hears what was said before, and by whom"


def test_both_personas_answer_at_the_same_time() -> None:
    class Votes(TypedDict):
        messages: list[AnyMessage]
        votes: Annotated[list[str], lambda old, new: sorted([*old, *new])]

    def asked(persona: Persona, reply: str) -> Any:
        graph = role_graph(persona, model=model_of(reply), strategy="system")

        async def vote(state: Votes) -> dict[str, Any]:
            output = await graph.ainvoke({"messages": state["messages"]})
            return {"votes": [f"{output['messages'][-1].name}: {output['messages'][-1].text}"]}

        return vote

    builder = StateGraph(Votes)
    for persona, reply in ((ADA, "Yes."), (BEN, "No.")):
        builder.add_node(persona.id, asked(persona, reply))
        builder.add_edge(START, persona.id)
    graph: Any = builder.compile()
    output = asyncio.run(graph.ainvoke({"messages": [("user", "Is it late?")]}))
    assert output["votes"] == ["ada: Yes.", "ben: No."]


# A scene as a node


class Evening(SceneOutput):
    """Their state: a scene's lines, and what only they know of."""

    weather: str
    report: str


class Plain(TypedDict):
    """The same with lines that are simply replaced."""

    lines: list[SceneLine]
    ended: str
    weather: str
    report: str


def evening(
    loaded: LoadedScene, saver: Any, state: Any = Evening, scene: Any = None, **options: Any
) -> Any:
    """Their graph: the weather is looked up, the scene is played, and reported on."""

    def report(state: Any) -> dict[str, Any]:
        return {"report": f"{len(state['lines'])} lines while it was {state['weather']}"}

    builder = StateGraph(state, **{"context_schema": SceneContext, **options})
    builder.add_node("look", lambda state: {"weather": state["weather"].lower()})
    builder.add_node("scene", scene or stage(loaded))
    builder.add_node("report", report)
    builder.add_edge(START, "look")
    builder.add_edge("look", "scene")
    builder.add_edge("scene", "report")
    builder.add_edge("report", END)
    return builder.compile(checkpointer=saver)


def stage(loaded: LoadedScene) -> SceneGraph:
    quiet = ScriptedChatModel(replies=[ModelError("nobody should ask this model")])
    return scene_graph(loaded, model=quiet, models=prattlers(loaded))


def three(**seats: Any) -> LoadedScene:
    """Ada, Ben, who is a person, and Cleo, in turn."""
    return room(seats={"ben": {"person": True}, **seats}, stop=Stop(turns=6))


def waits_for(output: Any) -> Any:
    (asked,) = output["__interrupt__"]
    return asked.value


def who(output: Any) -> list[str]:
    return [line["speaker"] for line in output["lines"]]


@pytest.mark.parametrize("state", [Evening, Plain])
@SAVERS
def test_a_person_in_a_scene_is_asked_through_their_graph(tmp_path: Path, saver: Saver, state: Any) -> None:
    with saver(tmp_path) as checkpointer:
        graph = evening(three(), checkpointer, state)
        asked = graph.invoke({"weather": "FOGGY"}, THREAD)
        assert waits_for(asked) == {"seat": "ben", "why": "Next in the order of the cast."}
        assert graph.get_state(THREAD).next == ("scene",)
        inside = graph.get_state(THREAD, subgraphs=True).tasks[0].state
        assert who(inside.values) == ["ada"]
        again = graph.invoke(Command(resume=line_by("ben", "Good evening.")), THREAD)
        assert who(graph.get_state(THREAD, subgraphs=True).tasks[0].state.values) == [
            *("ada", "ben", "cleo", "ada")
        ]
        assert waits_for(again)["seat"] == "ben"
        output = graph.invoke(Command(resume={"pass": True}), THREAD)
    assert output["ended"] == "It has had its 6 turns."
    assert who(output) == ["ada", "ben", "cleo", "ada", "cleo", "ada"]
    assert output["lines"][1]["text"] == "Good evening."
    assert output["report"] == "6 lines while it was foggy"


@ASYNC_SAVERS
async def test_a_person_is_asked_of_awaited_graphs_too(tmp_path: Path, saver: AsyncSaver) -> None:
    async with saver(tmp_path) as checkpointer:
        graph = evening(three(), checkpointer)
        await graph.ainvoke({"weather": "FOGGY"}, THREAD)
        for text in ("Good evening.", "And good night."):
            output = await graph.ainvoke(Command(resume=line_by("ben", text)), THREAD)
    assert [line["text"] for line in output["lines"] if line["speaker"] == "ben"] == [
        "Good evening.",
        "And good night.",
    ]
    assert output["report"] == "6 lines while it was foggy"


def test_another_process_resumes_with_what_the_person_says(tmp_path: Path) -> None:
    with in_sqlite(tmp_path) as checkpointer:
        asked = evening(three(), checkpointer).invoke({"weather": "FOGGY"}, THREAD)
    with in_sqlite(tmp_path) as checkpointer:
        graph = evening(three(), checkpointer)
        output = graph.invoke(Command(resume=line_by("ben", "Good evening.")), THREAD)
    assert waits_for(asked)["seat"] == waits_for(output)["seat"] == "ben"


def test_what_cannot_be_is_asked_again_and_told_why() -> None:
    graph = evening(three(), InMemorySaver())
    graph.invoke({"weather": "FOGGY"}, THREAD)
    wrong = graph.invoke(Command(resume=line_by("dora", "I am not here.")), THREAD)
    assert "dora" in waits_for(wrong)["why"]
    right = graph.invoke(Command(resume=line_by("ben", "But I am.")), THREAD)
    assert waits_for(right)["why"] == "Next in the order of the cast."


def finished(graph: Any) -> RunnableConfig:
    """Play to the end, Ben greeting and then passing; gives where Ben was asked first, within the scene."""
    graph.invoke({"weather": "FOGGY"}, THREAD)
    waiting: RunnableConfig = graph.get_state(THREAD, subgraphs=True).tasks[0].state.config
    graph.invoke(Command(resume=line_by("ben", "Good evening.")), THREAD)
    assert graph.invoke(Command(resume={"pass": True}), THREAD)["ended"]
    return waiting


@SAVERS
def test_a_checkpoint_within_the_scene_is_resumed_with_other_words(tmp_path: Path, saver: Saver) -> None:
    with saver(tmp_path) as checkpointer:
        graph = evening(three(), checkpointer)
        waiting = finished(graph)
        other = graph.invoke(Command(resume=line_by("ben", "Go away.")), waiting)
        assert waits_for(other)["seat"] == "ben"
        place = {key: waiting["configurable"][key] for key in ("thread_id", "checkpoint_ns")}
        told = graph.get_state({"configurable": place}).values
    assert (who(told), told["lines"][1]["text"]) == (["ada", "ben", "cleo", "ada"], "Go away.")


@SAVERS
def test_from_before_the_scene_it_is_played_anew_and_gone_on_with(tmp_path: Path, saver: Saver) -> None:
    with saver(tmp_path) as checkpointer:
        graph = evening(three(), checkpointer)
        finished(graph)
        (before,) = [state for state in graph.get_state_history(THREAD) if state.next == ("look",)]
        sunny = graph.update_state(before.config, {"weather": "SUNNY"})
        assert waits_for(graph.invoke(None, sunny))["seat"] == "ben"
        for text in ("Go away.", "I mean it."):
            output = graph.invoke(Command(resume=line_by("ben", text)), THREAD)
        ends = [state.values["report"] for state in graph.get_state_history(THREAD) if not state.next]
    assert [line["text"] for line in output["lines"]][1::3] == ["Go away.", "I mean it."]
    assert ends == ["6 lines while it was sunny", "6 lines while it was foggy"]


@pytest.mark.parametrize("state", [Evening, Plain])
def test_a_second_call_goes_on_and_no_line_stands_twice(state: Any) -> None:
    graph = evening(room(stop=Stop(turns=6)), InMemorySaver(), state)
    for turns in (2, 4, 6):
        output = graph.invoke({"weather": "CLEAR"}, THREAD, context=SceneContext(turns=2))
        assert len({line["id"] for line in output["lines"]}) == len(output["lines"]) == turns
    assert output["ended"] == "It has had its 6 turns."


@pytest.mark.parametrize("context", [Tenant("a"), None])
def test_a_context_of_their_own_is_no_matter_to_the_scene(context: Tenant | None) -> None:
    graph = evening(room(stop=Stop(turns=3)), None, context_schema=Tenant)
    assert who(graph.invoke({"weather": "CLEAR"}, context=context)) == ["ada", "ben", "cleo"]


class TestSceneStreams:
    @pytest.fixture
    def graph(self) -> Any:
        return evening(three(), InMemorySaver())

    def parts(self, graph: Any, mode: str) -> list[tuple[tuple[str, ...], Any]]:
        """From the person's words to the next time they are asked."""
        graph.invoke({"weather": "FOGGY"}, THREAD)
        return streamed(graph, mode, Command(resume=line_by("ben", "Well?")), config=THREAD)

    def test_words_come_from_the_speakers_graphs_within_the_scene(self, graph: Any) -> None:
        parts = self.parts(graph, "messages")
        assert {tuple(part.partition(":")[0] for part in place) for place, _ in parts} == {
            ("scene", "speak")
        }
        words = "".join(chunk.text for _, (chunk, _told) in parts)
        told = graph.get_state(THREAD, subgraphs=True).tasks[0].state.values["lines"]
        assert words == "".join(line["text"] for line in told[2:])

    def test_updates_tell_each_line_and_who_is_asked(self, graph: Any) -> None:
        parts = self.parts(graph, "updates")
        lines = [
            update["witness"]["lines"][0]["speaker"]
            for place, update in parts
            if len(place) == 1 and "witness" in update
        ]
        assert lines == ["ben", "cleo", "ada"]
        (asked,) = (update["__interrupt__"] for update in outer(parts) if "__interrupt__" in update)
        assert asked[0].value["seat"] == "ben"

    def test_values_hold_all_lines_so_far(self, graph: Any) -> None:
        counts = [len(value["lines"]) for place, value in self.parts(graph, "values") if len(place) == 1]
        assert counts[0] == 1
        assert counts[-1] == 4
        assert counts == sorted(counts)

    def test_custom_is_empty(self, graph: Any) -> None:
        assert self.parts(graph, "custom") == []

    def test_debug_tells_of_every_node(self, graph: Any) -> None:
        parts = [part for place, part in self.parts(graph, "debug") if len(place) == 1]
        tasks = [part["payload"]["name"] for part in parts if part["type"] == "task"]
        assert tasks[:5] == ["person", "witness", "narrate", "events", "direct"]


# A scene that is called by a node


def test_a_node_can_call_a_scene_and_its_people_are_asked_all_the_same() -> None:
    scene = stage(three())

    def play(state: Any) -> dict[str, Any]:
        output = scene.invoke({"lines": []})
        return {"lines": output["lines"], "ended": output["ended"]}

    graph = evening(three(), InMemorySaver(), scene=play)
    assert waits_for(graph.invoke({"weather": "FOGGY"}, THREAD))["seat"] == "ben"
    graph.invoke(Command(resume=line_by("ben", "Good evening.")), THREAD)
    output = graph.invoke(Command(resume=line_by("ben", "And good night.")), THREAD)
    assert [line["text"] for line in output["lines"]][1::3] == ["Good evening.", "And good night."]
    assert len(output["lines"]) == 6


def test_people_of_two_scenes_are_asked_at_once_and_answered_each() -> None:
    class Theatre(TypedDict, total=False):
        left: list[SceneLine]
        right: list[SceneLine]

    def played(place: str) -> Any:
        scene = stage(three())

        def play(state: Theatre) -> dict[str, Any]:
            return {place: scene.invoke({"lines": []}, context=SceneContext(turns=3))["lines"]}

        return play

    builder = StateGraph(Theatre)
    for place in ("left", "right"):
        builder.add_node(f"play {place}", played(place))
        builder.add_edge(START, f"play {place}")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    first, second = graph.invoke({}, THREAD)["__interrupt__"]
    answers = {first.id: line_by("ben", "One."), second.id: line_by("ben", "Two.")}
    output = graph.invoke(Command(resume=answers), THREAD)
    assert {output["left"][1]["text"], output["right"][1]["text"]} == {"One.", "Two."}
    assert {len(output["left"]), len(output["right"])} == {3}


# How lines are put together


def line(number: int, text: str = "") -> SceneLine:
    return SceneLine(
        id=f"line-{number}", speaker="ada", kind="say", audience=["ada"], text=text, made_by={}
    )


LINES = st.lists(st.text("ab", max_size=2), max_size=5).map(
    lambda texts: [line(number, text) for number, text in enumerate(texts, 1)]
)


@given(LINES, LINES)
def test_lines_that_follow_stand_behind_and_a_whole_scene_stands_once(
    lines: list[SceneLine], more: list[SceneLine]
) -> None:
    new = [line(len(lines) + 1 + place, one["text"]) for place, one in enumerate(more)]
    assert merge_lines(lines, new) == [*lines, *new]
    assert merge_lines(lines, [*lines, *new]) == [*lines, *new]
    assert merge_lines([], new) == new
    assert merge_lines(lines, []) == lines
