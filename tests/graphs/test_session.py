"""What a front end can rely on: events, the transcript behind them, and every way a turn can end."""

import asyncio
import hashlib
import json
import random
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from helpers.transcripts import begin
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field

from rolellm_agents.errors import MessageError, ModelError, SettingsError, StorageError
from rolellm_agents.models.catalog import describe_model
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.engine import jobs
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.recall import Recaller, RecallOptions, demonstrations_of
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs import (
    Event,
    MessageDone,
    Prefilling,
    Prompted,
    Recalled,
    Session,
    TokenDelta,
    TurnFailed,
)

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada counts everything.",
    greeting="One visitor. Good day!",
    demonstrations=(
        Demonstration(user="How many stairs?", reply="Seventeen."),
        Demonstration(user="How many bees?", reply="Three hives of them."),
    ),
)
ANSWER = "One, two, three; and four."
SLOW = 0.01
"""Seconds a word: enough for each word to come alone."""


def breaking(errors: list[Exception], *, pace: float) -> FunctionModel:
    """A model that breaks after three words, once for each error."""

    def answer(_: list[BaseMessage]) -> Iterator[str]:
        words = re.findall(r"\s*\S+", ANSWER)
        yield from words[:3]
        if errors:
            raise errors.pop()
        yield from words[3:]

    return FunctionModel(function=answer, seconds_per_word=pace)


class CountingModel(ScriptedChatModel):
    """Tells how far it has come, and when it computes no more."""

    computed: int = 0
    has_ended: threading.Event = Field(default_factory=threading.Event)

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in super()._chunks(messages, stop, options, should_stop):
            self.computed += 1
            yield chunk
        self.has_ended.set()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "transcript.db"


@pytest.fixture
def transcript(file: Path) -> Iterator[Transcript]:
    with Transcript(file) as opened:
        yield opened


def open_session(
    transcript: Transcript, *replies: str | Exception, pace: float = 0, **options: Any
) -> Session:
    """A session with a model that says `replies`."""
    model = ScriptedChatModel(replies=list(replies), seconds_per_word=pace)
    return Session(ADA, transcript, **{"model": model, **options})


async def listen(events: AsyncGenerator[Event, None]) -> list[Event]:
    """All of them."""
    return [event async for event in events]


async def said_last(events: AsyncGenerator[Event, None]) -> Message:
    """The message of a turn that must end well."""
    last = (await listen(events))[-1]
    assert isinstance(last, MessageDone), last
    return last.message


async def failure_of(events: AsyncGenerator[Event, None]) -> TurnFailed:
    """The end of a turn that must fail."""
    last = (await listen(events))[-1]
    assert isinstance(last, TurnFailed), last
    return last


async def stop_at_first_word(session: Session, events: AsyncGenerator[Event, None]) -> Event:
    """Cancel when the first words have come; returns the last event."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TokenDelta):
                session.cancel()
    return event


async def close_at(events: AsyncGenerator[Event, None], kind: type[Event]) -> None:
    """Listen until an event of that kind, then no more."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, kind):
                return
    raise AssertionError(f"no {kind.__name__} came")


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


def stored(file: Path, session: Session) -> list[Message]:
    """The conversation as somebody who comes back finds it."""
    assert session.conversation is not None
    with Transcript(file) as reader:
        return reader.path(session.conversation, reader.latest_branch(session.conversation))


def everything(file: Path, session: Session) -> list[Message]:
    """The whole tree, as somebody else finds it."""
    assert session.conversation is not None
    with Transcript(file) as reader:
        return reader.messages(session.conversation)


# A turn that goes well


