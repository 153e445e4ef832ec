"""What a front end can rely on in a scene: events, what is kept, and every way a turn can end."""

import asyncio
import hashlib
import json
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from helpers.broken_servers import SSE, Answer, finished, serving, stream_of
from helpers.failing import refused, refusing_first
from helpers.scenes import (
    DIRECTORS,
    SCRIPT,
    by_prompt,
    everybodys,
    full_room,
    line_by,
    prattle,
    prattlers,
    room,
    told_in,
)
from helpers.texts import number_of
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from rolellm_agents.errors import MessageError, ModelError, RoleLLMError, SceneError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Persona
from rolellm_agents.persona.yaml import to_yaml
from rolellm_agents.scene import NARRATOR, LoadedScene, Scene, Seat, cast_scene
from rolellm_agents.scene.scene import Director, Narrator, OpeningLine, Stop
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs.events import (
    MessageDone,
    Prompted,
    Recalled,
    Retried,
    SceneEnded,
    SceneEvent,
    SpeakerChosen,
    TokenDelta,
    TurnFailed,
    Waiting,
    YourTurn,
)
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage, stored_scene

QUIET = ScriptedChatModel(replies=[ModelError("nobody should ask this model")])
SLOW = 0.01
"""Seconds a word: enough for each word to come alone."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "transcript.db"


@pytest.fixture
def transcript(file: Path) -> Iterator[Transcript]:
    with Transcript(file) as opened:
        yield opened


def models_of(stage: Stage) -> dict[str, Any]:
    """What plays each seat."""
    return {seat: voice.model for seat, voice in stage.ensemble.voices.items()}


def open_stage(
    transcript: Transcript, loaded: LoadedScene | None = None, *, models: Any = None, **options: Any
) -> Stage:
    """A stage with prattling models; asking any other model fails."""
    loaded = loaded or room()
    model = options.pop("model", QUIET)
    ensemble = Ensemble(loaded, model=model, models=prattlers(loaded) | (models or {}))
    return Stage(ensemble, transcript, **options)


async def hear(events: AsyncGenerator[SceneEvent, None]) -> list[SceneEvent]:
    """All of them."""
    async with aclosing(events):
        return [event async for event in events]


async def play(stage: Stage, turns: int) -> None:
    """Let so many turns pass, all of which must end well."""
    for _ in range(turns):
        events = await hear(stage.step())
        assert not [event for event in events if isinstance(event, TurnFailed)]


def last_of(stage: Stage) -> Message:
    return stage.messages[-1]


def speakers(stage: Stage) -> list[str]:
    return [message.speaker for message in stage.messages]


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


def stood(messages: Sequence[Message]) -> list[tuple[Any, ...]]:
    """What makes two scenes the same."""
    return [(one.speaker, one.kind, one.audience, one.text) for one in messages]


def in_file(file: Path, stage: Stage) -> list[Message]:
    """The scene as somebody who comes back finds it."""
    assert stage.conversation is not None
    with Transcript(file) as reader:
        return reader.path(stage.conversation, reader.latest_branch(stage.conversation))


# A turn that goes well


async def test_a_turn_tells_who_speaks_what_they_read_their_words_and_the_line(
    transcript: Transcript, file: Path
) -> None:
    loaded = room(opening=(OpeningLine(text="It is late."),))
    ada = ScriptedChatModel(replies=["One, two, three, and four."], seconds_per_word=SLOW)
    stage = open_stage(transcript, loaded, models={"ada": ada})
    opened, chosen, recalled, prompted, *words, done = await hear(stage.step())

    assert isinstance(opened, MessageDone)
    assert (opened.message.speaker, opened.message.text) == (NARRATOR, "It is late.")
    assert chosen == SpeakerChosen(seat="ada", why="Next in the order of the cast.")
    assert recalled == Recalled(items=())
    assert isinstance(prompted, Prompted)
    assert [part.text for part in prompted.parts if part.part == "line"] == [
        "[It is late.]\n[Ada speaks next.]"
    ]
    assert isinstance(done, MessageDone)
    deltas = [event for event in words if isinstance(event, TokenDelta)]
    assert len(deltas) == len(words) > 1
    assert {delta.message for delta in deltas} == {done.message.id}
    assert "".join(delta.text for delta in deltas) == done.message.text == "One, two, three, and four."
    assert list(stage.messages) == [opened.message, done.message] == in_file(file, stage)
    assert not stage.answering


async def test_words_are_in_the_transcript_before_they_are_told(transcript: Transcript, file: Path) -> None:
    ada = ScriptedChatModel(replies=["One, two, three, and four."], seconds_per_word=SLOW)
    stage = open_stage(transcript, models={"ada": ada})
    told = ""
    with Transcript(file) as reader:
        async for event in stage.step():
            if isinstance(event, TokenDelta):
                told += event.text
                kept = reader.message(event.message)
                assert (kept.text, kept.status, kept.speaker) == (told, "cut", "ada")
            elif isinstance(event, MessageDone):
                assert reader.message(event.message.id) == event.message
    assert told == "One, two, three, and four."


async def test_a_line_tells_who_heard_it_and_what_made_it(transcript: Transcript) -> None:
    ada = ScriptedChatModel(replies=["(whispers to Ben) The key is under the mat."])
    stage = open_stage(transcript, models={"ada": ada}, seed=5)
    await play(stage, 1)
    line = last_of(stage)
    (prompt,) = ada.calls
    sent = json.dumps([[one.type, one.content] for one in prompt], ensure_ascii=False)
    assert (line.kind, line.audience, line.text, line.status) == (
        "whisper",
        ("ada", "ben"),
        "The key is under the mat.",
        "complete",
    )
    made_by = dict(line.made_by)
    assert 0 < made_by.pop("first_token_s") <= made_by.pop("seconds")
    assert made_by.pop("seed") > 0
    assert made_by == {
        "model": "scripted:scripted",
        "strategy": "system",
        "prompt": hashlib.sha256(sent.encode()).hexdigest()[:16],
        "finish_reason": "stop",
        "why": "Next in the order of the cast.",
    }
    read = sum(len(one.text.split()) for one in prompt)
    assert line.usage == {"input_tokens": read, "output_tokens": 9, "total_tokens": read + 9}


@pytest.mark.parametrize(
    ("answer", "kind", "audience", "text"),
    [
        (
            "(whispers to Ben) Trust nobody, and her least of all.",
            "whisper",
            ("ada", "ben"),
            "Trust nobody, and",
        ),
        (
            "Ada (whispering to Ben): Trust nobody at all.",
            "whisper",
            ("ada", "ben"),
            "Trust nobody at all.",
        ),
        ("(thinks) Not a word to either of them.", "think", ("ada",), "Not a word"),
        ("(whispers to the man in black) Trust nobody.", "think", ("ada",), "Trust nobody."),
        ("(whispers to Ben, but so that nobody hears it", "whisper", ("ada", "ben"), "("),
        ("*opens the window*", "act", ("ada", "ben", "cleo"), "opens the window"),
        ("Ada: It is cold.", "say", ("ada", "ben", "cleo"), "It is cold."),
    ],
)
async def test_at_no_moment_has_anybody_heard_what_is_not_for_them(
    transcript: Transcript, file: Path, answer: str, kind: str, audience: tuple[str, ...], text: str
) -> None:
    ada = ScriptedChatModel(replies=[answer], seconds_per_word=SLOW / 4)
    stage = open_stage(transcript, models={"ada": ada})
    with Transcript(file) as reader:
        async for event in stage.step():
            if isinstance(event, TokenDelta):
                assert reader.message(event.message).audience == audience
    assert (last_of(stage).kind, last_of(stage).audience) == (kind, audience)
    assert last_of(stage).text.startswith(text)
    assert {one.audience for one in stage.tree()} == {audience}


async def test_a_model_that_cannot_stream_speaks_at_once(transcript: Transcript) -> None:
    ada = ScriptedChatModel(replies=["One, two, three."], disable_streaming=True)
    stage = open_stage(transcript, models={"ada": ada})
    events = await hear(stage.step())
    assert [event.text for event in events if isinstance(event, TokenDelta)] == ["One, two, three."]
    assert texts(stage.messages) == ["One, two, three."]


async def test_each_reads_what_they_witnessed_and_can_be_asked_for_it(transcript: Transcript) -> None:
    stage = open_stage(
        transcript, models={"ada": ScriptedChatModel(replies=["(whispers to Ben) Psst, the key!"])}
    )
    await play(stage, 3)
    assert speakers(stage) == ["ada", "ben", "cleo"]
    assert [one.speaker for one in stage.witnessed("cleo")] == ["ben", "cleo"]
    assert stage.witnessed("ben") == list(stage.messages)
    assert "the key" in told_in(models_of(stage)["ben"].calls[0])
    assert "the key" not in told_in(models_of(stage)["cleo"].calls[0])
    with pytest.raises(SceneError, match="There is no seat 'dora'"):
        stage.witnessed("dora")


async def test_while_a_turn_is_on_its_way_everything_else_is_refused(transcript: Transcript) -> None:
    stage = open_stage(transcript, room(seats={"cleo": {"present": False}}))
    async with aclosing(stage.step()) as events:
        await anext(events)
        assert stage.answering
        for other in (stage.step(), stage.say(line_by("ada", "Hello."))):
            with pytest.raises(MessageError, match="still being generated"):
                await hear(other)
        for deed in (stage.undo, lambda: stage.let_in("cleo"), lambda: stage.let_out("ada")):
            with pytest.raises(MessageError, match="still being generated"):
                deed()
        await hear(events)
    assert len(stage.messages) == 1


async def test_the_end_is_told_once_it_has_come_and_whenever_somebody_tries_to_go_on(
    transcript: Transcript,
) -> None:
    stage = open_stage(transcript, room(stop=Stop(turns=2)))
    over = SceneEnded(why="It has had its 2 turns.")
    assert over not in await hear(stage.step())
    assert not stage.ended
    assert (await hear(stage.step()))[-1] == over
    assert stage.ended == over.why
    assert await hear(stage.step()) == [over]
    events = await hear(stage.say(line_by("cleo", "Wait for me!")))
    assert isinstance(events[0], MessageDone)
    assert events[1:] == [SceneEnded(why="It has had its 2 turns.")]


async def test_the_end_of_a_scripted_order_is_told(transcript: Transcript) -> None:
    order = Director(kind="scripted", order=("cleo", "ada"))
    stage = open_stage(transcript, room(director=order))
    await play(stage, 2)
    assert speakers(stage) == ["cleo", "ada"]
    (over,) = await hear(stage.step())
    assert isinstance(over, SceneEnded)
    assert over.why


# Faults


async def test_a_faulty_answer_is_kept_beside_the_one_that_stands(transcript: Transcript) -> None:
    replies = [
        "As an AI language model, I cannot play a character.",
        "I shall fetch the lamp from the hall.",
    ]
    stage = open_stage(transcript, models={"ada": ScriptedChatModel(replies=list(replies))})
    events = await hear(stage.step())
    (retried,) = [event for event in events if isinstance(event, Retried)]
    assert retried.message is not None
    assert texts(stage.messages) == [replies[1]]
    faulty, good = stage.swipes(last_of(stage).id)
    assert faulty == retried.message
    assert (faulty.text, faulty.status, faulty.made_by["fault"]) == (replies[0], "complete", retried.fault)
    assert good == last_of(stage)
    assert "fault" not in good.made_by
    assert faulty.made_by["seed"] != good.made_by["seed"]
    await play(stage, 1)
    assert "language model" not in told_in(models_of(stage)["ben"].calls[0])


async def test_an_answer_that_is_faulty_again_stands_with_its_fault(transcript: Transcript) -> None:
    stage = open_stage(transcript, models={"ada": ScriptedChatModel(replies=["Ben: I am Ben."])})
    await play(stage, 1)
    assert (last_of(stage).text, last_of(stage).made_by["fault"]) == ("…", "It says nothing.")
    assert len(stage.tree()) == 2


async def test_what_goes_on_as_another_is_cut(transcript: Transcript) -> None:
    stage = open_stage(
        transcript, models={"ada": ScriptedChatModel(replies=["I am Ada.\nBen: And I am Ben."])}
    )
    await play(stage, 1)
    assert texts(stage.messages) == ["I am Ada."]
    assert len(stage.tree()) == 1


async def test_a_busy_server_delays_a_line_and_each_wait_is_told(transcript: Transcript) -> None:
    busy = refusing_first(refused(429, retry_after="0"), answer=lambda _: "I shall fetch the lamp.")
    stage = open_stage(transcript, models={"ada": FunctionModel(function=busy)})
    events = await hear(stage.step())
    kinds = [type(event) for event in events if not isinstance(event, TokenDelta)]
    assert kinds == [SpeakerChosen, Recalled, Prompted, Waiting, MessageDone]
    assert texts(stage.messages) == ["I shall fetch the lamp."]
    assert len(stage.tree()) == 1


# Saying it anew, and walking in the tree


async def test_what_is_said_again_is_a_swipe_and_what_came_after_stays_in_the_tree(
    transcript: Transcript,
) -> None:
    stage = open_stage(transcript)
    await play(stage, 2)
    first, second = stage.messages
    await hear(stage.again())
    assert stage.messages[0] == first
    assert last_of(stage).speaker == "ben"
    assert stage.swipes(second.id) == [second, last_of(stage)]
    assert last_of(stage).text != second.text
    assert last_of(stage).made_by["seed"] != second.made_by["seed"]
    seeds = {second.made_by["seed"], last_of(stage).made_by["seed"]}
    await hear(stage.again())
    assert last_of(stage).made_by["seed"] not in seeds
    await play(stage, 1)
    assert speakers(stage) == ["ada", "ben", "cleo"]


async def test_what_a_person_said_is_not_said_again_but_what_a_model_said_before(
    transcript: Transcript,
) -> None:
    stage = open_stage(transcript)
    with pytest.raises(MessageError, match="Nobody has spoken yet"):
        await hear(stage.again())
    await hear(stage.say(line_by("ben", "Good evening.")))
    with pytest.raises(MessageError, match="Nobody has spoken yet"):
        await hear(stage.again())
    await play(stage, 1)
    await hear(stage.again())
    assert speakers(stage) == ["ben", "cleo"]


async def test_when_nothing_new_comes_what_was_said_stays_in_view(
    transcript: Transcript, file: Path
) -> None:
    ada = ScriptedChatModel(replies=["It is cold in here tonight.", ModelError("away")])
    stage = open_stage(transcript, models={"ada": ada})
    await play(stage, 1)
    events = await hear(stage.again())
    assert isinstance(events[-1], TurnFailed)
    assert texts(stage.messages) == texts(in_file(file, stage)) == ["It is cold in here tonight."]
    await play(stage, 1)
    assert speakers(stage) == ["ada", "ben"]


async def test_undo_redo_branches_and_choices_lead_where_they_say(
    transcript: Transcript, file: Path
) -> None:
    stage = open_stage(transcript)
    await play(stage, 3)
    first, second, third = stage.messages
    assert stage.undo()
    assert list(stage.messages) == [first, second] == in_file(file, stage)
    assert stage.redo()
    assert stage.undo()
    assert stage.undo()
    await play(stage, 1)
    other = last_of(stage)
    assert (other.speaker, other.parent) == ("ben", first.id)
    assert other.text != second.text

    stage.choose(second.id)
    assert list(stage.messages) == [first, second, third]
    name = stage.branch(second.id)
    await play(stage, 1)
    assert stage.branches() == {"main": third.id, name: last_of(stage).id}
    stage.go_to_branch("main")
    assert list(stage.messages) == [first, second, third]
    assert len(stage.tree()) == 5


async def test_who_has_left_is_there_again_on_a_branch_from_before(transcript: Transcript) -> None:
    stage = open_stage(transcript)
    await play(stage, 1)
    stage.let_out("cleo")
    assert "cleo" not in stage.present
    stage.branch(stage.messages[0].id)
    assert stage.present == ("ada", "ben", "cleo")
    await play(stage, 2)
    assert speakers(stage) == ["ada", "ben", "cleo"]


# Turns that are stopped


async def test_a_line_that_is_stopped_is_kept_and_the_scene_goes_on(
    transcript: Transcript, file: Path
) -> None:
    whole = "One two three four five six seven eight nine ten."
    ada = ScriptedChatModel(replies=[whole], seconds_per_word=SLOW)
    stage = open_stage(transcript, models={"ada": ada})
    async with aclosing(stage.step()) as events:
        async for event in events:
            if isinstance(event, TokenDelta):
                stage.cancel()
    assert isinstance(event, MessageDone)
    stopped = event.message
    assert (stopped.status, stopped.speaker) == ("stopped", "ada")
    assert 0 < len(stopped.text) < len(whole)
    assert whole.startswith(stopped.text)
    assert stopped.made_by.keys() >= {"model", "strategy", "prompt"}
    assert list(stage.messages) == [stopped] == in_file(file, stage)
    assert not stage.answering

    await play(stage, 1)
    assert speakers(stage) == ["ada", "ben"]
    assert stopped.text in told_in(models_of(stage)["ben"].calls[0])


async def test_a_turn_that_is_stopped_before_its_first_word_has_not_been(transcript: Transcript) -> None:
    stage = open_stage(transcript)
    async with aclosing(stage.step()) as events:
        async for event in events:
            if isinstance(event, SpeakerChosen):
                stage.cancel()
    assert stage.messages == ()
    stage.cancel()
    await play(stage, 1)
    assert speakers(stage) == ["ada"]


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("I see. (whispers to Ben) The key is under the mat, and she must not know.", "I see."),
        ("I see.\nBen: So do I, and I should like to go on and on.", "I see."),
    ],
)
async def test_a_line_that_is_stopped_holds_nothing_that_is_not_for_all(
    transcript: Transcript, answer: str, left: str
) -> None:
    ada = ScriptedChatModel(replies=[answer], seconds_per_word=SLOW)
    stage = open_stage(transcript, models={"ada": ada})
    told = ""
    async with aclosing(stage.step()) as events:
        async for event in events:
            told += event.text if isinstance(event, TokenDelta) else ""
            if len(told) > len(left) + 30:
                stage.cancel()
    assert (last_of(stage).status, last_of(stage).text) == ("stopped", left)


@pytest.mark.parametrize("how", ["close", "cancel the task"])
async def test_a_line_that_nobody_listens_to_any_more_is_kept(transcript: Transcript, how: str) -> None:
    ada = ScriptedChatModel(replies=["One two three four five six."], seconds_per_word=SLOW)
    stage = open_stage(transcript, models={"ada": ada})
    begun = asyncio.Event()

    async def front_end() -> None:
        async with aclosing(stage.step()) as events:
            async for event in events:
                if isinstance(event, TokenDelta):
                    if how == "close":
                        return
                    begun.set()

    task = asyncio.create_task(front_end())
    if how != "close":
        await begun.wait()
        task.cancel()
    await asyncio.wait([task])
    assert [one.status for one in stage.messages] == ["stopped"]
    await play(stage, 1)
    assert speakers(stage) == ["ada", "ben"]


# Turns that fail


async def test_a_model_that_fails_leaves_the_scene_as_it_was(transcript: Transcript) -> None:
    ben = ScriptedChatModel(replies=[ModelError("The model is away."), "Now I am back, and glad of it."])
    stage = open_stage(transcript, models={"ben": ben})
    await play(stage, 1)
    failed = (await hear(stage.step()))[-1]
    assert isinstance(failed, TurnFailed)
    assert (str(failed.error), failed.message) == ("The model is away.", None)
    assert speakers(stage) == ["ada"]
    await play(stage, 1)
    assert texts(stage.messages)[1:] == ["Now I am back, and glad of it."]


async def test_a_model_that_breaks_in_the_middle_leaves_what_it_said(
    transcript: Transcript, file: Path
) -> None:
    errors = [ModelError("The model broke.")]

    def answer(_: list[BaseMessage]) -> Iterator[str]:
        yield from ("One", " two", " three")
        if errors:
            raise errors.pop()
        yield " four five six."

    ada = FunctionModel(function=answer)
    stage = open_stage(transcript, models={"ada": ada})
    failed = (await hear(stage.step()))[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.message is not None
    assert (failed.message.status, failed.message.text) == ("failed", "One two three")
    assert list(stage.messages) == [failed.message] == in_file(file, stage)
    await play(stage, 1)
    assert speakers(stage) == ["ada", "ben"]
    stage.undo()
    await hear(stage.again())
    assert texts(stage.messages) == ["One two three four five six."]
    assert len(stage.swipes(last_of(stage).id)) == 2


async def test_a_narrator_that_fails_leaves_the_line_and_is_asked_again_first(
    transcript: Transcript,
) -> None:
    loaded = room("Ada", "Ben", narrator=Narrator())
    narrator = ScriptedChatModel(replies=[ModelError("away"), "The door is locked."])
    ada = ScriptedChatModel(replies=["*tries the door*"])
    stage = open_stage(transcript, loaded, model=narrator, models={"ada": ada})
    assert isinstance((await hear(stage.step()))[-1], TurnFailed)
    assert [one.kind for one in stage.messages] == ["act"]
    await play(stage, 1)
    assert [one.kind for one in stage.messages] == ["act", "narrate", "say"]


@pytest.mark.parametrize("director", ["bidding", "model"])
async def test_a_director_that_fails_leaves_the_scene_as_it_was(
    transcript: Transcript, director: str
) -> None:
    stage = open_stage(
        transcript, room(director=director), models=dict.fromkeys(("ada", "ben", "cleo"), QUIET)
    )
    (failed,) = await hear(stage.step())
    assert isinstance(failed, TurnFailed)
    assert str(failed.error) == "nobody should ask this model"
    assert stage.messages == ()


class ForeignModel(BaseChatModel):
    """Stands for a model of somebody else's library that cannot be reached."""

    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        raise ConnectionError("no route to the host")

    @property
    def _llm_type(self) -> str:
        return "foreign"


