"""Walking among all that was said: swipes, going on, undo, several answers at once, notes and drafts."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.errors import MessageError, ModelError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs import Event, MessageDone, Session, TokenDelta, TurnFailed
from rolellm_graphs.chat.comparison import Compared
from rolellm_graphs.events import Prompted

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada counts everything.",
    greeting="One visitor. Good day!",
    demonstrations=(
        Demonstration(user="How many stairs?", reply="Seventeen."),
        Demonstration(user="How many bees?", reply="Three hives of them."),
    ),
    knowledge=(Knowledge(title="The bees", text="I keep three hives behind the house."),),
)


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with Transcript(tmp_path / "transcript.db") as opened:
        yield opened


def open_session(transcript: Transcript, *replies: str | Exception, **options: Any) -> Session:
    model = ScriptedChatModel(replies=list(replies))
    return Session(ADA, transcript, **{"model": model, "model_name": "script", **options})


def prompts(session: Session) -> list[list[BaseMessage]]:
    assert isinstance(session.model, ScriptedChatModel)
    return session.model.calls


async def hear(events: AsyncGenerator[Event, None]) -> list[Event]:
    async with aclosing(events):
        return [event async for event in events]


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text.strip() for message in messages]


# Swipes


async def test_a_swipe_chosen_is_where_the_conversation_goes_on(transcript: Transcript) -> None:
    session = open_session(transcript, "First.", "Second.", "Third.")
    await hear(session.send("Hello."))
    await hear(session.regenerate())
    swipes = session.swipes(session.messages[-1].id)
    assert texts(swipes) == ["First.", "Second."]

    session.choose(swipes[0].id)
    assert texts(session.messages) == ["Hello.", "First."]
    await hear(session.send("And now?"))
    assert texts(session.messages) == ["Hello.", "First.", "And now?", "Third."]
    assert [message.text for message in prompts(session)[-1][-3:]] == ["Hello.", "First.", "And now?"]

    again = open_session(transcript, conversation=session.conversation)
    assert texts(again.messages) == texts(session.messages)


async def test_choosing_an_earlier_swipe_goes_on_along_what_was_said_last_after_it(
    transcript: Transcript,
) -> None:
    session = open_session(transcript, "First.", "Then.", "Second.")
    await hear(session.send("Hello."))
    await hear(session.send("Go on."))
    first = session.messages[1]
    session.choose(session.messages[0].id)
    assert texts(session.messages) == ["Hello.", "First.", "Go on.", "Then."]
    session.undo()
    session.branch(session.messages[0].id)
    await hear(session.regenerate())
    assert texts(session.messages) == ["Hello.", "Second."]
    session.choose(first.id)
    assert texts(session.messages) == ["Hello.", "First.", "Go on.", "Then."]


async def test_only_answers_stand_in_the_place_of_an_answer(transcript: Transcript) -> None:
    session = open_session(transcript, "One.", "Two.")
    await hear(session.send("Hello."))
    answer = session.messages[-1]
    await hear(session.edit(answer.id, "Other words."))
    assert texts(session.swipes(session.messages[-1].id)) == ["One.", "Other words."]
    assert texts(session.swipes(session.messages[0].id)) == ["Hello."]


async def test_a_message_of_another_conversation_is_not_chosen(transcript: Transcript) -> None:
    session, other = open_session(transcript, "A."), open_session(transcript, "B.")
    await hear(session.send("Hello."))
    await hear(other.send("Hello."))
    for unknown in (other.messages[0].id, "0" * 16, "nonsense"):
        with pytest.raises(MessageError, match="There is no message"):
            session.choose(unknown)
    assert texts(session.messages) == ["Hello.", "A."]


# Going on


async def test_an_answer_goes_on_from_its_last_words_and_stays_as_it_was_beside(
    transcript: Transcript,
) -> None:
    session = open_session(transcript, "Once upon", " a time.")
    await hear(session.send("A story, please."))
    events = await hear(session.continue_answer())

    assert "".join(event.text for event in events if isinstance(event, TokenDelta)) == "Once upon a time."
    assert texts(session.messages) == ["A story, please.", "Once upon a time."]
    assert texts(session.swipes(session.messages[-1].id)) == ["Once upon", "Once upon a time."]
    assert prompts(session)[-1][-1] == AIMessage("Once upon")
    assert isinstance(prompts(session)[-1][-2], HumanMessage)
    (prompted,) = [event for event in events if isinstance(event, Prompted)]
    assert [part.part for part in prompted.parts][-2:] == ["line", "begun answer"]


async def test_without_an_answer_there_is_nothing_to_go_on_with(transcript: Transcript) -> None:
    session = open_session(transcript, ModelError("away"))
    with pytest.raises(MessageError, match="send a message first"):
        await hear(session.continue_answer())
    session.greet()
    with pytest.raises(MessageError, match="send a message first"):
        await hear(session.continue_answer())
    await hear(session.send("Hello."))
    with pytest.raises(MessageError, match="no answer to continue"):
        await hear(session.continue_answer())


# Undo


async def test_each_thing_done_is_taken_back_and_done_again(transcript: Transcript) -> None:
    session = open_session(transcript, "First.", "Second.", "Third.")
    session.greet()
    await hear(session.send("Hello."))
    await hear(session.regenerate())
    await hear(session.edit(session.messages[1].id, "Good evening."))
    seen = [texts(session.messages)]
    while session.undo():
        seen.append(texts(session.messages))
    greeting = "One visitor. Good day!"
    assert seen == [
        [greeting, "Good evening.", "Third."],
        [greeting, "Hello.", "Second."],
        [greeting, "Hello.", "First."],
        [greeting],
    ]
    back = [seen[-1]]
    while session.redo():
        back.append(texts(session.messages))
    assert back == seen[::-1]
    assert session.conversation is not None
    assert len(transcript.messages(session.conversation)) == 6


async def test_what_is_done_after_an_undo_makes_redo_pointless(transcript: Transcript) -> None:
    session = open_session(transcript, "First.", "Second.")
    await hear(session.send("Hello."))
    assert session.undo()
    assert session.messages == ()
    await hear(session.send("Good evening."))
    assert not session.redo()
    assert texts(session.messages) == ["Good evening.", "Second."]


async def test_an_undone_conversation_opens_where_it_was_left(transcript: Transcript) -> None:
    session = open_session(transcript, "First.", "Second.")
    await hear(session.send("Hello."))
    await hear(session.send("More."))
    session.undo()
    again = open_session(transcript, conversation=session.conversation)
    assert texts(again.messages) == ["Hello.", "First."]


@examples(0.2)
@given(st.lists(st.sampled_from(["send", "again", "more", "edit", "undo", "redo", "choose"]), max_size=12))
def test_whatever_is_done_nothing_said_is_ever_lost_and_undo_leads_back_to_the_beginning(
    deeds: list[str],
) -> None:
    import asyncio

    async def live() -> None:
        with Transcript(None) as transcript:
            session = open_session(transcript, *(f"Answer {number}." for number in range(30)))
            said: set[str] = set()
            for number, deed in enumerate(deeds):
                await _do(session, deed, number)
                if session.conversation:
                    now = {message.id for message in transcript.messages(session.conversation)}
                    assert said <= now
                    said = now
                for before, after in zip(session.messages, session.messages[1:], strict=False):
                    assert after.parent == before.id
            while session.undo():
                pass
            assert session.messages == ()

    asyncio.run(live())


async def _do(session: Session, deed: str, number: int) -> None:
    asked = any(message.speaker == USER for message in session.messages)
    answered = bool(session.messages) and session.messages[-1].speaker != USER
    match deed:
        case "send":
            await hear(session.send(f"Line {number}."))
        case "again" if asked:
            await hear(session.regenerate())
        case "more" if answered:
            await hear(session.continue_answer())
        case "edit" if session.messages:
            await hear(session.edit(session.messages[-1].id, f"Edited {number}."))
        case "undo":
            session.undo()
        case "redo":
            session.redo()
        case "choose" if session.messages:
            session.choose(session.swipes(session.messages[-1].id)[0].id)


# Several answers at once


async def compared(session: Session, text: str, *strategies: str) -> list[Compared]:
    voices = [session.another_voice(strategy=strategy) for strategy in strategies]
    async with aclosing(session.compare(text, voices)) as events:
        return [event async for event in events]


async def test_several_strategies_answer_one_line_and_one_of_them_is_kept(transcript: Transcript) -> None:
    session = open_session(transcript, "A.", "B.", "C.")
    events = await compared(session, "How many bees?", "few-shot-dialogue", "system", "retrieval")
    done = {event.place: event.event.message for event in events if isinstance(event.event, MessageDone)}
    assert {place: done[place].made_by["strategy"] for place in done} == {
        0: "few-shot-dialogue",
        1: "system",
        2: "retrieval",
    }
    assert session.messages[-1].id == done[0].id
    assert {one.id for one in session.swipes(done[0].id)} == {one.id for one in done.values()}

    session.choose(done[2].id)
    assert session.messages[-1].id == done[2].id
    again = open_session(transcript, conversation=session.conversation)
    assert again.messages[-1].id == done[2].id


async def test_an_empty_line_has_the_last_one_answered_again_by_each(transcript: Transcript) -> None:
    session = open_session(transcript, "A.", "B.", "C.")
    await hear(session.send("How many bees?"))
    await compared(session, "", "system", "zero-shot")
    assert len(session.swipes(session.messages[-1].id)) == 3
    assert texts(session.messages)[0] == "How many bees?"


async def test_a_voice_that_fails_does_not_keep_the_others_from_answering(transcript: Transcript) -> None:
    session = open_session(transcript, "A.")
    broken = session.another_voice(
        model=ScriptedChatModel(replies=[ModelError("The model is away.")]), model_name="broken"
    )
    sound = session.another_voice(strategy="system")
    async with aclosing(session.compare("Hello.", [broken, sound])) as events:
        ends = {event.place: event.event async for event in events}
    assert isinstance(ends[0], TurnFailed)
    assert isinstance(ends[1], MessageDone)
    assert session.messages[-1].text == "Hello."
    session.choose(ends[1].message.id)
    assert texts(session.messages) == ["Hello.", "A."]


async def test_comparing_with_nothing_to_answer_says_so(transcript: Transcript) -> None:
    session = open_session(transcript)
    with pytest.raises(MessageError, match="nothing to answer"):
        await compared(session, "  ", "system")
    assert not session.answering


async def test_stopping_stops_all_answers_and_keeps_their_words(transcript: Transcript) -> None:
    model = ScriptedChatModel(replies=["word " * 500], seconds_per_word=0.01)
    session = Session(ADA, transcript, model=model)
    voices = [session.another_voice(strategy=name) for name in ("system", "zero-shot")]
    heard: set[int] = set()
    ends: dict[int, Event] = {}
    async with aclosing(session.compare("Hello.", voices)) as events:
        async for event in events:
            if isinstance(event.event, TokenDelta):
                heard.add(event.place)
                if heard == {0, 1}:
                    session.cancel()
            ends[event.place] = event.event
    for end in ends.values():
        assert isinstance(end, MessageDone)
        assert end.message.status == "stopped"
        assert end.message.text.startswith("word")


# Notes, drafts, who one is, and lines written by the model


async def test_the_authors_note_stands_in_the_prompt_and_belongs_to_the_conversation(
    transcript: Transcript,
) -> None:
    session = open_session(transcript, "A.", "B.")
    session.set_note("It is night; {{char}} whispers.")
    await hear(session.send("Hello."))
    notes = [message for message in prompts(session)[-1] if message.text == "It is night; Ada whispers."]
    assert len(notes) == 1
    assert isinstance(notes[0], SystemMessage)

    again = open_session(transcript, "C.", conversation=session.conversation)
    assert again.note == "It is night; {{char}} whispers."
    again.set_note("")
    await hear(again.send("More."))
    assert not any("whispers" in message.text for message in prompts(again)[-1])
    assert open_session(transcript).note == ""


def test_a_draft_is_there_again_in_a_new_session(transcript: Transcript) -> None:
    open_session(transcript).keep_draft("Half a li")
    assert open_session(transcript).draft == "Half a li"
    open_session(transcript).keep_draft("")
    assert open_session(transcript).draft == ""


async def test_who_the_person_is_is_told_to_the_model(transcript: Transcript) -> None:
    session = open_session(transcript, "A.", user_name="Mary", about_user="A beekeeper from Kent.")
    await hear(session.send("Hello."))
    assert "Mary: A beekeeper from Kent." in prompts(session)[-1][0].text


async def test_the_model_writes_the_persons_line_and_nothing_is_kept_of_it(transcript: Transcript) -> None:
    session = open_session(transcript, "Seventeen.", "And the bees?")
    await hear(session.send("How many stairs?"))
    before = session.messages
    words = "".join([word async for word in session.suggest_line()])
    assert words == "And the bees?"
    assert session.messages == before
    instruction, *said = prompts(session)[-1]
    assert "You are User" in instruction.text
    assert [type(message) for message in said] == [AIMessage, HumanMessage]
    assert [message.text for message in said] == ["How many stairs?", "Seventeen."]


async def test_before_anything_was_said_the_greeting_is_what_the_model_answers_for_the_person(
    transcript: Transcript,
) -> None:
    session = open_session(transcript, "Good day to you.")
    assert "".join([word async for word in session.suggest_line()]) == "Good day to you."
    assert [message.text for message in prompts(session)[-1][1:]] == ["One visitor. Good day!"]
    assert transcript.conversations() == []


async def test_a_model_that_fails_while_writing_the_persons_line_says_why(transcript: Transcript) -> None:
    session = open_session(transcript, ModelError("The model is away."))
    with pytest.raises(ModelError, match="The model is away"):
        async for _ in session.suggest_line():
            pass
    assert not session.answering


# What was sent


async def test_the_prompt_that_is_told_is_the_prompt_that_was_sent(transcript: Transcript) -> None:
    session = open_session(transcript, "A.", "B.", strategy="few-shot-dialogue", seed=7)
    await hear(session.send("How many bees?"))
    events = await hear(session.send("And stairs?"))
    (prompted,) = [event for event in events if isinstance(event, Prompted)]
    kinds = {"system": "system", "human": "user", "ai": "assistant"}
    assert [(part.role, part.text) for part in prompted.parts] == [
        (kinds[message.type], message.text) for message in prompts(session)[-1]
    ]
    assert [part.part for part in prompted.parts] == [
        "instruction",
        *["example"] * 4,
        *["history"] * 2,
        "line",
    ]
    assert (prompted.model, prompted.strategy, prompted.sampling["seed"]) == (
        "script",
        "few-shot-dialogue",
        7,
    )


async def test_recalled_passages_are_a_part_of_their_own(transcript: Transcript) -> None:
    session = open_session(transcript, "A.", strategy="retrieval")
    events = await hear(session.send("Where are the hives of your bees?"))
    (prompted,) = [event for event in events if isinstance(event, Prompted)]
    assert [part.part for part in prompted.parts] == ["instruction", "recalled", "line"]
    assert "three hives behind the house" in prompted.parts[1].text
    recalled = session.messages[-1].made_by["recalled"]
    assert {item["kind"] for item in recalled} == {"passage", "demonstration"}
    assert all(item["why"] and "text" not in item for item in recalled)


async def test_a_line_that_is_being_written_for_the_person_can_be_stopped(transcript: Transcript) -> None:
    model = ScriptedChatModel(replies=["word " * 500], seconds_per_word=0.005)
    session = Session(ADA, transcript, model=model)
    words = 0
    async for _ in session.suggest_line():
        words += 1
        session.cancel()
    assert words == 1
    assert not session.answering


async def test_one_goes_from_branch_to_branch_and_each_stays_where_it_is(transcript: Transcript) -> None:
    session = open_session(transcript, "First.", "Second.", "Third.")
    await hear(session.send("Hello."))
    session.branch(session.messages[0].id)
    await hear(session.regenerate())
    session.go_to_branch("main")
    assert texts(session.messages) == ["Hello.", "First."]
    await hear(session.send("More."))
    session.go_to_branch("branch-2")
    assert texts(session.messages) == ["Hello.", "Second."]
    assert texts(open_session(transcript, conversation=session.conversation).messages) == [
        "Hello.",
        "Second.",
    ]
    with pytest.raises(MessageError, match="no branch 'twig'"):
        session.go_to_branch("twig")
