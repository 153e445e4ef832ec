"""A conversation that is longer than a server's context goes on."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from helpers.broken_servers import LoopbackServer, serving_up_to, tokens_sent

from rolellm_agents.models.catalog import get_model
from rolellm_agents.persona import Persona
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER, ConversationRecord
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import Event, MessageDone, Prompted

LIMIT = 8_192
PERSONA = Persona.model_validate({"id": "ada", "name": "Ada", "description": "You keep the light."})


def as_openai(limit: int, size: int) -> str:
    return (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {size} "
        "tokens. Please reduce the length of the messages."
    )


def long_record(messages: int) -> ConversationRecord:
    """A conversation of `messages` messages of about 300 characters."""

    def message(place: int) -> Message:
        by_user = place % 2 == 0
        words = f"{'Question' if by_user else 'Answer'} {place}: " + "the boat waits in the rain. " * 10
        return Message(
            id=str(place),
            conversation="c",
            parent=str(place - 1) if place else None,
            speaker=USER if by_user else "ada",
            audience=(USER, "ada"),
            kind="say",
            text=words,
            status="complete",
            created="2026-11-25T08:00:00+00:00",
        )

    return ConversationRecord(
        persona="ada",
        created="2026-11-25T08:00:00+00:00",
        messages=tuple(message(place) for place in range(messages)),
        branches={"main": str(messages - 1)},
        branch="main",
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