async def test_what_somebody_elses_narrator_raises_is_explained(transcript: Transcript) -> None:
    loaded = room("Ada", "Ben", narrator=Narrator(every=1))
    stage = open_stage(transcript, loaded, model=ForeignModel())
    failed = (await hear(stage.step()))[-1]
    assert isinstance(failed, TurnFailed)
    assert "no route to the host" in str(failed.error)


# People


async def test_where_a_person_sits_the_scene_waits_for_them(transcript: Transcript) -> None:
    stage = open_stage(transcript, room(seats={"ben": {"person": True}}))
    assert stage.persons == ("ben",)
    await play(stage, 1)
    why = "Next in the order of the cast."
    assert await hear(stage.step()) == [SpeakerChosen(seat="ben", why=why), YourTurn(seat="ben", why=why)]
    assert speakers(stage) == ["ada"]
    (done,) = await hear(stage.say(line_by("ben", " Good evening. ")))
    assert isinstance(done, MessageDone)
    assert done.message == last_of(stage)
    assert (done.message.text, done.message.audience) == ("Good evening.", ("ada", "ben", "cleo"))
    assert done.message.made_by == {"person": True}
    await play(stage, 1)
    assert speakers(stage) == ["ada", "ben", "cleo"]


async def test_a_persons_whisper_is_for_those_they_name(transcript: Transcript) -> None:
    stage = open_stage(transcript)
    await hear(stage.say(line_by("ben", "The key is under the mat.", "whisper", ["cleo"])))
    await hear(stage.say(line_by("ben", "Ada suspects us.", "think", ["ada"])))
    assert [one.audience for one in stage.messages] == [("ben", "cleo"), ("ben",)]
    await hear(stage.step(speaker="ada"))
    assert "under the mat" not in told_in(models_of(stage)["ada"].calls[0])
    assert "suspects" not in told_in(models_of(stage)["ada"].calls[0])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (line_by("ada", " "), "The message is empty"),
        (line_by("cleo", "Hello."), "Cleo is not present"),
        (line_by("dora", "Hello."), "There is no seat 'dora'"),
    ],
)
async def test_what_cannot_be_said_is_refused_and_nothing_is_recorded(
    transcript: Transcript, said: Any, why: str
) -> None:
    stage = open_stage(transcript, room(seats={"cleo": {"present": False}}))
    with pytest.raises(RoleLLMError, match=why):
        await hear(stage.say(said))
    assert stage.conversation is None
    assert transcript.conversations() == []


