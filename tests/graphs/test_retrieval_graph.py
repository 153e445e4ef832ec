"""The strategy `retrieval` from the user's line to what the model is sent and what is kept of it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.broken_servers import not_listening
from helpers.passages import pieces
from helpers.recording_embeddings import RecordingEmbeddings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import MessagesState

from rolellm_agents.cards import Lorebook, LoreEntry
from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.message_marks import RECALL_MARK
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.recall import RecallOptions, recaller
from rolellm_agents.recall.embeddings import NamedEmbeddings
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs import MessageDone, Recalled, Session, TurnFailed, role_graph

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada counts everything.",
    catchphrases=("Let us count.",),
    demonstrations=(
        Demonstration(user="How many stairs?", reply="Seventeen."),
        Demonstration(user="How many hives of bees?", reply="Three, and they hum."),
    ),
    knowledge=(
        Knowledge(title="The flood", text="I saved the hives from the flood.", place="chapter 3"),
        Knowledge(title="My brother", text="He sails to Genoa."),
    ),
)
MONKEY = Persona(
    id="wu",
    name="悟空",
    language="zh",
    description="他是猴王。",
    demonstrations=(Demonstration(user="你师父是谁？", reply="唐僧。"),),
    knowledge=(Knowledge(title="紧箍咒", text="师父一念咒，俺就头疼。"),),
)
HISTORY: tuple[BaseMessage, ...] = (HumanMessage("Hello."), AIMessage("Good day!"))
FLOOD = "The flood\nI saved the hives from the flood."
BEES = "Did the bees survive in their hives, Ada?"


def scripted(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies) or ["Well."])


def said(*messages: str | BaseMessage) -> MessagesState:
    return MessagesState(messages=[HumanMessage(one) if isinstance(one, str) else one for one in messages])  # type: ignore[misc]


def sent(messages: list[BaseMessage]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(message.type, message.text, message.additional_kwargs) for message in messages]


async def ask(
    line: str,
    *,
    persona: Persona = ADA,
    strategy: str = "retrieval",
    is_async: bool = False,
    **options: Any,
) -> tuple[list[tuple[str, str, dict[str, Any]]], dict[str, Any]]:
    """The prompt that the model is sent, and what the graph gives back."""
    model = scripted()
    graph = role_graph(persona, model=model, strategy=strategy, **options)
    state = said(*HISTORY, line)
    result = await graph.ainvoke(state) if is_async else graph.invoke(state)
    (prompt,) = model.calls
    return sent(prompt), dict(result)


BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


# What the model is sent


@BOTH
async def test_what_is_recalled_stands_right_before_the_line_and_nowhere_else(is_async: bool) -> None:
    prompt, _ = await ask(BEES, is_async=is_async)
    plain, _ = await ask(BEES, strategy="system", is_async=is_async)
    (recalled,) = [message for message in prompt if message not in plain]
    assert [message for message in prompt if message in plain] == plain
    assert prompt.index(recalled) == len(prompt) - 2
    assert recalled == (
        "system",
        "What comes back to Ada:\n"
        "- Asked “How many hives of bees?”, Ada said: “Three, and they hum.”\n"
        f"- {FLOOD}",
        {RECALL_MARK: True},
    )
    assert prompt[-1] == ("human", BEES, {})
    assert prompt[0] == plain[0]


@BOTH
@pytest.mark.parametrize(
    "line", ["Zebrafish?", "Ada?", "How do you do?", "…", "What is it that you would?"]
)
async def test_when_nothing_is_near_the_prompt_is_that_of_system(line: str, is_async: bool) -> None:
    prompt, result = await ask(line, is_async=is_async)
    assert result["recalled"] == []
    assert prompt == (await ask(line, strategy="system"))[0]


async def test_chinese_is_told_in_chinese() -> None:
    prompt, _ = await ask("师父念紧箍咒吗？", persona=MONKEY)
    assert prompt[-2][1] == (
        "悟空想起了：\n- 有人问“你师父是谁？”，悟空说：“唐僧。”\n- 紧箍咒\n师父一念咒，俺就头疼。"
    )


async def test_of_each_kind_the_nearest_stands_last() -> None:
    prompt, result = await ask(BEES, recall=RecallOptions(floor=0.0))
    lines = [line for line in prompt[-2][1].splitlines() if line.startswith("- ")]
    by_rank = result["recalled"]
    pairs = [ADA.demonstrations[item["index"]].user for item in by_rank if item["kind"] == "demonstration"]
    known = [item["text"].splitlines()[0] for item in by_rank if item["kind"] == "passage"]
    assert (pairs[0], known[0]) == ("How many hives of bees?", "The flood")
    assert [line.partition("”")[0] for line in lines] == [
        *(f"- Asked “{pair}" for pair in reversed(pairs)),
        *(f"- {title}" for title in reversed(known)),
    ]


async def test_the_options_say_how_much_and_how_near() -> None:
    assert len((await ask(BEES, recall=RecallOptions(k=1)))[1]["recalled"]) == 1
    assert (await ask(BEES, recall=RecallOptions(k=0)))[1]["recalled"] == []
    assert (await ask(BEES, recall=RecallOptions(tokens=0)))[1]["recalled"] == []
    everything = RecallOptions(floor=0.0)
    assert len((await ask("Zebrafish?", recall=everything))[1]["recalled"]) == 4
    by_words = (await ask(BEES, recall=RecallOptions(method="bm25")))[1]["recalled"]
    assert all(item["why"].startswith("shares “") and "cosine" not in item["why"] for item in by_words)
    by_vectors = (await ask(BEES, recall=RecallOptions(method="chroma")))[1]["recalled"]
    assert all(item["why"].startswith("cosine 0.") for item in by_vectors)
    with pytest.raises(ModelError, match="did you mean lexical"):
        await ask(BEES, recall=RecallOptions(embeddings="lexcal"))


async def test_the_few_shot_strategies_may_look_up_by_vectors_too() -> None:
    options = RecallOptions(method="chroma")
    _, result = await ask(BEES, strategy="few-shot-dialogue", recall=options)
    assert [item["index"] for item in result["recalled"]] == [1, 0]
    assert result["recalled"][0]["why"].startswith("cosine 0.")


async def test_memories_may_be_given_to_the_graph_itself() -> None:
    memories = pieces("You: My cat is called Marmalade.\nAda: A fine name.", kind="memory", source="June")
    prompt, result = await ask("What is my cat called?", strategy="system", memories=memories)
    assert [(item["of"], item["source"]) for item in result["recalled"]] == [("memory", "June")]
    assert prompt[-2][1] == f"What comes back to Ada:\n- {memories[0].text}"


# Lore


MILL = LoreEntry(uid="1", content="The mill burnt down.", keys=("mill",), name="Mill")
HONEY = LoreEntry(uid="2", content="Honey of the valley is dark.", keys=("comb",), name="Honey")


async def test_lore_that_no_key_brings_up_is_recalled_by_what_it_says() -> None:
    book = Lorebook(entries=(MILL, HONEY), name="Valley")
    prompt, result = await ask("Is honey dark?", lorebooks=[book])
    (item,) = result["recalled"]
    assert (item["kind"], item["of"], item["source"]) == ("passage", "lore", "lore of Valley, Honey")
    assert prompt[-2][1] == "What comes back to Ada:\n- Honey of the valley is dark."


async def test_lore_that_a_key_brings_up_stands_in_its_own_place_once() -> None:
    book = Lorebook(entries=(MILL, HONEY), name="Valley")
    prompt, result = await ask("Is honey dark in the comb?", lorebooks=[book])
    assert [item["kind"] for item in result["recalled"]] == ["lore"]
    assert "".join(text for _, text, _ in prompt).count("Honey of the valley is dark.") == 1
    assert "Honey of the valley is dark." in prompt[0][1]


# What the graph gives back


@BOTH
async def test_what_was_recalled_are_plain_json_values_with_the_reason(is_async: bool) -> None:
    _, result = await ask(BEES, is_async=is_async)
    items = result["recalled"]
    assert json.loads(json.dumps(items)) == items
    assert {item["kind"]: set(item) for item in items} == {
        "demonstration": {"kind", "index", "score", "why"},
        "passage": {"kind", "of", "text", "source", "score", "why"},
    }
    assert all("shares “" in item["why"] and "cosine 0." in item["why"] for item in items)
    assert {item.get("source") for item in items} == {None, "ada, knowledge 1 (chapter 3)"}


async def test_async_callers_are_not_held_up_while_vectors_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, may_go_on = threading.Event(), threading.Event()

    class Waiting(RecordingEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            asked.set()
            assert may_go_on.wait(60), "nobody could let it go on: the event loop is held up"
            return super().embed_query(text)

    def waiting(_: str) -> NamedEmbeddings:
        return Waiting().named()

    monkeypatch.setattr(recaller, "get_embeddings", waiting)
    turn = asyncio.create_task(ask(BEES, is_async=True))
    assert await asyncio.to_thread(asked.wait, 60)
    may_go_on.set()
    _, result = await turn
    assert len(result["recalled"]) == 2


# What a session keeps


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with Transcript(tmp_path / "transcript.db") as opened:
        yield opened


async def test_the_transcript_tells_what_was_recalled_and_why_but_not_the_words(
    transcript: Transcript,
) -> None:
    session = Session(ADA, transcript, model=scripted(), strategy="retrieval")
    events = [event async for event in session.send(BEES)]
    (told,) = [event for event in events if isinstance(event, Recalled)]
    done = events[-1]
    assert isinstance(done, MessageDone)
    kept = transcript.message(done.message.id).made_by["recalled"]
    assert kept == [{key: value for key, value in item.items() if key != "text"} for item in told.items]
    assert {item["kind"] for item in kept} == {"demonstration", "passage"}
    for item in kept:
        assert item["why"]
        assert (item["kind"] == "passage") == (item.get("source") == "ada, knowledge 1 (chapter 3)")
    assert "saved the hives" not in json.dumps(kept)

    again = [event async for event in session.send("Zebrafish?")][-1]
    assert isinstance(again, MessageDone)
    assert "recalled" not in again.message.made_by


async def test_while_the_server_is_away_the_line_is_kept_and_answered_when_it_need_not_be_asked(
    transcript: Transcript,
) -> None:
    with not_listening() as url:
        place = url.removesuffix("/v1")
        away = RecallOptions(chroma_url=place)
        session = Session(ADA, transcript, model=scripted(), strategy="retrieval", recall=away)
        failed = [event async for event in session.send(BEES)][-1]
        assert isinstance(failed, TurnFailed)
        assert isinstance(failed.error, StorageError)
        assert str(failed.error).startswith(f"The Chroma server at {place} cannot be used (")
        assert failed.message is None
        graph = role_graph(ADA, model=scripted(), strategy="retrieval", recall=away)
        for _ in range(2):
            with pytest.raises(StorageError, match="cannot be used"):
                graph.invoke(said(BEES))
    assert session.conversation is not None
    (line,) = transcript.path(session.conversation)
    assert (line.speaker, line.text, line.status) == (USER, BEES, "complete")
    assert [message.text for message in session.messages] == [BEES]
    assert not session.answering

    by_words = RecallOptions(method="bm25", chroma_url=place)
    back = Session(
        ADA,
        transcript,
        model=scripted(),
        strategy="retrieval",
        conversation=session.conversation,
        recall=by_words,
    )
    answered = [event async for event in back.regenerate()][-1]
    assert isinstance(answered, MessageDone)
    assert len(answered.message.made_by["recalled"]) == 2
