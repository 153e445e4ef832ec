"""What was said in earlier conversations, as far as it stands."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.passages import persona_of
from helpers.transcripts import PERSONA, begin, say

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.recall import Passage, RecallOptions, memories, memories_of
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs import MessageDone, Recalled, Session

ADA = persona_of([])


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with Transcript(tmp_path / "transcript.db") as opened:
        yield opened


def talk(transcript: Transcript, *lines: str, persona: str = PERSONA) -> list[Message]:
    """A conversation in which the person and the persona take turns."""
    conversation = transcript.create_conversation(persona)
    said: list[Message] = []
    for number, line in enumerate(lines):
        speaker = persona if number % 2 else "user"
        parent = said[-1].id if said else None
        said.append(say(transcript, conversation, parent, line, speaker=speaker))
    return said


def remembered(transcript: Transcript, but: str | None = None) -> list[str]:
    return [passage.text for passage in memories_of(transcript, ADA, user="Ben", but=but)]


# What is remembered


def test_each_line_with_its_answer_is_a_memory_the_latest_conversation_first(
    transcript: Transcript,
) -> None:
    first = talk(transcript, "My cat is called Marmalade.", "A fine name.", "She bites.", "They do.")
    second = talk(transcript, "It rains.", "Then stay.")
    of_first = f"conversation {first[0].conversation} of {first[0].created[:10]}"
    of_second = f"conversation {second[0].conversation} of {second[0].created[:10]}"
    assert memories_of(transcript, ADA, user="Ben") == [
        Passage("memory", "Ben: It rains.\nAda: Then stay.", of_second, 0),
        Passage("memory", "Ben: My cat is called Marmalade.\nAda: A fine name.", of_first, 1),
        Passage("memory", "Ben: She bites.\nAda: They do.", of_first, 2),
    ]


def test_nothing_was_said_nothing_is_remembered(transcript: Transcript) -> None:
    transcript.create_conversation(PERSONA)
    assert remembered(transcript) == []


def test_a_line_without_an_answer_and_a_greeting_are_no_exchange(transcript: Transcript) -> None:
    talk(transcript, "Are you there?")
    conversation = transcript.create_conversation(PERSONA)
    greeting = say(transcript, conversation, None, "Good day!", speaker=PERSONA)
    asked = say(transcript, conversation, greeting.id, "Who are you?")
    say(transcript, conversation, asked.id, "Hello?")
    assert remembered(transcript) == []
    heard = talk(transcript, "Once.", "Yes?", "Twice.")
    assert remembered(transcript) == ["Ben: Once.\nAda: Yes?"]
    say(transcript, heard[0].conversation, heard[-1].id, "Three times.", speaker=PERSONA)
    assert remembered(transcript) == ["Ben: Once.\nAda: Yes?", "Ben: Twice.\nAda: Three times."]


def test_several_answers_to_one_line_are_one_memory(transcript: Transcript) -> None:
    said = talk(transcript, "Go on.", "First.")
    begin(transcript, said[0].conversation, said[-1].id, "Sec", "ond")
    assert remembered(transcript) == ["Ben: Go on.\nAda: First.\nAda: Second"]


def test_what_was_swiped_or_edited_away_is_not_remembered(transcript: Transcript) -> None:
    asked, answer = talk(transcript, "Who?", "The butler.")
    say(transcript, asked.conversation, asked.id, "The gardener.", speaker=PERSONA)
    assert remembered(transcript) == ["Ben: Who?\nAda: The gardener."]
    edited = say(transcript, asked.conversation, None, "Who did it?")
    assert remembered(transcript) == []
    say(transcript, asked.conversation, edited.id, "Nobody.", speaker=PERSONA)
    assert remembered(transcript) == ["Ben: Who did it?\nAda: Nobody."]
    assert answer.text == transcript.message(answer.id).text  # it is in the tree all the same


def test_of_a_conversation_the_branch_it_stands_on_is_remembered(transcript: Transcript) -> None:
    one, first, *_ = talk(transcript, "One", "First.", "Two", "Second.")
    transcript.move_branch(one.conversation, first.id, "branch-2")
    other = say(transcript, one.conversation, first.id, "Deux", branch="branch-2")
    say(transcript, one.conversation, other.id, "Deuxième.", speaker=PERSONA, branch="branch-2")
    assert remembered(transcript) == ["Ben: One\nAda: First.", "Ben: Deux\nAda: Deuxième."]


def test_what_was_said_to_others_is_not_remembered(transcript: Transcript) -> None:
    talk(transcript, "Do not tell Ada.", "I will not.", persona="ben")
    talk(transcript, "Hello.", "Good day.")
    assert remembered(transcript) == ["Ben: Hello.\nAda: Good day."]


def test_one_conversation_can_be_left_out(transcript: Transcript) -> None:
    left_out = talk(transcript, "It snows.", "Then stay.")[0].conversation
    talk(transcript, "Hello.", "Good day.")
    assert remembered(transcript, but=left_out) == ["Ben: Hello.\nAda: Good day."]
    assert len(remembered(transcript, but="nothing")) == 2


def test_only_so_many_conversations_are_looked_through(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "_MOST", 2)
    for number in range(4):
        talk(transcript, f"Line {number}.", f"Answer {number}.")
    assert remembered(transcript) == ["Ben: Line 3.\nAda: Answer 3.", "Ben: Line 2.\nAda: Answer 2."]


# In a conversation


CAT = ("My cat is called Marmalade.", "A fine name for a cat.")


async def say_to(session: Session, line: str) -> tuple[list[object], Message]:
    """What was recalled for a line, and the answer."""
    events = [event async for event in session.send(line)]
    recalled = [list(event.items) for event in events if isinstance(event, Recalled)]
    assert isinstance(events[-1], MessageDone), events[-1]
    return [*recalled[0]], events[-1].message


@pytest.mark.parametrize("strategy", ["system", "retrieval", "zero-shot", "few-shot-prompt"])
async def test_an_earlier_exchange_comes_to_mind_under_every_strategy(
    transcript: Transcript, strategy: str
) -> None:
    earlier = talk(transcript, *CAT, "It rains.", "Then stay at home.")[0]
    model = ScriptedChatModel(replies=["Marmalade."])
    session = Session(ADA, transcript, model=model, strategy=strategy, remember=True, user_name="Ben")
    recalled, answer = await say_to(session, "What is my cat called?")
    source = f"conversation {earlier.conversation} of {earlier.created[:10]}"
    (item,) = recalled
    assert isinstance(item, dict)
    assert item == {
        "kind": "passage",
        "of": "memory",
        "text": f"Ben: {CAT[0]}\nAda: {CAT[1]}",
        "source": source,
        "score": item["score"],
        "why": item["why"],
    }
    assert item["why"].startswith("shares “cat”")
    (prompt,) = model.calls
    assert prompt[-1].text == "What is my cat called?"
    assert prompt[-2].text == f"What comes back to Ada:\n- Ben: {CAT[0]}\nAda: {CAT[1]}"
    assert "Marmalade" not in "".join(message.text for message in prompt[:-2])
    (kept,) = answer.made_by["recalled"]
    assert kept == {key: value for key, value in item.items() if key != "text"}


@pytest.mark.parametrize("strategy", ["system", "retrieval"])
async def test_who_does_not_remember_is_sent_nothing_of_it(transcript: Transcript, strategy: str) -> None:
    talk(transcript, *CAT)
    model = ScriptedChatModel(replies=["No idea."])
    session = Session(ADA, transcript, model=model, strategy=strategy)
    recalled, answer = await say_to(session, "What is my cat called?")
    assert recalled == []
    assert "recalled" not in answer.made_by
    assert model.calls[0][-1].text == "What is my cat called?"
    assert "Marmalade" not in str(model.calls)


async def test_the_conversation_that_goes_on_is_not_remembered_beside_itself(
    transcript: Transcript,
) -> None:
    merge_lines = talk(transcript, *CAT)[0].conversation
    model = ScriptedChatModel(replies=["Marmalade."])
    session = Session(
        ADA, transcript, model=model, strategy="system", conversation=merge_lines, remember=True
    )
    recalled, _ = await say_to(session, "What is my cat called?")
    assert recalled == []
    assert [message.text for message in model.calls[0][1:]] == [*CAT, "What is my cat called?"]


async def test_what_was_swiped_away_does_not_come_to_mind(transcript: Transcript) -> None:
    asked, _ = talk(transcript, "Who ate the cat's cheese?", "The gardener, in the cellar.")
    say(transcript, asked.conversation, asked.id, "The butler, in the attic.", speaker=PERSONA)
    model = ScriptedChatModel(replies=["The butler."])
    session = Session(ADA, transcript, model=model, strategy="system", remember=True)
    await say_to(session, "Did the gardener eat the cheese in the cellar?")
    assert "The butler, in the attic." in model.calls[0][-2].text
    assert "The gardener, in the cellar." not in str(model.calls)


async def test_at_most_three_memories_come_to_mind_and_nothing_that_is_far(transcript: Transcript) -> None:
    for number in range(6):
        talk(transcript, f"My cat is {number}.", f"A cat of {number}.")
    model = ScriptedChatModel(replies=["Well."])
    session = Session(ADA, transcript, model=model, strategy="system", remember=True)
    recalled, _ = await say_to(session, "Cats: which cat?")
    assert len(recalled) == 3
    recalled, _ = await say_to(session, "Zebrafish?")
    assert recalled == []
    fewer = Session(
        ADA, transcript, model=model, strategy="system", remember=True, recall=RecallOptions(k=1)
    )
    recalled, _ = await say_to(fewer, "Cats: which cat?")
    assert len(recalled) == 1