async def test_a_whisper_that_nobody_would_hear_is_refused(transcript: Transcript) -> None:
    stage = open_stage(transcript)
    (failed,) = await hear(stage.say(line_by("ada", "Psst.", "whisper")))
    assert isinstance(failed, TurnFailed)
    assert "Nobody would hear this whisper" in str(failed.error)
    assert stage.messages == ()


async def test_a_seat_is_taken_and_given_back_at_any_time(transcript: Transcript) -> None:
    stage = open_stage(transcript)
    await play(stage, 1)
    stage.take_seat("ben")
    stage.take_seat("ben")
    assert isinstance((await hear(stage.step()))[-1], YourTurn)
    stage.give_back("ben")
    stage.give_back("ada")
    await play(stage, 1)
    assert speakers(stage) == ["ada", "ben"]
    for move in (stage.take_seat, stage.give_back):
        with pytest.raises(SceneError, match="There is no seat 'dora'"):
            move("dora")


async def test_a_person_on_the_narrators_chair_tells_what_happens(transcript: Transcript) -> None:
    stage = open_stage(transcript, room("Ada", "Ben", narrator=Narrator(every=1)))
    stage.take_seat(NARRATOR)
    await play(stage, 1)
    await hear(stage.say(line_by(NARRATOR, "The lamp goes out.", "narrate")))
    await hear(stage.say(line_by(NARRATOR, "A hand on your shoulder.", "whisper", ["ben"])))
    await play(stage, 1)
    assert [one.audience for one in stage.messages[1:3]] == [("ada", "ben"), ("ben",)]
    assert "A hand on your shoulder." in told_in(models_of(stage)["ben"].calls[0])
    assert speakers(stage) == ["ada", NARRATOR, NARRATOR, "ben"]


