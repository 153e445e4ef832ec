"""A conversation that is longer than a server's context goes on."""

import asyncio
import itertools
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from helpers.broken_servers import LoopbackServer, serving_up_to, tokens_sent
from helpers.long_conversation import long_record
from helpers.texts import is_one_sentence
from langchain_core.messages import BaseMessage

from rolellm_agents.errors import MessageError, ModelError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Persona
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import Event, MessageDone, Prompted, Recalled, TurnFailed

LIMIT = 8_192
PERSONA = Persona.model_validate({"id": "ada", "name": "Ada", "description": "You keep the light."})


def as_openai(limit: int, size: int) -> str:
    return (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {size} "
        "tokens. Please reduce the length of the messages."
    )


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript() as opened:
        yield opened


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving_up_to(LIMIT, refusal=as_openai, reply=lambda _: "No boat tonight.") as started:
        yield started


def session_at(url: str, transcript: Transcript, messages: int = 4_000) -> Session:
    conversation = transcript.add_record(long_record(messages))
    model = get_model("openai:some-model", base_url=url)
    return Session(PERSONA, transcript, model=model, conversation=conversation)


async def turn(session: Session, line: str) -> list[Event]:
    return [event async for event in session.send(line)]


def texts(body: Mapping[str, Any]) -> list[str]:
    return [message["content"] for message in body["messages"]]