async def test_a_turn_tells_the_line_what_was_recalled_the_words_and_the_answer(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, ANSWER, pace=SLOW)
    events = await listen(session.send("  How many bees are there?\n"))

    line, recalled, prompted, *words, answer = events
    assert isinstance(prompted, Prompted)
    assert isinstance(line, MessageDone)
    assert (line.message.speaker, line.message.text) == (USER, "How many bees are there?")
    assert line.message.audience == (USER, "ada")
    assert isinstance(recalled, Recalled)
    by_words = Recaller(demonstrations_of(ADA), ADA, "bm25", RecallOptions(floor=0.0))
    assert list(recalled.items) == by_words.recall("How many bees are there?")
    assert [item["index"] for item in recalled.items if item["kind"] == "demonstration"] == [1, 0]
    assert isinstance(answer, MessageDone)
    deltas = [event for event in words if isinstance(event, TokenDelta)]
    assert len(deltas) == len(words) > 1
    assert "".join(delta.text for delta in deltas) == answer.message.text == ANSWER
    assert {delta.message for delta in deltas} == {answer.message.id}
    assert answer.message.speaker == "ada"
    assert answer.message.audience == (USER, "ada")
    assert answer.message.parent == line.message.id
    assert answer.message.status == "complete"
    assert list(session.messages) == [line.message, answer.message] == stored(file, session)
    assert not session.answering


async def test_words_are_in_the_transcript_before_they_are_told(transcript: Transcript, file: Path) -> None:
    session = open_session(transcript, ANSWER, pace=SLOW)
    told = ""
    with Transcript(file) as reader:
        async for event in session.send("Count!"):
            match event:
                case MessageDone(message=message):
                    assert reader.message(message.id) == message
                case TokenDelta(message=id_, text=text):
                    told += text
                    assert session.answering
                    kept = reader.message(id_)
                    assert (kept.text, kept.status) == (told, "cut")
    assert told == ANSWER


async def test_a_model_that_cannot_stream_answers_once(transcript: Transcript, file: Path) -> None:
    model = ScriptedChatModel(replies=[ANSWER], disable_streaming=True)
    session = Session(ADA, transcript, model=model)
    events = await listen(session.send("Count!"))
    assert [event.text for event in events if isinstance(event, TokenDelta)] == [ANSWER]
    assert texts(stored(file, session)) == ["Count!", ANSWER]


async def test_half_a_character_is_told_as_it_is_kept(transcript: Transcript, file: Path) -> None:
    """Servers cut emoji in two; a lone surrogate can be neither stored nor printed."""
    session = open_session(transcript, "Well \ud83d then.", "Good.")
    events = await listen(session.send("h\udcffi"))
    told = "".join(event.text for event in events if isinstance(event, TokenDelta))
    assert told == session.messages[-1].text == "Well \ufffd then."
    await listen(session.send("Go on."))
    assert texts(stored(file, session)) == ["h\ufffdi", "Well \ufffd then.", "Go on.", "Good."]


@pytest.mark.core
async def test_the_embedded_model_answers_with_its_own_numbers(
    transcript: Transcript, small_model: ChatLlamaCpp
) -> None:
    session = Session(ADA, transcript, model=small_model, model_name="llamacpp:smollm2", seed=5)
    await session.prepare()
    events = await listen(session.send("How many stairs?"))
    answer = events[-1]
    assert isinstance(answer, MessageDone)
    assert answer.message.text.strip()
    assert "".join(event.text for event in events if isinstance(event, TokenDelta)) == answer.message.text
    assert answer.message.made_by["model"] == "llamacpp:smollm2"
    assert answer.message.made_by["seed"] == 5
    assert answer.message.usage is not None
    assert 0 < answer.message.usage["output_tokens"] <= 24