async def test_the_one_who_is_told_to_speaks(transcript: Transcript) -> None:
    stage = open_stage(transcript, room(director="manual", seats={"cleo": {"present": False}}))
    assert await hear(stage.step()) == [YourTurn(seat=None, why="You choose who speaks.")]
    events = await hear(stage.step(speaker="ben"))
    assert events[0] == SpeakerChosen(seat="ben", why="You chose.")
    assert speakers(stage) == ["ben"]
    (failed,) = await hear(stage.step(speaker="cleo"))
    assert isinstance(failed, TurnFailed)
    assert "Cleo is not present" in str(failed.error)
    for nobody in ("dora", NARRATOR):
        with pytest.raises(SceneError, match="There is no seat"):
            await hear(stage.step(speaker=nobody))


async def test_people_are_let_in_and_out(transcript: Transcript, file: Path) -> None:
    stage = open_stage(transcript, room(seats={"cleo": {"present": False}}))
    await play(stage, 1)
    came = stage.let_in("cleo")
    assert (came.kind, came.text, came.audience) == ("join", "Cleo comes in.", ("ada", "ben", "cleo"))
    went = stage.let_out("ada", "Ada storms out.")
    assert (went.kind, went.text, went.audience) == ("leave", "Ada storms out.", ("ada", "ben", "cleo"))
    assert "ada" not in stage.present
    assert list(stage.messages)[1:] == [came, went] == in_file(file, stage)[1:]
    for move, seat, why in (
        (stage.let_in, "ben", "Ben is present already"),
        (stage.let_out, "ada", "Ada is not present"),
    ):
        with pytest.raises(MessageError, match=why):
            move(seat)
    for move in (stage.let_in, stage.let_out):
        with pytest.raises(SceneError, match="There is no seat 'dora'"):
            move("dora")
    stage.undo()
    assert stage.present == ("ada", "ben", "cleo")


