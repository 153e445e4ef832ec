"""Nothing blocks the event loop: the graphs' async paths run under blockbuster, as in `langgraph dev`."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.cards import book, entry, v2
from helpers.scenes import prattlers, room
from langchain_core.messages import HumanMessage
from langgraph.graph import MessagesState
from langgraph.store.memory import InMemoryStore

from rolellm_agents.cards import Card
from rolellm_agents.generation.characters import read_character
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import persona_of
from rolellm_agents.prompting.prompts import load_prompt, load_prompts
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.recall import Hit, RecallOptions
from rolellm_agents.recall.bm25 import Bm25Index
from rolellm_agents.text import words
from rolellm_graphs import RoleChatModel, RoleContext, SceneContext, profile_graph, role_graph, scene_graph
from rolellm_graphs.generate.context_instruct import character_graph, pass_state
from rolellm_graphs.generate.rolegpt import RowState, persona_answer_graph
from rolellm_graphs.runs.items import PlannedItem, Unrecorded

blockbuster = pytest.importorskip("blockbuster", reason="langgraph-api brings blockbuster")

_NOT_BLOCKING = ("os.stat", "os.listdir", "os.remove", "threading.Lock.acquire")
"""Calls that LangGraph's server allows in its event loop, too."""
LINE = "How many bees are there?"
KEEPER = persona_of(Card(v2(character_book=book(entry(comment="Lamp")))), "keeper")


@pytest.fixture(autouse=True)
def cold() -> None:
    """Nothing that earlier tests have read is at hand."""
    load_prompt.cache_clear()
    load_prompts.cache_clear()
    words._counts.cache_clear()


@contextmanager
def watched() -> Iterator[None]:
    """Within it, a blocking call in an event loop raises a `BlockingError`.

    Building a graph may read files, so the tests build their graphs before.
    """
    guard = blockbuster.BlockBuster(excluded_modules=[])
    for name in [*guard.functions]:
        if name in _NOT_BLOCKING or name.startswith("os.path."):
            del guard.functions[name]
    guard.activate()
    try:
        yield
    finally:
        guard.deactivate()


def said(line: str = LINE) -> MessagesState:
    return MessagesState(messages=[HumanMessage(line)])


def scripted(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies))


async def test_the_guard_sees_a_blocking_call(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with watched(), pytest.raises(blockbuster.BlockingError):
        file.read_text()


@pytest.mark.parametrize("strategy", list(STRATEGIES))
@pytest.mark.parametrize("method", ["bm25", "hybrid"])
async def test_a_persona_answers(holmes: Persona, strategy: str, method: str) -> None:
    recall = RecallOptions(method=method)
    graph = role_graph(holmes, model=scripted("Elementary."), strategy=strategy, recall=recall)
    chat = RoleChatModel(holmes, model=scripted("Elementary."), strategy=strategy, recall=recall)
    with watched():
        for _ in range(2):
            assert (await graph.ainvoke(said()))["messages"][-1].text == "Elementary."
        assert (await chat.ainvoke(LINE)).text == "Elementary."
        assert "".join([chunk.text async for chunk in chat.astream(LINE)]) == "Elementary."


async def test_a_persona_with_a_lorebook_answers() -> None:
    graph = role_graph(KEEPER, model=scripted("Mind the lamp."), strategy="retrieval")
    with watched():
        assert (await graph.ainvoke(said("The lamp!")))["recalled"]


async def test_a_persona_that_a_call_chooses_answers(holmes: Persona) -> None:
    graph = role_graph(holmes, model=scripted("Elementary."), store=InMemoryStore())
    context = RoleContext(persona="shrek", model="scripted:Get out.", strategy="retrieval", user="Fiona")
    with watched():
        answer = (await graph.ainvoke(said(), context=context))["messages"][-1]
        assert (answer.name, answer.text) == ("shrek", "Get out.")
        configured: Any = {"configurable": {"persona": "jack-sparrow", "model": "scripted:Rum."}}
        answer = (await graph.ainvoke(said(), configured))["messages"][-1]
        assert (answer.name, answer.text) == ("jack-sparrow", "Rum.")


async def test_a_persona_remembers_a_user(holmes: Persona) -> None:
    graph = role_graph(holmes, model=scripted("Elementary."), store=InMemoryStore())
    with watched():
        await graph.ainvoke(said("Who took the silver candlestick?"))
        again = await graph.ainvoke(said("The candlestick?"))
    assert [item for item in again["recalled"] if item["kind"] == "passage"]


async def test_a_chinese_persona_answers() -> None:
    persona = Persona(id="mu", name="木兰", description="从军。", language="zh")
    graph = role_graph(persona, model=scripted("好。"), strategy="retrieval")
    with watched():
        assert (await graph.ainvoke(said("你好吗？")))["messages"][-1].text == "好。"


@pytest.mark.parametrize("director", ["round-robin", "model", "bidding"])
async def test_a_scene_is_played(director: Any) -> None:
    loaded = room(director=director)
    graph = scene_graph(loaded, models=prattlers(loaded), model=scripted("Ada."), strategy="retrieval")
    with watched():
        played = await graph.ainvoke({}, context=SceneContext(turns=3))
    assert len(played["lines"]) >= 3


async def test_a_profile_is_made(tmp_path: Path) -> None:
    script = tmp_path / "lamp.txt"
    note = {"kind": "knowledge", "title": "Home", "text": "I have kept the lamp alone here.", "line": 2}
    model = scripted(json.dumps({"notes": [note], "description": "Ada keeps a lamp and trusts nobody."}))
    script.write_text(
        "The Lamp\n\nSCENE 1\n\nBEN. Who keeps the lamp?\nADA. I do, upon my oath, these eleven years.\n"
        "BEN. Then let me in.\nADA. Wipe your feet, upon my oath, and sit by the stove.\n",
    )
    request: Any = {"request": {"script": str(script), "role": "Ada"}}
    with watched():
        made = await profile_graph(model=model).ainvoke(request)
    assert made["persona"]["id"] == "ada"


async def test_questions_are_asked_and_answered(holmes: Persona) -> None:
    question = {"question": "Why the pipe?", "line": 1, "reason": "Told.", "confidence": "high"}
    maker = Unrecorded(scripted(json.dumps({"questions": [question]}), "It helps me think."))
    character = read_character(holmes, script=None, most=300)
    for guided in (False, True):
        graph = character_graph(character, maker, questions=1, guided=guided, model_name="m")
        with watched():
            made = await graph.ainvoke(pass_state(character, 0, first=0, most=1))
        assert made["answers"]


@pytest.mark.parametrize("strategy", ["zero-shot", "few-shot-prompt", "few-shot-dialogue"])
async def test_an_instruction_is_answered(holmes: Persona, strategy: str) -> None:
    graph = persona_answer_graph(holmes, strategy, Unrecorded(scripted("Tea.")), model_name="m")
    wanted = [PlannedItem(number=0, key="0")]
    with watched():
        made = await graph.ainvoke(RowState(instruction="Name a drink.", wanted=wanted, answers=[]))
    assert [one["answer"] for one in made["answers"]] == ["Tea."]


async def test_only_the_first_short_lookup_goes_to_a_thread(
    holmes: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[bool] = []
    search = Bm25Index.search

    def noted(*args: Any) -> list[Hit]:
        threads.append(threading.current_thread() is threading.main_thread())
        return search(*args)

    monkeypatch.setattr(Bm25Index, "search", noted)
    graph = role_graph(holmes, model=scripted("Elementary."), strategy="few-shot-dialogue")
    for _ in range(3):
        await graph.ainvoke(said())
    assert threads == [False, True, True]