async def test_the_reading_of_a_long_prompt_is_told_before_the_first_word(
    transcript: Transcript, small_model: ChatLlamaCpp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_SHORT_PREFILL", 0.0)
    session = Session(ADA, transcript, model=small_model)
    line = " ".join(f"Stair {number} is made of oak." for number in range(120))
    events = await listen(session.send(line))
    kinds = [type(event) for event in events]
    told = [event for event in events if isinstance(event, Prefilling)]
    first = kinds.index(Prefilling)
    assert kinds.index(Prompted) < first
    assert first + len(told) == kinds.index(TokenDelta)
    answer = events[-1]
    assert isinstance(answer, MessageDone)
    assert answer.message.usage is not None
    total = answer.message.usage["input_tokens"]
    assert {event.total for event in told} == {total}
    computed = [event.computed for event in told]
    assert computed == sorted(set(computed))
    assert len(computed) >= 2
    assert computed[-1] < total
    assert str(told[0]) == f"reading {computed[0]:,} of {total:,} tokens"


async def test_the_next_turn_carries_the_turns_before(transcript: Transcript) -> None:
    model = ScriptedChatModel(replies=["First.", "Second."])
    session = Session(ADA, transcript, model=model, strategy="zero-shot")
    session.greet()
    await listen(session.send("one"))
    await listen(session.send("two"))
    sent = [(message.type, message.text) for message in model.calls[1][1:]]
    assert sent == [("ai", ADA.greeting), ("human", "one"), ("ai", "First."), ("human", "two")]


@pytest.mark.parametrize("strategy", ["few-shot-dialogue", "few-shot-prompt", "zero-shot", "system"])
async def test_an_answer_tells_what_made_it(transcript: Transcript, strategy: str) -> None:
    model = ScriptedChatModel(replies=[ANSWER])
    session = Session(ADA, transcript, model=model, model_name="mine", strategy=strategy)
    answer = await said_last(session.send("Combien? 多少？"))
    (prompt,) = model.calls
    # Independent of the product's own: roles and contents of what the model got, as JSON.
    said = json.dumps([[m.type, m.content] for m in prompt], ensure_ascii=False).encode("utf-8")
    told = dict(answer.made_by)
    assert 0 < told.pop("first_token_s") <= told.pop("seconds")
    recalled = told.pop("recalled", [])
    assert [item["kind"] for item in recalled] == ["demonstration"] * (2 if "few-shot" in strategy else 0)
    assert told == {
        "model": "mine",
        "strategy": strategy,
        "prompt": hashlib.sha256(said).hexdigest()[:16],
        "finish_reason": "stop",
    }
    read = sum(len(message.text.split()) for message in prompt)
    assert answer.usage == {"input_tokens": read, "output_tokens": 5, "total_tokens": read + 5}


async def test_a_model_without_a_name_is_called_by_its_spec(transcript: Transcript) -> None:
    by_spec = await said_last(open_session(transcript, model="scripted:Hi.|Ho.").send("Hello."))
    assert (by_spec.text, by_spec.made_by["model"]) == ("Hi.", "scripted:Hi.|Ho.")
    model = ScriptedChatModel(replies=["Hi."])
    held = await said_last(open_session(transcript, model=model).send("Hello."))
    assert held.made_by["model"] == describe_model(model)


def test_a_strategy_that_does_not_exist_is_refused(transcript: Transcript) -> None:
    with pytest.raises(SettingsError):
        open_session(transcript, strategy="telepathy")


# The greeting


def test_a_greeting_is_said_once_and_only_when_nothing_was_said(transcript: Transcript, file: Path) -> None:
    session = open_session(transcript, ANSWER)
    session.greet()
    session.greet()
    (greeting,) = session.messages
    assert (greeting.speaker, greeting.text, greeting.parent) == ("ada", "One visitor. Good day!", None)
    assert greeting.made_by == {"greeting": True}
    again = open_session(transcript, conversation=session.conversation)
    again.greet()
    assert everything(file, session) == [greeting]


async def test_nobody_is_greeted_in_the_middle_of_a_conversation(transcript: Transcript) -> None:
    session = open_session(transcript, ANSWER)
    await listen(session.send("Hello."))
    session.greet()
    assert texts(session.messages) == ["Hello.", ANSWER]


def test_without_a_greeting_nothing_is_recorded(transcript: Transcript) -> None:
    session = Session(
        ADA.model_copy(update={"greeting": ""}), transcript, model=ScriptedChatModel(replies=["…"])
    )
    session.greet()
    assert session.conversation is None
    assert transcript.conversations() == []


# What is refused


@pytest.mark.parametrize("line", ["", "   ", "\n\t \u3000"])
async def test_an_empty_line_is_refused_and_nothing_is_recorded(transcript: Transcript, line: str) -> None:
    session = open_session(transcript, ANSWER)
    with pytest.raises(MessageError, match="The message is empty"):
        await listen(session.send(line))
    assert transcript.conversations() == []
    assert session.messages == ()
    said = await said_last(session.send("Hello."))
    with pytest.raises(MessageError, match="The message is empty"):
        await listen(session.edit(said.id, line))
    assert texts(transcript.messages(said.conversation)) == ["Hello.", ANSWER]


async def test_while_an_answer_is_on_its_way_everything_else_is_refused(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, ANSWER, pace=SLOW)
    async with aclosing(session.send("Count!")) as events:
        line = await anext(events)
        assert isinstance(line, MessageDone)
        assert isinstance(await anext(events), Recalled)
        for other in (
            session.send("And you?"),
            session.regenerate(),
            session.edit(line.message.id, "Stop!"),
        ):
            with pytest.raises(MessageError, match="still being generated"):
                await listen(other)
        with pytest.raises(MessageError, match="still being generated"):
            session.branch(line.message.id)
        rest = await listen(events)
    assert isinstance(rest[-1], MessageDone)
    assert texts(everything(file, session)) == ["Count!", ANSWER]


async def test_a_second_line_is_refused_from_the_first_ones_very_first_event(
    transcript: Transcript,
) -> None:
    """Whoever draws the line just told has not asked for the next event yet."""
    session = open_session(transcript, ANSWER)
    async with aclosing(session.send("One")) as events:
        assert isinstance(await anext(events), MessageDone)
        with pytest.raises(MessageError, match="still being generated"):
            await listen(session.send("Two"))
        await listen(events)
    assert texts(session.messages) == ["One", ANSWER]


async def test_two_lines_at_once_give_one_turn_and_one_refusal(transcript: Transcript, file: Path) -> None:
    session = open_session(transcript, ANSWER, pace=SLOW)
    ended = await asyncio.gather(
        listen(session.send("One")), listen(session.send("Two")), return_exceptions=True
    )
    assert isinstance(ended[0], list)
    assert isinstance(ended[1], MessageError)
    assert texts(everything(file, session)) == ["One", ANSWER]


async def test_there_is_nothing_to_do_where_nothing_was_said(transcript: Transcript) -> None:
    session = open_session(transcript, ANSWER)
    session.cancel()
    with pytest.raises(MessageError, match="nothing to answer"):
        await listen(session.regenerate())
    session.greet()
    with pytest.raises(MessageError, match="nothing to answer"):
        await listen(session.regenerate())
    with pytest.raises(MessageError, match="no message 'nobody'"):
        await listen(session.edit("nobody", "…"))
    with pytest.raises(MessageError, match="no message 'nobody'"):
        session.branch("nobody")


# Stopping an answer


async def test_a_cancelled_answer_is_kept_and_the_conversation_goes_on(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, ANSWER, "Well.", pace=SLOW)
    last = await stop_at_first_word(session, session.send("Count!"))
    assert isinstance(last, MessageDone)
    assert last.message.status == "stopped"
    assert ANSWER.startswith(last.message.text)
    assert 0 < len(last.message.text) < len(ANSWER)
    assert last.message.made_by.keys() >= {"model", "strategy", "prompt"}
    assert not session.answering
    assert list(session.messages)[-1] == last.message == stored(file, session)[-1]

    answer = await said_last(session.send("Go on."))
    assert answer.text == "Well."
    assert texts(stored(file, session)) == ["Count!", last.message.text, "Go on.", "Well."]


@pytest.mark.parametrize("how", ["close", "cancel the task"])
async def test_an_answer_that_nobody_listens_to_any_more_is_kept(
    transcript: Transcript, file: Path, how: Literal["close", "cancel the task"]
) -> None:
    session = open_session(transcript, ANSWER, "Well.", pace=SLOW)
    if how == "close":
        await close_at(session.send("Count!"), TokenDelta)
    else:
        begun = asyncio.Event()

        async def front_end() -> None:
            async for event in session.send("Count!"):
                if isinstance(event, TokenDelta):
                    begun.set()

        task = asyncio.create_task(front_end())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    kept = stored(file, session)[-1]
    assert kept.status == "stopped"
    assert ANSWER.startswith(kept.text)
    assert 0 < len(kept.text) < len(ANSWER)
    assert session.messages[-1] == kept
    assert not session.answering

    assert (await said_last(session.send("Go on."))).text == "Well."
    assert texts(stored(file, session)) == ["Count!", kept.text, "Go on.", "Well."]


async def test_cancelling_before_the_first_word_leaves_the_line_without_an_answer(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, ANSWER, pace=0.05)
    events: list[Event] = []
    async for event in session.send("Count!"):
        events.append(event)
        if isinstance(event, Recalled):
            session.cancel()
    failed = events[-1]
    assert isinstance(failed, TurnFailed)
    assert isinstance(failed.error, MessageError)
    assert "stopped before its first word" in str(failed.error)
    assert failed.message is None
    assert not any(isinstance(event, TokenDelta) for event in events)
    assert texts(everything(file, session)) == ["Count!"]
    assert (await said_last(session.regenerate())).text == ANSWER


async def test_cancelling_as_soon_as_the_line_is_told_stops_the_answer(transcript: Transcript) -> None:
    """Whoever presses Escape while the line is being drawn means the answer."""
    session = open_session(transcript, ANSWER, pace=SLOW)
    events: list[Event] = []
    async for event in session.send("Count!"):
        events.append(event)
        if len(events) == 1:
            session.cancel()
    assert isinstance(events[-1], TurnFailed)
    assert texts(session.messages) == ["Count!"]


async def test_a_model_that_nobody_listens_to_any_more_stops_computing(transcript: Transcript) -> None:
    model = CountingModel(replies=["word " * 1000], seconds_per_word=SLOW)
    await close_at(Session(ADA, transcript, model=model).send("Count!"), TokenDelta)
    assert await asyncio.to_thread(model.has_ended.wait, 60)
    assert 0 < model.computed < 1000


async def test_closing_before_the_first_word_leaves_the_line_without_an_answer(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, ANSWER, pace=0.05)
    await close_at(session.send("Count!"), Recalled)
    assert texts(everything(file, session)) == texts(session.messages) == ["Count!"]
    assert not session.answering
    assert (await said_last(session.regenerate())).text == ANSWER


class HeldTranscript(Transcript):
    """Holds whoever has ended a message for a moment, as a slow disk does."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.ended = threading.Event()

    def end(self, *args: Any, **kwargs: Any) -> Message:
        done = super().end(*args, **kwargs)
        self.ended.set()
        threading.Event().wait(0.3)
        return done


async def test_cancelling_the_task_while_the_answer_is_being_written_down_ends_it_once(file: Path) -> None:
    transcript = HeldTranscript(file)
    with transcript:
        session = open_session(transcript, ANSWER)
        task = asyncio.create_task(listen(session.send("Count!")))
        await asyncio.to_thread(transcript.ended.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [(m.text, m.status) for m in stored(file, session)] == [
        ("Count!", "complete"),
        (ANSWER, "complete"),
    ]
    assert list(session.messages) == stored(file, session)
    assert not session.answering


# When the model fails


async def test_a_model_that_fails_before_its_first_word_leaves_the_line_to_be_answered_again(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, ModelError("The model is asleep; wake it."), ANSWER)
    failed = await failure_of(session.send("Count!"))
    assert str(failed.error) == "The model is asleep; wake it."
    assert failed.message is None
    assert texts(session.messages) == ["Count!"]
    answer = await said_last(session.regenerate())
    assert answer.text == ANSWER
    assert texts(everything(file, session)) == ["Count!", ANSWER]
    assert answer.parent == session.messages[0].id


@pytest.mark.parametrize("nothing", ["", " \n"])
async def test_a_model_that_says_nothing_has_failed(
    transcript: Transcript, file: Path, nothing: str
) -> None:
    session = open_session(transcript, nothing, ANSWER)
    failed = await failure_of(session.send("Count!"))
    assert isinstance(failed.error, ModelError)
    assert "returned an empty answer" in str(failed.error)
    assert texts(everything(file, session)) == ["Count!"]


@pytest.mark.parametrize("pace", [0, SLOW])
async def test_the_part_that_a_failing_model_said_is_kept(
    transcript: Transcript, file: Path, pace: float
) -> None:
    model = breaking([ModelError("The line broke; try again.")], pace=pace)
    session = Session(ADA, transcript, model=model)
    events = await listen(session.send("Count!"))
    failed = events[-1]
    assert isinstance(failed, TurnFailed)
    assert str(failed.error) == "The line broke; try again."
    told = "".join(event.text for event in events if isinstance(event, TokenDelta))
    assert told == "One, two, three;"
    assert failed.message is not None
    assert (failed.message.text, failed.message.status) == ("One, two, three;", "failed")
    assert stored(file, session)[-1] == failed.message == session.messages[-1]

    answer = await said_last(session.regenerate())
    assert (answer.text, answer.parent) == (ANSWER, failed.message.parent)
    assert texts(everything(file, session)) == ["Count!", "One, two, three;", ANSWER]


async def test_an_error_that_is_nobodys_but_ours_is_raised_and_the_part_is_kept(
    transcript: Transcript, file: Path
) -> None:
    model = breaking([ZeroDivisionError("ours")], pace=SLOW)
    session = Session(ADA, transcript, model=model)
    with pytest.raises(ZeroDivisionError, match="ours"):
        await listen(session.send("Count!"))
    kept = stored(file, session)[-1]
    assert (kept.text, kept.status) == ("One, two, three;", "failed")
    assert session.messages[-1] == kept
    assert not session.answering

    assert (await said_last(session.send("Again?"))).text == ANSWER


# When the transcript fails


async def test_a_disk_that_fills_in_the_middle_of_an_answer_keeps_what_was_told(
    transcript: Transcript, file: Path
) -> None:
    # Random digits, since the store packs what repeats.
    word = " " + random.Random(1).randbytes(4500).hex()
    session = open_session(transcript, word * 6, pace=SLOW)
    told = ""
    events: list[Event] = []
    async for event in session.send("Count!"):
        events.append(event)
        if isinstance(event, TokenDelta):
            told += event.text
            (pages,) = transcript._database.connection.execute("PRAGMA page_count").fetchone()
            transcript._database.connection.execute(f"PRAGMA max_page_count = {pages}")
    failed = events[-1]
    assert isinstance(failed, TurnFailed)
    assert isinstance(failed.error, StorageError)
    assert "The disk is full" in str(failed.error)
    assert told
    assert len(told) < len(word * 6)
    (line, part) = stored(file, session)
    assert (line.text, part.text, part.status) == ("Count!", told, "cut")
    assert not session.answering

    transcript._database.connection.execute("PRAGMA max_page_count = 100000")
    assert (await said_last(session.regenerate())).text == word * 6
    assert texts(everything(file, session)) == ["Count!", told, word * 6]


async def test_a_line_that_cannot_be_recorded_is_refused(transcript: Transcript) -> None:
    session = open_session(transcript, ANSWER)
    await listen(session.send("One"))
    before = session.messages
    transcript.close()
    with pytest.raises(StorageError):
        await listen(session.send("Two"))
    assert session.messages == before
    assert not session.answering


async def test_an_edit_that_cannot_be_recorded_leaves_the_view_as_it_was(transcript: Transcript) -> None:
    session = open_session(transcript, ANSWER)
    await listen(session.send("One"))
    before = session.messages
    transcript.close()
    with pytest.raises(StorageError):
        await listen(session.edit(before[0].id, "Two"))
    assert session.messages == before


async def test_a_branch_that_cannot_be_recorded_leaves_the_session_where_it_was(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, ANSWER)
    await listen(session.send("One"))
    before = session.messages
    holder = Transcript(file)
    transcript._database.connection.execute("PRAGMA busy_timeout = 1")
    with holder._database.writing(), pytest.raises(StorageError):
        session.branch(before[0].id)
    holder.close()
    assert session.messages == before
    await listen(session.send("Two"))
    assert session.conversation is not None
    assert list(transcript.branches(session.conversation)) == ["main"]


# Swipes


async def test_regenerating_puts_a_swipe_beside_the_answer(transcript: Transcript, file: Path) -> None:
    session = open_session(transcript, "First.", "Second.", "Third.")
    first = await said_last(session.send("Count!"))
    events = await listen(session.regenerate())
    assert [type(event) for event in events] == [Recalled, Prompted, TokenDelta, MessageDone]
    second = session.messages[-1]
    third = await said_last(session.regenerate())
    assert [first.text, second.text, third.text] == ["First.", "Second.", "Third."]
    assert transcript.siblings(first.id) == [first, second, third]
    assert list(session.messages) == stored(file, session) == [session.messages[0], third]


async def test_regenerating_answers_the_last_line_even_from_behind_an_edited_answer(
    transcript: Transcript,
) -> None:
    session = open_session(transcript, "First.", "Second.")
    session.greet()
    first = await said_last(session.send("Count!"))
    await listen(session.edit(first.id, "Edited."))
    assert texts(session.messages) == [ADA.greeting, "Count!", "Edited."]
    second = await said_last(session.regenerate())
    assert second.text == "Second."
    assert texts(transcript.siblings(first.id)) == ["First.", "Edited.", "Second."]


async def test_regenerating_leaves_the_turns_before_alone(transcript: Transcript) -> None:
    session = open_session(transcript, "First.", "Second.", "Third.")
    await listen(session.send("One"))
    await listen(session.send("Two"))
    await listen(session.regenerate())
    assert texts(session.messages) == ["One", "First.", "Two", "Third."]


async def test_a_failed_regeneration_leaves_the_old_answer_in_view(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, "First.", ModelError("The model is asleep; wake it."))
    await listen(session.send("Count!"))
    before = session.messages
    failed = await failure_of(session.regenerate())
    assert failed.message is None
    assert session.messages == before
    assert tuple(stored(file, session)) == before


@pytest.mark.parametrize("how", ["cancel", "close", "unexplained error"])
async def test_a_regeneration_that_ends_before_its_first_word_leaves_the_old_answer_in_view(
    transcript: Transcript, file: Path, how: Literal["cancel", "close", "unexplained error"]
) -> None:
    second = ZeroDivisionError("ours") if how == "unexplained error" else "Second."
    session = open_session(transcript, "First.", second, pace=0.05)
    await listen(session.send("Count!"))
    before = session.messages
    match how:
        case "cancel":
            async for event in session.regenerate():
                if isinstance(event, Recalled):
                    session.cancel()
            assert isinstance(event, TurnFailed)
        case "close":
            await close_at(session.regenerate(), Recalled)
        case "unexplained error":
            with pytest.raises(ZeroDivisionError):
                await listen(session.regenerate())
    assert session.messages == before
    assert tuple(stored(file, session)) == before


async def test_a_regeneration_stopped_in_the_middle_is_a_swipe_of_its_own(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, "First.", "Second answer, much longer.", pace=SLOW)
    first = await said_last(session.send("Count!"))
    stopped = await stop_at_first_word(session, session.regenerate())
    assert isinstance(stopped, MessageDone)
    assert stopped.message.status == "stopped"
    assert transcript.siblings(first.id) == [first, stopped.message]
    assert list(session.messages) == stored(file, session) == [session.messages[0], stopped.message]


async def test_a_seed_reaches_the_model_and_each_swipe_adds_one(transcript: Transcript) -> None:
    model = ScriptedChatModel(replies=["…"])
    for _ in range(2):
        model.options.clear()
        session = Session(ADA, transcript, model=model, seed=7)
        seeds = [(await said_last(session.send("Count!"))).made_by["seed"]]
        seeds.append((await said_last(session.regenerate())).made_by["seed"])
        seeds.append((await said_last(session.regenerate())).made_by["seed"])
        seeds.append((await said_last(session.send("More!"))).made_by["seed"])
        assert seeds == [7, 8, 9, 7]
        assert [options["seed"] for options in model.options] == [7, 8, 9, 7]


async def test_without_a_seed_the_model_is_given_none(transcript: Transcript) -> None:
    model = ScriptedChatModel(replies=["…"])
    answer = await said_last(Session(ADA, transcript, model=model).send("Count!"))
    assert "seed" not in model.options[0]
    assert "seed" not in answer.made_by


# Edits and branches


async def test_an_edited_line_is_answered_anew_and_the_old_one_stays(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, "First.", "Later.", "Anew.")
    await listen(session.send("One"))
    await listen(session.send("Two"))
    one = session.messages[0]
    events = await listen(session.edit(one.id, " Uno "))
    assert [type(event) for event in events] == [MessageDone, Recalled, Prompted, TokenDelta, MessageDone]
    edited = session.messages[0]
    assert (edited.text, edited.parent, edited.made_by) == ("Uno", None, {"edited": one.id})
    assert texts(session.messages) == ["Uno", "Anew."]
    assert list(session.messages) == stored(file, session)
    assert texts(transcript.siblings(one.id)) == ["One", "Uno"]
    assert texts(everything(file, session)) == ["One", "First.", "Two", "Later.", "Uno", "Anew."]


async def test_an_edited_answer_is_what_the_conversation_goes_on_from(transcript: Transcript) -> None:
    model = ScriptedChatModel(replies=["First.", "Second."], once=True)
    session = Session(ADA, transcript, model=model, strategy="zero-shot")
    first = await said_last(session.send("One"))
    events = await listen(session.edit(first.id, "Better."))
    (done,) = events
    assert isinstance(done, MessageDone)
    assert (done.message.speaker, done.message.text) == ("ada", "Better.")
    assert done.message.made_by == {"edited": first.id}
    assert transcript.siblings(first.id) == [first, done.message]
    await listen(session.send("Two"))
    assert [m.text for m in model.calls[-1][1:]] == ["One", "Better.", "Two"]


async def test_a_branch_goes_on_by_itself_and_the_old_one_stays(transcript: Transcript, file: Path) -> None:
    session = open_session(transcript, "First.", "Second.", "Other.")
    first = await said_last(session.send("One"))
    second = await said_last(session.send("Two"))
    assert session.branch(first.id) == "branch-2"
    assert texts(session.messages) == ["One", "First."]
    other = await said_last(session.send("Deux"))
    assert session.conversation is not None
    assert texts(transcript.path(session.conversation)) == ["One", "First.", "Two", "Second."]
    assert texts(transcript.path(session.conversation, "branch-2")) == ["One", "First.", "Deux", "Other."]
    assert transcript.branches(session.conversation) == {"main": second.id, "branch-2": other.id}
    assert session.branch(first.id) == "branch-3"
    assert list(session.messages) == stored(file, session)


async def test_who_comes_back_finds_the_branch_that_was_moved_last(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, "First.", "Second.", "Other.")
    session.greet()
    await listen(session.send("One"))
    await listen(session.send("Two"))
    session.branch(session.messages[2].id)
    await listen(session.send("Deux"))
    expected = [ADA.greeting, "One", "First.", "Deux", "Other."]
    assert texts(session.messages) == expected
    transcript.close()

    with Transcript(file) as reopened:
        again = open_session(reopened, "Back.", conversation=session.conversation)
        assert again.messages == session.messages
        await listen(again.send("Hello again."))
        assert texts(stored(file, again)) == [*expected, "Hello again.", "Back."]
        assert session.conversation is not None
        assert texts(reopened.path(session.conversation, "main"))[-1] == "Second."


async def test_who_comes_back_after_a_crash_goes_on_from_the_cut_answer(
    transcript: Transcript, file: Path
) -> None:
    session = open_session(transcript, "First.")
    first = await said_last(session.send("One"))
    begin(transcript, first.conversation, first.id, "I was ", "about")
    model = ScriptedChatModel(replies=["Well."])
    again = Session(ADA, transcript, model=model, strategy="zero-shot", conversation=first.conversation)
    assert [(m.text, m.status) for m in again.messages[1:]] == [
        ("First.", "complete"),
        ("I was about", "cut"),
    ]
    await listen(again.send("Yes?"))
    assert [m.text for m in model.calls[0][1:]] == ["One", "First.", "I was about", "Yes?"]
    assert texts(stored(file, again)) == ["One", "First.", "I was about", "Yes?", "Well."]


async def test_a_session_that_is_only_opened_leaves_no_trace(transcript: Transcript) -> None:
    session = open_session(transcript, ANSWER)
    assert session.conversation is None
    with suppress(MessageError):
        await listen(session.send(" "))
    assert transcript.conversations() == []
    assert transcript._database.connection.execute("SELECT count(*) FROM conversation").fetchone()[0] == 0


async def test_a_task_that_reads_an_answer_is_not_left_cancelled_when_the_answer_is_stopped(
    transcript: Transcript,
) -> None:
    model = ScriptedChatModel(replies=["One two three"], seconds_per_word=0.05)
    session = Session(ADA, transcript, model=model)
    speaking = asyncio.Event()

    async def read() -> tuple[list[Event], int]:
        events = []
        async for event in session.send("Hello"):
            events.append(event)
            if isinstance(event, TokenDelta):
                speaking.set()
        await asyncio.sleep(0)  # a task that is still to be cancelled would be cancelled here
        task = asyncio.current_task()
        return events, task.cancelling() if task else -1

    reading = asyncio.create_task(read())
    await speaking.wait()
    session.cancel()
    session.cancel()
    events, cancelling = await reading

    assert cancelling == 0
    assert isinstance(events[-1], MessageDone)
    assert events[-1].message.status == "stopped"