async def test_who_comes_in_reads_nothing_of_what_was_before(transcript: Transcript) -> None:
    stage = open_stage(transcript, room(seats={"cleo": {"present": False}}))
    await play(stage, 2)
    before = texts(stage.messages)
    stage.let_in("cleo")
    await play(stage, 1)
    assert speakers(stage) == ["ada", "ben", "cleo", "cleo"]
    read = told_in(models_of(stage)["cleo"].calls[0])
    assert "Cleo is there with Ada, Ben." in read
    assert "[Cleo comes in.]" in read
    assert not [text for text in before if text in read]


# What does not fit


def remembering(loaded: LoadedScene) -> dict[str, FunctionModel]:
    """Models with room for few lines, which number their summaries."""
    made: dict[str, int] = dict.fromkeys(loaded.seats, 0)

    def answers(seat: str) -> Callable[[Sequence[BaseMessage]], str]:
        def answer(prompt: Sequence[BaseMessage]) -> str:
            if prompt[0].text.startswith("Below is what"):
                made[seat] += 1
                return f"You are {seat}; summary {made[seat]}."
            return prattle(random.Random(number_of(prompt)), 60)

        return answer

    return {seat: FunctionModel(function=answers(seat), n_ctx=400, max_tokens=40) for seat in loaded.seats}


