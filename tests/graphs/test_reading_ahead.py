"""What a session lets a local model read while a person reads or types."""

from typing import Any

import pytest
from helpers.reading_model import ReadingModel
from langchain_core.messages import BaseMessage
from pydantic import Field

from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.transcript import Transcript
from rolellm_graphs import Session

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada counts everything.",
    greeting="One visitor!",
    demonstrations=(
        Demonstration(user="How many stairs?", reply="Seventeen."),
        Demonstration(user="How many bees?", reply="Three hives."),
    ),
)


class KeepingModel(ReadingModel):
    """Also notes what it is asked to answer."""

    prompts: list[list[str]] = Field(default_factory=list)

    def _chunks(self, messages: list[BaseMessage], *rest: Any) -> Any:
        self.prompts.append([message.text for message in messages])
        return super()._chunks(messages, *rest)


async def spoken(session: Session, line: str) -> None:
    async for _ in session.send(line):
        pass


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_what_is_foreseen_is_how_the_next_prompt_begins(strategy: str) -> None:
    model = KeepingModel(replies=["One.", "Two."], prompts=[])
    with Transcript() as transcript:
        session = Session(ADA, transcript, model=model, strategy=strategy)
        await session.read_ahead()
        session.greet()
        await spoken(session, "How many bees are there?")
        await session.read_ahead()
        await spoken(session, "And stairs?")
    for reading, prompt in zip(model.readings, model.prompts, strict=True):
        assert reading.texts
        assert prompt[: len(reading.texts)] == reading.texts
    assert len(model.readings[-1].texts) > 1


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_draft_is_read_with_all_that_it_recalls(strategy: str) -> None:
    model = KeepingModel(replies=["One."], prompts=[])
    with Transcript() as transcript:
        session = Session(ADA, transcript, model=model, strategy=strategy)
        await session.read_ahead("How many bees are")
        session.greet()
        await spoken(session, "How many bees are there?")
    stable_prefix, prompt = model.readings[0].texts, model.prompts[0]
    assert stable_prefix[:-1] == prompt[:-1]
    assert stable_prefix[-1].rpartition("are")[0] == prompt[-1].rpartition("are")[0]


async def test_a_new_draft_takes_the_place_of_the_one_before() -> None:
    model = ReadingModel(replies=["One."])
    with Transcript() as transcript:
        session = Session(ADA, transcript, model=model)
        await session.read_ahead("How")
        await session.read_ahead("How many")
    assert [reading.cancelled for reading in model.readings] == [True, False]


async def test_during_an_answer_nothing_is_read_ahead() -> None:
    model = ReadingModel(replies=["One. Two."])
    with Transcript() as transcript:
        session = Session(ADA, transcript, model=model)
        async for _ in session.send("Hello"):
            if session.answering:
                await session.read_ahead("next")
    assert model.readings == []


async def test_what_cannot_be_read_ahead_disturbs_nobody() -> None:
    with Transcript() as transcript:
        for model in (ReadingModel(replies=["One."], broken=True), ScriptedChatModel(replies=["One."])):
            session = Session(ADA, transcript, model=model)
            await session.read_ahead("draft")
            await spoken(session, "Hello")
            assert session.messages[-1].text == "One."


async def test_after_reading_ahead_the_embedded_model_has_little_left_to_read(
    small_model: ChatLlamaCpp,
) -> None:
    engine = small_model.load().engine
    with Transcript() as transcript:
        session = Session(ADA, transcript, model=small_model, strategy="few-shot-dialogue")
        await session.read_ahead("How many bees are there in the")
        while not session._ahead.done:  # type: ignore[union-attr]
            pass
        before = engine.counters
        await spoken(session, "How many bees are there in the hives?")
    answered = engine.counters
    assert answered.prompt - before.prompt - (answered.reused - before.reused) < 20