def is_prefix(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    return list(longer[: len(shorter)]) == list(shorter)


async def test_a_chat_past_the_limit_goes_on(server: LoopbackServer, transcript: Transcript) -> None:
    session = session_at(server.url, transcript)
    events = await turn(session, "When does the boat leave?")
    assert isinstance(events[-1], MessageDone)
    assert session.messages[-1].text == "No boat tonight."
    assert len(server.refused) == 1
    (sent,) = server.requests
    assert LIMIT // 2 < tokens_sent(sent) < LIMIT
    assert sent["messages"][0]["role"] == "system"
    assert texts(sent)[-1] == "When does the boat leave?"
    assert sent["messages"][1]["role"] == "user"


async def test_the_limit_is_kept_for_later_turns_and_prompts_grow_at_their_end(
    server: LoopbackServer, transcript: Transcript
) -> None:
    session = session_at(server.url, transcript)
    for number in range(30):
        await turn(session, f"Line {number}: " + "is there a boat? " * (1 + number % 7))
    assert len(server.refused) == 1
    prompts = [texts(body) for body in server.requests]
    assert all(tokens_sent(body) < LIMIT for body in server.requests)
    # Each prompt but for its last line begins the next one; few turns drop a step.
    new = sum(not is_prefix(before, after) for before, after in itertools.pairwise(prompts))
    assert new <= 2


async def test_the_inspector_gets_the_prompt_that_was_answered(
    server: LoopbackServer, transcript: Transcript
) -> None:
    session = session_at(server.url, transcript, messages=400)
    events = await turn(session, "When does the boat leave?")
    prompted = [event for event in events if isinstance(event, Prompted)]
    assert [part.text for part in prompted[-1].parts] == texts(server.requests[0])
    assert len(prompted) == 2


async def test_a_stated_context_needs_no_refusal(server: LoopbackServer, transcript: Transcript) -> None:
    conversation = transcript.add_record(long_record(400))
    model = get_model("openai:some-model", base_url=server.url, context=LIMIT)
    session = Session(PERSONA, transcript, model=model, conversation=conversation)
    await turn(session, "When does the boat leave?")
    assert session.context_size == LIMIT
    assert not server.refused
    assert tokens_sent(server.requests[0]) < LIMIT


@pytest.mark.parametrize(
    "words",
    ["the input length exceeds the context length", "This model's maximum context length is 8192 tokens"],
)
async def test_a_refusal_that_says_little_is_enough(words: str, transcript: Transcript) -> None:
    with serving_up_to(LIMIT, refusal=lambda *_: words, reply=lambda _: "No boat tonight.") as server:
        session = session_at(server.url, transcript, messages=1_000)
        await turn(session, "When does the boat leave?")
        assert session.messages[-1].text == "No boat tonight."
        await turn(session, "And the next?")
        assert len(server.requests) == 2


async def test_what_fits_is_sent_whole(server: LoopbackServer, transcript: Transcript) -> None:
    session = session_at(server.url, transcript, messages=20)
    await turn(session, "When does the boat leave?")
    assert not server.refused
    assert len(server.requests[0]["messages"]) == 22


# Summaries


def summarizing(messages: list[dict[str, Any]]) -> str:
    """A model that summarizes when it is asked to, and names the last message that it was shown."""
    if len(messages) == 1 and messages[0]["content"].startswith("Below is what"):
        shown = re.findall(r"(?:Question|Answer) \d+", messages[0]["content"])
        return f"You kept the light until {['the end', *shown][-1]}."
    return "No boat tonight."


@pytest.fixture
def summarizer() -> Iterator[LoopbackServer]:
    with serving_up_to(LIMIT, refusal=as_openai, reply=summarizing) as started:
        yield started


def chat_prompts(server: LoopbackServer) -> list[list[str]]:
    return [texts(body) for body in server.requests if len(body["messages"]) > 1]


async def test_what_does_not_fit_is_summarized(summarizer: LoopbackServer, transcript: Transcript) -> None:
    session = session_at(summarizer.url, transcript)
    assert not await session.summarize()  # nothing is known of the context
    await turn(session, "When does the boat leave?")
    assert await session.summarize()

    summary = session.summary
    assert summary is not None
    assert summary.covers > 3_900
    assert session.messages[summary.covers - 1].id == summary.message
    assert session.messages[summary.covers].speaker == USER
    assert all(tokens_sent(body) < LIMIT for body in summarizer.requests)
    assert len(summarizer.refused) == 1

    await turn(session, "And the next?")
    assert (
        "What Ada remembers of before: You kept the light until Answer" in chat_prompts(summarizer)[-1][0]
    )
    said = [one["content"] for one in summarizer.requests[-1]["messages"] if one["role"] != "system"]
    assert said == [message.text for message in session.messages[summary.covers : -1]]


async def test_prompts_grow_at_their_end_between_two_summaries(
    summarizer: LoopbackServer, transcript: Transcript
) -> None:
    conversation = transcript.add_record(long_record(60))
    model = get_model("openai:some-model", base_url=summarizer.url, context=LIMIT)
    session = Session(PERSONA, transcript, model=model, conversation=conversation)
    reaches = [0]
    for number in range(70):
        await turn(session, f"Line {number}: " + "is there a boat? " * (1 + number % 60))
        await session.summarize()
        reaches.append(session.summary.covers if session.summary else 0)
    # What is recalled stands before the last line, and in the prompt of its turn alone.
    prompts = [
        [
            one["content"]
            for place, one in enumerate(body["messages"])
            if not place or one["role"] != "system"
        ]
        for body in summarizer.requests
        if len(body["messages"]) > 1
    ]
    new = [not is_prefix(*pair) for pair in itertools.pairwise(prompts)]
    summaries = [after != before for before, after in itertools.pairwise(reaches)]
    assert 2 <= sum(summaries) <= 8
    assert new == summaries[:-1]  # the last one is for a turn that did not come
    assert not summarizer.refused


async def test_a_summary_counts_on_branches_that_hold_its_message(
    summarizer: LoopbackServer, transcript: Transcript
) -> None:
    session = session_at(summarizer.url, transcript, messages=200)
    await turn(session, "When does the boat leave?")
    await session.summarize()
    summary = session.summary
    assert summary is not None
    session.branch(session.messages[summary.covers - 2].id)
    earlier = session.summary
    assert earlier is not None  # it took two requests to summarize so much
    assert earlier.covers < summary.covers
    session.branch(session.messages[earlier.covers - 2].id)
    gone = session.summary
    assert gone is None
    session.go_to_branch("main")
    assert session.summary == summary
    assert session.conversation is not None
    again = Session(PERSONA, transcript, model=session.model, conversation=session.conversation)
    assert again.summary == summary


async def test_a_summary_can_be_edited_and_removed(
    summarizer: LoopbackServer, transcript: Transcript
) -> None:
    session = session_at(summarizer.url, transcript, messages=200)
    with pytest.raises(MessageError, match="There is no summary"):
        session.edit_summary("I remember.")
    await turn(session, "When does the boat leave?")
    await session.summarize()
    session.edit_summary("You lost the ring.")
    await turn(session, "And the next?")
    assert "What Ada remembers of before: You lost the ring." in chat_prompts(summarizer)[-1][0]
    while session.summary:
        session.edit_summary("")
    await turn(session, "And the one after?")
    assert "remembers of before" not in chat_prompts(summarizer)[-1][0]


@pytest.mark.parametrize("words", ["", " \n"])
async def test_a_model_that_cannot_summarize_is_told_once(words: str, transcript: Transcript) -> None:
    def reply(messages: list[dict[str, Any]]) -> str:
        return words if len(messages) == 1 else "No boat tonight."

    with serving_up_to(LIMIT, refusal=as_openai, reply=reply) as server:
        session = session_at(server.url, transcript, messages=200)
        await turn(session, "When does the boat leave?")
        with pytest.raises(ModelError, match="the chat goes on without a summary") as told:
            await session.summarize()
        assert is_one_sentence(str(told.value))
        asked = len(server.requests)
        assert not await session.summarize()
        assert len(server.requests) == asked
        await turn(session, "And the next?")
        assert session.messages[-1].text == "No boat tonight."


async def test_an_answer_stops_the_summary_and_the_next_call_goes_on(transcript: Transcript) -> None:
    conversation = transcript.add_record(long_record(200))
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def reply(messages: list[BaseMessage]) -> str:
        if len(messages) == 1 and not go_on.is_set():
            loop.call_soon_threadsafe(begun.set)
            go_on.wait(60)
        return "You kept the light."

    model = FunctionModel(function=reply, n_ctx=LIMIT)
    session = Session(PERSONA, transcript, model=model, conversation=conversation)
    work = asyncio.create_task(session.summarize())
    await begun.wait()
    events = session.send("When does the boat leave?")
    async for event in events:
        go_on.set()
        assert not isinstance(event, TurnFailed)
    assert not await work
    gone = session.summary
    assert gone is None
    assert await session.summarize()


async def test_a_short_conversation_is_not_summarized(
    summarizer: LoopbackServer, transcript: Transcript
) -> None:
    conversation = transcript.add_record(long_record(20))
    model = get_model("openai:some-model", base_url=summarizer.url, context=LIMIT)
    session = Session(PERSONA, transcript, model=model, conversation=conversation)
    await turn(session, "When does the boat leave?")
    assert not await session.summarize()
    assert len(summarizer.requests) == 1


async def test_what_fell_out_is_recalled_by_its_words(
    summarizer: LoopbackServer, transcript: Transcript
) -> None:
    conversation = transcript.create_conversation("ada")
    last = None
    for place in range(160):
        words = "The ring is under the third stair." if place == 3 else "the boat waits in the rain " * 10
        speaker = "ada" if place % 2 else USER
        last = transcript.append(conversation, last, speaker=speaker, audience=(USER, "ada"), text=words).id
    model = get_model("openai:some-model", base_url=summarizer.url, context=LIMIT)
    session = Session(PERSONA, transcript, model=model, conversation=conversation)
    await turn(session, "When does the boat leave?")
    await session.summarize()

    events = await turn(session, "Which stair hides my ring?")
    (recalled,) = (event for event in events if isinstance(event, Recalled))
    assert [item["source"] for item in recalled.items if item["kind"] == "passage"] == [
        "earlier in this conversation"
    ]
    assert "The ring is under the third stair." in texts(summarizer.requests[-1])[-2]
    assert texts(summarizer.requests[-1])[-1] == "Which stair hides my ring?"
    await turn(session, "Xylophones?")
    assert "third stair" not in texts(summarizer.requests[-1])[-2]