def summaries(stage: Stage) -> list[tuple[int, str, int]]:
    """The place, the text and the lines of each summary on the branch."""
    return [
        (place, one.made_by["summary"]["text"], one.made_by["summary"]["lines"])
        for place, one in enumerate(stage.messages)
        if "summary" in one.made_by
    ]


async def test_what_no_longer_fits_is_summed_up_and_a_branch_from_before_knows_no_summary(
    transcript: Transcript,
) -> None:
    loaded = room("Ada", "Ben", stop=Stop(turns=99))
    models = remembering(loaded)
    stage = open_stage(transcript, loaded, models=models)
    await play(stage, 14)
    (place, text, gone), *later = summaries(stage)
    speaker = stage.messages[place].speaker
    assert text == f"You are {speaker}; summary 1."
    assert 0 < gone < place
    assert later
    calls = [told_in(prompt) for prompt in models[speaker].calls]
    asked = next(number for number, told in enumerate(calls) if told.startswith("Below is what"))
    said = texts(stage.messages)
    assert all(one in calls[asked] for one in said[:gone])
    assert said[gone] not in calls[asked]
    assert f"[What you remember: {text}]" in calls[asked + 1]
    assert not [one for one in said[:gone] if one in calls[asked + 1]]
    assert all(one in calls[asked + 1] for one in said[gone:place])

    stage.branch(stage.messages[place - 1].id)
    assert summaries(stage) == []
    await play(stage, 1)
    ((again, other, lines),) = summaries(stage)
    assert (again, lines) == (place, gone)
    assert other != text, "it was made anew"


async def test_a_summary_holds_what_the_summary_before_it_held(transcript: Transcript) -> None:
    loaded = room("Ada", "Ben", stop=Stop(turns=99))
    models = remembering(loaded)
    stage = open_stage(transcript, loaded, models=models)
    await play(stage, 24)
    kept = [one for one in summaries(stage) if stage.messages[one[0]].speaker == "ada"]
    assert len(kept) > 1
    asked = [told_in(prompt) for prompt in models["ada"].calls if "Below is what" in prompt[0].text]
    assert len(asked) == len(kept)
    for before, request in zip(kept, asked[1:], strict=False):
        assert f"What Ada remembers of before: {before[1]}" in request
    assert [one[2] for one in kept] == sorted({one[2] for one in kept})


async def test_who_bids_has_no_more_to_read_than_who_speaks(transcript: Transcript) -> None:
    loaded = room("Ada", "Ben", "Cleo", director="bidding", stop=Stop(turns=99))
    models = remembering(loaded)
    stage = open_stage(transcript, loaded, models=models)
    await play(stage, 16)
    seat = stage.messages[summaries(stage)[0][0]].speaker
    *_, bid = [told_in(prompt) for prompt in models[seat].calls if '{"want"' in prompt[-1].text]
    assert f"[What you remember: You are {seat}; summary" in bid
    assert stage.messages[0].text not in bid
    assert stage.messages[-3].text in bid


# The same again


@pytest.mark.parametrize("director", DIRECTORS, ids=lambda one: getattr(one, "kind", one))
async def test_a_scene_that_is_reopened_after_every_turn_is_the_uninterrupted_one(
    file: Path, director: str | Director
) -> None:
    loaded = full_room(director)

    def ensemble(played: LoadedScene) -> Ensemble:
        return Ensemble(played, model=everybodys(played), models=by_prompt(played))

    with Transcript(None) as transcript:
        whole = Stage(ensemble(loaded), transcript)
        while not whole.ended:
            await play(whole, 1)
        uninterrupted = stood(whole.messages)
        faults = len(whole.tree()) - len(whole.messages)
    assert {kind for _, kind, _, _ in uninterrupted} >= {"say", "narrate", "join", "leave"}

    conversation: str | None = None
    for _ in range(9):
        with Transcript(file) as transcript:
            stored, seed = stored_scene(transcript, conversation) if conversation else (loaded, None)
            stage = Stage(ensemble(stored), transcript, conversation=conversation, seed=seed)
            await play(stage, 1)
            conversation, tree = stage.conversation, stage.tree()
    assert stood(stage.messages) == uninterrupted
    assert len(tree) - len(stage.messages) == faults
    assert stage.ended


async def test_the_seed_of_a_stage_is_kept_and_makes_the_scene(transcript: Transcript) -> None:
    loaded = full_room("natural")
    scenes = []
    for seed in (1, 1, 2, None):
        ensemble = Ensemble(loaded, model=everybodys(loaded), models=by_prompt(loaded))
        stage = Stage(ensemble, transcript, seed=seed)
        await play(stage, 5)
        assert stage.conversation is not None
        assert stored_scene(transcript, stage.conversation)[1] == (3 if seed is None else seed)
        scenes.append(stood(stage.messages))
    assert scenes[0] == scenes[1]
    assert len({str(scene) for scene in scenes}) > 1


# What it costs


@pytest.mark.parametrize("director", DIRECTORS, ids=lambda one: getattr(one, "kind", one))
async def test_a_line_takes_one_call_of_a_model_unless_models_direct(
    transcript: Transcript, director: str | Director
) -> None:
    loaded = room("Ada", "Ben", "Cleo", "Dora", director=director, stop=Stop(turns=9))

    def speak(prompt: Sequence[BaseMessage]) -> str:
        asked = '{"want"' in prompt[-1].text
        return '{"want": 3}' if asked else prattle(random.Random(number_of(prompt)))

    models = {seat: FunctionModel(function=speak) for seat in loaded.seats}
    boss = everybodys(loaded)
    stage = open_stage(transcript, loaded, model=boss, models=models)
    counts = []
    for _ in range(9):
        before = len(boss.calls) + sum(len(model.calls) for model in models.values())
        await play(stage, 1)
        counts.append(len(boss.calls) + sum(len(model.calls) for model in models.values()) - before)
        assert len(stage.calls) == counts[-1]
    # Bids are asked of all but the last speaker.
    expected = {"model": [2] * 9, "bidding": [5, *[4] * 8]}
    assert counts == expected.get(str(director), [1] * 9)
    assert len(stage.tree()) == 9


async def test_the_tape_tells_who_asked_and_what_was_said(transcript: Transcript) -> None:
    loaded = room("Ada", "Ben", director="model", narrator=Narrator(every=1), stop=Stop(turns=99))
    director = everybodys(loaded)
    stage = open_stage(transcript, loaded, model=director, models=remembering(loaded))
    asked: set[str] = set()
    for _ in range(16):
        await play(stage, 1)
        asked |= {call["by"] for call in stage.calls}
        spoken = next(call for call in stage.calls if call["by"] == "speak")
        line = next(one for one in reversed(stage.messages) if one.speaker != NARRATOR)
        assert (spoken["text"], spoken["prompt"]) == (line.text, line.made_by["prompt"])
    assert asked == {"direct", "remember", "speak", "narrate"}


def test_only_models_that_have_a_part_are_made() -> None:
    def no_model(spec: str, **_: Any) -> Any:
        raise ModelError(f"{spec} should not be made")

    loaded = room("Ada", "Ben")
    models = prattlers(loaded)
    assert Ensemble(loaded, models=models, make=no_model).models == [*models.values()]
    one = ScriptedChatModel()
    scene = room("Ada", "Ben", director="model", narrator=Narrator())
    assert Ensemble(scene, model=one).models == [one]
    with pytest.raises(ModelError, match="should not be made"):
        Ensemble(scene, models=models, make=no_model)


# What is kept of the scene


async def test_a_scene_is_kept_as_it_was_told(transcript: Transcript) -> None:
    scene = room(
        opening=(OpeningLine(kind="say", text="Silence!"), OpeningLine(text="It is late.")),
        director=SCRIPT.model_copy(update={"order": ("ada", "ben")}),
        seats={"ada": {"secrets": ("She has the key.",), "relations": {"ben": "a friend"}}},
        narrator=Narrator(every=2),
        stop=Stop(said=("good night",)),
        seed=8,
    )
    stage = open_stage(transcript, scene)
    await play(stage, 1)
    assert stage.conversation is not None
    assert stored_scene(transcript, stage.conversation) == (scene, 8)
    (listed,) = transcript.conversations()
    assert (listed.persona, listed.title) == ("scene:room", "A room")


async def test_a_scene_with_persona_files_beside_it_is_found_again_from_anywhere(
    transcript: Transcript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    persona = Persona(id="eve", name="Eve", description="Eve keeps bees.")
    (folder / "eve.yaml").write_text(to_yaml(persona))
    monkeypatch.chdir(tmp_path)
    told = Scene(id="hive", title="Bees", setting="A garden.", cast=(Seat(persona="eve.yaml"),))
    loaded = cast_scene(told, Path("mine/hive.yaml"))
    stage = open_stage(transcript, loaded)
    await play(stage, 1)
    monkeypatch.chdir("/")
    assert stage.conversation is not None
    again, _ = stored_scene(transcript, stage.conversation)
    assert again.personas == loaded.personas
    assert again.scene == loaded.scene


def test_a_chat_is_no_scene(transcript: Transcript) -> None:
    chat = transcript.create_conversation("ada")
    with pytest.raises(SceneError, match="is not a scene"):
        stored_scene(transcript, chat)


# What was on its way when the process died


async def test_a_line_that_was_cut_is_said_again_when_the_scene_is_reopened(transcript: Transcript) -> None:
    loaded = room(stop=Stop(turns=2))
    stage = open_stage(transcript, loaded)
    await play(stage, 1)
    first = last_of(stage)
    assert stage.conversation is not None
    cut = transcript.begin(stage.conversation, first.id, speaker="ben", audience=["ben"])
    transcript.add_piece(cut, "I was just")
    again = open_stage(transcript, loaded, conversation=stage.conversation)
    assert list(again.messages) == [first]
    assert not again.ended, "a line that was cut is no turn"
    await play(again, 1)
    assert speakers(again) == ["ada", "ben"]
    assert texts(again.swipes(last_of(again).id)) == ["I was just", last_of(again).text]
    assert last_of(again).status == "complete"


async def test_a_faulty_answer_after_which_the_process_died_does_not_stand(transcript: Transcript) -> None:
    ada = ScriptedChatModel(replies=["Ben: I am Ben.", ModelError("dies here")])
    stage = open_stage(transcript, models={"ada": ada})
    await hear(stage.step())
    assert stage.messages == ()
    again = open_stage(transcript, conversation=stage.conversation)
    assert again.messages == ()
    await play(again, 1)
    assert len(again.swipes(last_of(again).id)) == 2


async def test_what_was_chosen_since_stands_though_it_was_cut(transcript: Transcript) -> None:
    stage = open_stage(transcript)
    await play(stage, 1)
    first = last_of(stage)
    assert stage.conversation is not None
    cut = transcript.begin(stage.conversation, first.id, speaker="ben", audience=["ada", "ben", "cleo"])
    transcript.add_piece(cut, "I was just")
    again = open_stage(transcript, conversation=stage.conversation)
    await play(again, 1)
    again.choose(cut)
    reopened = open_stage(transcript, conversation=stage.conversation)
    assert texts(reopened.messages) == [first.text, "I was just"]
    await play(reopened, 1)
    assert speakers(reopened) == ["ada", "ben", "cleo"]


async def test_what_a_model_thinks_is_heard_by_no_other_seat_and_kept_with_its_line(
    transcript: Transcript,
) -> None:
    ada = ScriptedChatModel(replies=["<think>I poisoned the tea.</think>\n\nMore tea, Ben?"])
    stage = open_stage(transcript, models={"ada": ada})
    events = [event async for event in stage.step()]
    told = "".join(event.text for event in events if isinstance(event, TokenDelta))
    assert told == "More tea, Ben?"
    await play(stage, 5)
    line = stage.messages[0]
    assert (line.text, line.made_by["reasoning_content"]) == ("More tea, Ben?", "I poisoned the tea.")
    for model in models_of(stage).values():
        assert model.calls
        assert not [call for call in model.calls if "poison" in told_in(call)]


async def test_a_scene_through_a_server_of_a_reasoning_model_lets_no_thought_be_heard(
    transcript: Transcript,
) -> None:
    words = ("<thi", "nk>I poisoned", " the tea.</think", ">\n\nMore tea?")
    with serving(Answer(body=stream_of(*words, end=finished()), content_type=SSE)) as server:
        model = get_model("openai:reasoner", base_url=server.url)
        loaded = room()
        stage = Stage(Ensemble(loaded, model=model), transcript)
        await play(stage, 4)
    assert {line.text for line in stage.messages} == {"More tea?"}
    assert [line.made_by["reasoning_content"] for line in stage.messages] == ["I poisoned the tea."] * 4
    assert "poison" not in str([request["messages"] for request in server.requests])
