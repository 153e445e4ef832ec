"""The scene graph as somebody uses it in a program of their own: called, resumed, streamed, kept."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from helpers.scenes import by_speaker, line_by, prattlers, room, told_in
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from rolellm_agents.errors import MessageError, ModelError, SceneError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.scene import NARRATOR, LoadedScene, SceneLine
from rolellm_agents.scene.scene import Director, Event, Narrator, OpeningLine, Stop
from rolellm_graphs import scene_graph
from rolellm_graphs.scene.graph import SceneGraph
from rolellm_graphs.scene.state import SceneContext, SceneInput

THREAD: RunnableConfig = {"configurable": {"thread_id": "evening"}}
QUIET = ScriptedChatModel(replies=[ModelError("nobody should ask this model")])


def graph_of(loaded: LoadedScene, **options: Any) -> SceneGraph:
    """The graph with prattling models; asking any other model fails."""
    return scene_graph(loaded, **{"model": QUIET, "models": prattlers(loaded), **options})


def kept(loaded: LoadedScene, **options: Any) -> SceneGraph:
    return graph_of(loaded, checkpointer=InMemorySaver(), **options)


def play(graph: SceneGraph, given: Any = None, turns: int | None = None, **context: Any) -> dict[str, Any]:
    """One call on the thread."""
    told: dict[str, Any] = graph.invoke(
        {} if given is None else given, THREAD, context=SceneContext(turns=turns, **context)
    )
    return told


def waits_for(output: Mapping[str, Any]) -> Any:
    """What a call that waits for a person tells."""
    (asked,) = output["__interrupt__"]
    return asked.value


def speakers(output: Mapping[str, Any]) -> list[str]:
    return [line["speaker"] for line in output["lines"]]


def texts(lines: Sequence[SceneLine]) -> list[str]:
    return [line["text"] for line in lines]


# Called once


def test_a_scene_is_played_to_its_end() -> None:
    loaded = room(stop=Stop(turns=7))
    models = prattlers(loaded)
    output = scene_graph(loaded, models=models).invoke({})
    assert speakers(output) == ["ada", "ben", "cleo", "ada", "ben", "cleo", "ada"]
    assert output["ended"] == "It has had its 7 turns."
    assert [line["text"] for line in output["lines"][::3]] == models["ada"].replies[:3]
    assert {tuple(line["audience"]) for line in output["lines"]} == {("ada", "ben", "cleo")}
    assert len({line["id"] for line in output["lines"]}) == 7
    assert [len(models[seat].calls) for seat in loaded.seats] == [3, 2, 2]


async def test_awaited_it_is_the_same_scene() -> None:
    loaded = room(director="natural", stop=Stop(turns=9), narrator=Narrator(every=3), seed=4)
    told = ["It grows dark.", "It rains.", "A clock strikes."]
    called = graph_of(loaded, model=ScriptedChatModel(replies=told)).invoke({})
    awaited = await graph_of(loaded, model=ScriptedChatModel(replies=told)).ainvoke({})
    assert awaited == called
    assert NARRATOR in speakers(called)


def test_each_speaker_reads_what_the_others_said() -> None:
    loaded = room("Ada", "Ben", stop=Stop(turns=4))
    models = prattlers(loaded)
    lines = scene_graph(loaded, models=models).invoke({})["lines"]
    first, second = models["ben"].calls
    assert [message.type for message in second] == ["system", "human", "ai", "human"]
    assert [one.text for one in second[:3]] == [*(one.text for one in first), lines[1]["text"]]
    cue = "[Ben speaks next.]"
    assert first[1].text == f"Ada: {lines[0]['text']}\n{cue}"
    assert second[3].text == f"Ada: {lines[2]['text']}\n{cue}"
    assert "A small room with one lamp." in second[0].text


def test_whispers_and_thoughts_reach_those_they_are_for() -> None:
    loaded = room(stop=Stop(turns=4))
    models = prattlers(loaded)
    models["ada"].replies = ["(whispers to Ben) The key is under the mat.", "(thinks) Cleo must not know."]
    lines = scene_graph(loaded, models=models).invoke({})["lines"]
    assert [(line["kind"], line["audience"], line["text"]) for line in lines[::3]] == [
        ("whisper", ["ada", "ben"], "The key is under the mat."),
        ("think", ["ada"], "Cleo must not know."),
    ]
    assert "under the mat" in told_in(models["ben"].calls[0])
    assert "under the mat" not in told_in(models["cleo"].calls[0])


def test_a_faulty_answer_is_given_again_once() -> None:
    loaded = room("Ada", "Ben", stop=Stop(turns=2))
    models = prattlers(loaded)
    models["ada"].replies = ["Ben: I am Ben.", "I am Ada, and I have come about the lamp."]
    models["ben"].replies = ["Ada: Indeed.", "Ada: Indeed you have."]
    ada, ben = scene_graph(loaded, models=models).invoke({})["lines"]
    assert (ada["text"], "fault" in ada["made_by"]) == ("I am Ada, and I have come about the lamp.", False)
    assert (ben["text"], ben["made_by"]["fault"]) == ("…", "It says nothing.")


def test_the_same_seed_gives_the_same_scene_and_another_one_another() -> None:
    loaded = room(director="natural", stop=Stop(turns=12))
    orders = [
        tuple(speakers(graph_of(loaded).invoke({}, context=SceneContext(seed=seed))))
        for seed in (1, 1, 2, 3)
    ]
    assert orders[0] == orders[1]
    assert len(set(orders)) > 1


def test_a_scene_is_found_by_its_id() -> None:
    model = ScriptedChatModel()
    graph = scene_graph("last-booth", model=model)
    output = graph.invoke({}, context=SceneContext(turns=1, persons=()))
    assert output["lines"]
    assert model.calls
    with pytest.raises(SceneError, match="There is no scene 'last-both'"):
        scene_graph("last-both", model=model)


def test_models_for_seats_that_there_are_not_are_refused() -> None:
    with pytest.raises(SceneError, match="There is no seat 'dora'"):
        scene_graph(room(), model=QUIET, models={"dora": QUIET})
    with pytest.raises(SceneError, match="There is no seat 'dora'"):
        scene_graph(room(), model=QUIET, memories={"dora": []})


# Called again


def test_what_is_given_is_gone_on_with() -> None:
    loaded = room()
    models = prattlers(loaded)
    graph = scene_graph(loaded, models=models)
    first = graph.invoke({}, context=SceneContext(turns=2))
    second = graph.invoke({"lines": first["lines"]}, context=SceneContext(turns=2))
    assert second["lines"][:2] == first["lines"]
    assert speakers(second) == ["ada", "ben", "cleo", "ada"]
    assert first["lines"][0]["text"] in told_in(models["cleo"].calls[0])


def test_on_a_thread_each_line_stands_once() -> None:
    loaded = room(opening=(OpeningLine(text="It is late."), OpeningLine(speaker="ben", text="Well?")))
    graph = kept(loaded)
    before: list[SceneLine] = []
    for calls in range(1, 5):
        lines = play(graph, turns=2)["lines"]
        assert lines[: len(before)] == before
        assert len(lines) == 2 + 2 * calls
        before = lines
    assert len({line["id"] for line in before}) == len(set(texts(before))) == len(before)
    whole = graph_of(loaded).invoke({}, context=SceneContext(turns=8))
    assert whole["lines"] == before


def test_threads_know_nothing_of_each_other() -> None:
    graph = kept(room())
    play(graph, turns=3)
    other = graph.invoke({}, {"configurable": {"thread_id": "morning"}}, context=SceneContext(turns=1))
    assert speakers(other) == ["ada"]


def test_a_call_ends_after_so_many_turns_over_or_not() -> None:
    output = play(kept(room(stop=Stop(turns=5))), turns=3)
    assert (len(output["lines"]), output["ended"]) == (3, "")


def test_a_thread_that_is_over_says_why_each_time_and_goes_on_when_somebody_speaks() -> None:
    graph = kept(room("Ada", "Ben", stop=Stop(turns=2)))
    first = play(graph)
    assert first["ended"] == "It has had its 2 turns."
    assert play(graph) == first
    output = play(graph, {"said": line_by("ada", "One more thing about the lamp.")})
    assert texts(output["lines"])[2:] == ["One more thing about the lamp."]
    assert output["ended"] == "It has had its 2 turns."


# People


def test_where_a_person_sits_the_scene_waits_and_goes_on_with_what_they_say() -> None:
    graph = kept(room(seats={"ben": {"person": True}}))
    output = play(graph)
    assert speakers(output) == ["ada"]
    assert waits_for(output) == {"seat": "ben", "why": "Next in the order of the cast."}

    output = play(graph, Command(resume=line_by("ben", "  Good evening.  ")))
    assert speakers(output) == ["ada", "ben", "cleo", "ada"]
    assert waits_for(output)["seat"] == "ben"
    said = output["lines"][1]
    assert (said["text"], said["kind"], said["made_by"]) == ("Good evening.", "say", {"person": True})


async def test_awaited_it_waits_as_well() -> None:
    graph = kept(room(seats={"ben": {"person": True}}))
    output = await graph.ainvoke({}, THREAD)
    assert waits_for(output)["seat"] == "ben"
    whisper = line_by("ben", "Trust nobody.", "whisper", ["ada"])
    output = await graph.ainvoke(Command(resume=whisper), THREAD, context=SceneContext(turns=3))
    assert speakers(output) == ["ada", "ben", "cleo"], "of which the first was said before it waited"
    assert output["lines"][1]["audience"] == ["ada", "ben"]


def test_a_person_may_pass_and_somebody_else_speaks() -> None:
    graph = kept(room(seats={"ben": {"person": True}}))
    play(graph)
    output = play(graph, Command(resume={"pass": True}), turns=1)
    assert speakers(output) == ["ada", "cleo"]
    assert waits_for(play(graph, turns=3))["seat"] == "ben", "to pass is for one turn"


def test_when_all_pass_the_call_ends() -> None:
    graph = kept(room("Ada", "Ben", seats={"ada": {"person": True}, "ben": {"person": True}}))
    assert waits_for(play(graph))["seat"] == "ada"
    assert waits_for(play(graph, Command(resume={"pass": True})))["seat"] == "ben"
    output = play(graph, Command(resume={"pass": True}))
    assert output == {"lines": [], "ended": "Nobody who is present wants to speak."}
    assert waits_for(play(graph))["seat"] == "ada"


def test_a_person_may_say_whose_turn_it_is_instead() -> None:
    graph = kept(room(seats={"ben": {"person": True}}))
    play(graph)
    output = play(graph, Command(resume={"next": "ada"}), turns=1)
    assert speakers(output) == ["ada", "ada"]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (line_by("ben", " \n"), "The message is empty"),
        (line_by("dora", "Hello."), "There is no seat 'dora'"),
        (line_by("cleo", "Hello."), "Cleo is not present"),
        ({"seat": "ben", "kind": "shout", "to": [], "text": "Hello!"}, "There is no kind 'shout'"),
        (line_by("ben", "Psst.", "whisper"), "Nobody would hear this whisper"),
        (line_by("ben", "Psst.", "whisper", ["cleo", "dora", "ben"]), "Nobody would hear this whisper"),
        ({"next": "cleo"}, "Cleo is not present"),
        ({"next": "dora"}, "There is no seat 'dora'"),
        ({"text": "Hello."}, "This is not a line"),
        ([], "This is not a line"),
        ("Hello.", "This is not a line"),
    ],
)
def test_what_cannot_be_is_asked_again(told: Any, why: str) -> None:
    loaded = room("Ada", "Ben", "Cleo", seats={"ben": {"person": True}, "cleo": {"present": False}})
    graph = kept(loaded)
    play(graph)
    asked = waits_for(play(graph, Command(resume=told)))
    assert asked["seat"] == "ben"
    assert why in asked["why"]
    output = play(graph, Command(resume={"seat": "ben", "kind": "say", "text": "Hello."}), turns=1)
    assert texts(output["lines"])[1:] == ["Hello."]


def test_somebody_else_than_the_asked_one_may_answer() -> None:
    graph = kept(room(seats={"ben": {"person": True}}))
    play(graph)
    output = play(graph, Command(resume=line_by("cleo", "He is deaf.")), turns=1)
    assert speakers(output) == ["ada", "cleo"]


def test_a_person_speaks_unasked_and_the_others_answer() -> None:
    loaded = room()
    models = prattlers(loaded)
    graph = kept(loaded, models=models)
    play(graph, turns=1)
    output = play(graph, {"said": line_by("ada", "And another thing!")}, turns=2)
    assert speakers(output) == ["ada", "ada", "ben"]
    assert "And another thing!" in told_in(models["ben"].calls[0])
    assert len(models["ada"].calls) == 1


def test_a_person_may_tell_what_happens() -> None:
    output = play(kept(room()), {"said": line_by(NARRATOR, "The lamp goes out.", "narrate")}, turns=1)
    assert by_speaker(output["lines"]) == [(NARRATOR, "narrate")]
    assert output["lines"][0]["audience"] == ["ada", "ben", "cleo"]


def test_a_person_may_come_and_go() -> None:
    graph = kept(room(seats={"cleo": {"present": False}}))
    output = play(graph, {"said": line_by("cleo", "", "join")}, turns=1)
    assert [(line["text"], line["audience"]) for line in output["lines"]] == [
        ("Cleo comes in.", ["ada", "ben", "cleo"])
    ]
    output = play(graph, {"said": line_by("ada", "Ada storms out.", "leave")}, turns=3)
    assert output["lines"][1]["text"] == "Ada storms out."
    assert speakers(output)[2:] == ["ben", "cleo"]


@pytest.mark.parametrize("given", [{"said": line_by("ada", " ")}, {"next": "cleo"}, {"next": "dora"}])
def test_what_cannot_be_done_unasked_is_refused_and_forgotten(given: SceneInput) -> None:
    loaded = room(seats={"cleo": {"present": False}})
    graph = kept(loaded)
    play(graph, turns=1)
    with pytest.raises((MessageError, SceneError)):
        play(graph, given)
    assert speakers(play(graph, turns=2)) == ["ada", "ben", "ada"]


def test_who_is_told_to_speak_next_does_so_once() -> None:
    output = play(kept(room()), {"next": "cleo"}, turns=3)
    assert speakers(output) == ["cleo", "ada", "ben"]
    assert output["lines"][0]["made_by"]["why"] == "You chose."


def test_the_call_tells_who_are_people() -> None:
    graph = kept(room(seats={"ben": {"person": True}}))
    assert speakers(play(graph, turns=2, persons=())) == ["ada", "ben"]
    assert waits_for(play(graph, turns=2, persons=("cleo",)))["seat"] == "cleo"


# The end


def test_words_that_end_it_end_it() -> None:
    loaded = room(stop=Stop(turns=9, said=("good night",)))
    models = prattlers(loaded)
    models["ben"].replies = ["I am tired. Good night, all of you, and sleep well."]
    output = scene_graph(loaded, models=models).invoke({})
    assert speakers(output) == ["ada", "ben"]
    assert "Good night" in output["ended"]


def test_when_nobody_says_anything_new_it_is_over() -> None:
    loaded = room("Ada", "Ben", stop=Stop(turns=30, silent=2))
    models = prattlers(loaded)
    for model in models.values():
        model.replies = [*model.replies[:2], "Yes."]
        model.once = False
    output = scene_graph(loaded, models=models).invoke({})
    assert len(output["lines"]) < 12
    assert output["ended"] == "Nothing new was said for 2 turns."


def test_when_all_have_left_it_is_over() -> None:
    events = (Event(after=2, leave="ada"), Event(after=2, leave="ben"))
    output = graph_of(room("Ada", "Ben", events=events)).invoke({})
    assert by_speaker(output["lines"])[2:] == [("ada", "leave"), ("ben", "leave")]
    assert output["ended"] == "Nobody is present any more."


# What happens by itself


def test_each_event_happens_once_when_its_time_has_come() -> None:
    loaded = room(
        seats={"cleo": {"present": False}},
        events=(
            Event(after=1, text="A door slams."),
            Event(after=2, join="cleo", text="Cleo comes in, wet."),
            Event(after=4, leave="ada"),
        ),
        stop=Stop(turns=6),
    )
    models = prattlers(loaded)
    graph = kept(loaded, models=models)
    for _ in range(6):
        output = play(graph, turns=1)
    assert by_speaker(output["lines"]) == [
        ("ada", "say"),
        (NARRATOR, "narrate"),
        ("ben", "say"),
        ("cleo", "join"),
        ("cleo", "say"),
        ("ada", "say"),
        ("ada", "leave"),
        ("ben", "say"),
        ("cleo", "say"),
    ]
    told = {line["text"]: line["audience"] for line in output["lines"]}
    assert told["A door slams."] == ["ada", "ben"]
    assert told["Cleo comes in, wet."] == told["Ada leaves."] == ["ada", "ben", "cleo"]
    assert "A door slams." in told_in(models["ben"].calls[0])
    assert "A door slams." not in told_in(models["cleo"].calls[0])
    assert graph_of(loaded).invoke({})["lines"] == output["lines"]


def test_a_narrator_answers_what_is_attempted() -> None:
    loaded = room("Ada", "Ben", narrator=Narrator(about="The door is locked."), stop=Stop(turns=3))
    models = prattlers(loaded)
    models["ada"].replies[0] = "*tries the door*"
    narrator = ScriptedChatModel(replies=["The door   is\nlocked."])
    output = scene_graph(loaded, model=narrator, models=models).invoke({})
    assert by_speaker(output["lines"]) == [
        ("ada", "act"),
        (NARRATOR, "narrate"),
        ("ben", "say"),
        ("ada", "say"),
    ]
    assert output["lines"][1]["text"] == "The door is locked."
    assert output["lines"][1]["audience"] == ["ada", "ben"]
    (prompt,) = narrator.calls
    assert "The door is locked." in prompt[0].text
    assert "tries the door" in prompt[1].text
    assert "The door is locked." in told_in(models["ben"].calls[0])


def test_a_narrator_moves_time_every_so_many_turns() -> None:
    loaded = room("Ada", "Ben", narrator=Narrator(answers=False, every=2), stop=Stop(turns=6))
    models = prattlers(loaded)
    models["ada"].replies[0] = "*tries the door*"
    narrator = ScriptedChatModel(
        replies=["It grows dark.", "", "never asked: it is over by then"], once=True
    )
    output = scene_graph(loaded, model=narrator, models=models).invoke({})
    kinds = [line["kind"] for line in output["lines"]]
    assert kinds == ["act", "say", "narrate", "say", "say", "say", "say"]
    assert len(narrator.calls) == 2


@pytest.mark.parametrize(
    ("replies", "told", "calls"),
    [
        (["I open the door.", "The door gives way."], ["The door gives way."], 2),
        (["Ben: Come in!", "I am Ben, and my door is shut.", "never asked"], [], 2),
        (["*tries the door*", "The lock holds."], ["The lock holds."], 2),
        (
            ['A voice says "I am here." from behind the door.'],
            ['A voice says "I am here." from behind the door.'],
            1,
        ),
    ],
)
def test_a_narrator_who_speaks_as_somebody_is_asked_once_more_and_then_left_out(
    replies: list[str], told: list[str], calls: int
) -> None:
    loaded = room("Ada", "Ben", narrator=Narrator(), stop=Stop(turns=2))
    models = prattlers(loaded)
    models["ada"].replies[0] = "*tries the door of the old lighthouse with both hands*"
    replies = [
        text.replace("*tries the door*", "tries the door of the old lighthouse with both hands")
        for text in replies
    ]
    narrator = ScriptedChatModel(replies=[*replies], once=True)
    output = scene_graph(loaded, model=narrator, models=models).invoke({})
    assert [line["text"] for line in output["lines"] if line["speaker"] == NARRATOR] == told
    assert len(narrator.calls) == calls
    seeds = [options["seed"] for options in narrator.options]
    assert len({*seeds}) == len(seeds)


def test_a_person_on_the_narrators_chair_narrates_instead() -> None:
    loaded = room("Ada", "Ben", narrator=Narrator(every=1))
    output = play(kept(loaded), turns=3, persons=(NARRATOR,))
    assert speakers(output) == ["ada", "ben", "ada"]


def test_an_act_that_was_given_without_its_answer_is_answered_first() -> None:
    """As when a call was cut off before the narrator spoke."""
    loaded = room("Ada", "Ben", narrator=Narrator(), stop=Stop(turns=4))
    models = prattlers(loaded)
    models["ada"].replies[0] = "*tries the door*"
    narrator = ScriptedChatModel(replies=["It is locked."])
    graph = scene_graph(loaded, model=narrator, models=models)
    whole = graph.invoke({})["lines"]
    for model in models.values():
        model._next = 0
    cut = whole[:1]
    models["ada"]._next = 1
    assert graph.invoke({"lines": cut})["lines"] == whole


# Directors


def test_a_manual_director_waits_to_be_told() -> None:
    graph = kept(room(director="manual"))
    assert waits_for(play(graph)) == {"seat": None, "why": "You choose who speaks."}
    output = play(graph, Command(resume={"next": "cleo"}))
    assert speakers(output) == ["cleo"]
    assert waits_for(output)["seat"] is None
    output = play(graph, Command(resume=line_by("ben", "Good evening.")))
    assert speakers(output) == ["cleo", "ben"]
    assert waits_for(output)["seat"] is None


def test_a_manual_director_waits_for_the_person_who_is_told_to_speak() -> None:
    graph = kept(room(director="manual", seats={"ben": {"person": True}}))
    play(graph)
    assert waits_for(play(graph, Command(resume={"next": "ben"}))) == {"seat": "ben", "why": "You chose."}


def test_a_scripted_order_is_followed_to_its_end() -> None:
    order = Director(kind="scripted", order=("cleo", "cleo", "ada"))
    output = graph_of(room(director=order)).invoke({})
    assert speakers(output) == ["cleo", "cleo", "ada"]
    assert output["ended"]


@pytest.mark.parametrize(
    "answer",
    ['{"next": "Dora"}', '{"next": "Zoe"}', '{"next": 5}', "Ben, I think.", "", '{"next": "Ada'],
)
def test_a_model_that_directs_never_lets_somebody_speak_who_is_not_there(answer: str) -> None:
    loaded = room(
        "Ada",
        "Ben",
        "Cleo",
        "Dora",
        director="model",
        seats={"dora": {"present": False}},
        stop=Stop(turns=6),
    )
    director = ScriptedChatModel(replies=[answer])
    output = graph_of(loaded, model=director).invoke({})
    assert len(output["lines"]) == 6
    assert set(speakers(output)) <= {"ada", "ben", "cleo"}
    assert len(director.calls) == 6
    assert all(
        line["made_by"]["why"].startswith("The director's model named nobody") for line in output["lines"]
    )


def test_a_model_directs_by_what_all_who_are_there_have_heard() -> None:
    loaded = room(director="model", stop=Stop(turns=4), seats={"cleo": {"person": True}})
    models = prattlers(loaded)
    models["ada"].replies[0] = "(whispers to Ben) The key is under the mat."
    director = ScriptedChatModel(
        replies=[f'{{"next": "{name}"}}' for name in ("Ada", "Cleo", "Ben", "Ada")]
    )
    graph = scene_graph(loaded, model=director, models=models, checkpointer=InMemorySaver())
    assert waits_for(play(graph))["seat"] == "cleo"
    output = play(graph, Command(resume={"pass": True}))
    assert speakers(output)[:3] == ["ada", "ben", "ada"]
    assert output["lines"][1]["made_by"]["why"] == "The director's model chose."
    # Who passes is there all the same.
    assert all("under the mat" not in told_in(prompt) for prompt in director.calls)


def test_who_wants_most_to_speak_does() -> None:
    loaded = room(director="bidding", stop=Stop(turns=3), seats={"cleo": {"person": True}})
    bids = {
        "ada": ['{"want": 9}', '{"want": 1}'],
        "ben": ['{"want": 2}', "I would rather not.", '{"want": 8}'],
    }
    models = prattlers(loaded)
    models["ada"].replies = [bids["ada"][0], "I begin, since nobody else does.", bids["ada"][1]]
    models["ben"].replies = [bids["ben"][0], bids["ben"][1], bids["ben"][2], "Then it is my turn at last."]
    graph = scene_graph(loaded, model=QUIET, models=models, checkpointer=InMemorySaver())
    output = play(graph)
    assert speakers(output) == ["ada"]
    assert output["lines"][0]["made_by"]["why"] == "Ada wants to speak most (9 of 9)."
    # Ben's bid could not be read, and counts as much as a person's: chance chooses.
    asked = waits_for(output)
    assert asked["why"] == "Cleo wants to speak most (5 of 9)."
    assert not models["cleo"].calls


def test_who_has_just_come_in_may_bid_and_who_has_just_spoken_may_not() -> None:
    loaded = room(
        director="bidding",
        seats={"cleo": {"present": False}},
        events=(Event(after=1, join="cleo"),),
        stop=Stop(turns=2),
    )
    models = prattlers(loaded)
    models["ada"].replies = ['{"want": 9}', "I begin, since nobody else does.", '{"want": 9}']
    models["ben"].replies = ['{"want": 1}', '{"want": 1}']
    models["cleo"].replies = ['{"want": 8}', "Have I missed anything of note?"]
    output = scene_graph(loaded, model=QUIET, models=models).invoke({})
    assert by_speaker(output["lines"]) == [("ada", "say"), ("cleo", "join"), ("cleo", "say")]


def test_people_are_not_asked_how_much_they_want_to_speak() -> None:
    loaded = room("Ada", "Ben", director="bidding", seats={"ben": {"person": True}})
    models = prattlers(loaded)
    models["ada"].replies = ['{"want": 9}', "I begin, since nobody else does."]
    output = play(graph_of(loaded, models=models, checkpointer=InMemorySaver()))
    assert waits_for(output)["seat"] == "ben"
    assert not models["ben"].calls


# Watched, and kept


def test_updates_tell_of_each_step() -> None:
    graph = graph_of(room("Ada", "Ben", stop=Stop(turns=1)))
    steps = [next(iter(update)) for update in graph.stream({}, stream_mode="updates")]
    assert steps == [
        "begin",
        "narrate",
        "events",
        "direct",
        "remember",
        "speak",
        "guard",
        "witness",
        "narrate",
    ]


async def test_words_are_streamed_as_they_come() -> None:
    loaded = room("Ada", "Ben", stop=Stop(turns=2))
    stream: Any = graph_of(loaded).astream({}, stream_mode="messages", subgraphs=True)
    words = [chunk.text async for _, (chunk, _) in stream if isinstance(chunk, AIMessage)]
    models = prattlers(loaded)
    assert "".join(words) == "".join(str(models[seat].replies[0]) for seat in ("ada", "ben"))
    assert len(words) > 10


def test_values_grow_line_by_line() -> None:
    graph = graph_of(room("Ada", "Ben", stop=Stop(turns=3)))
    lengths = [len(values["lines"]) for values in graph.stream({}, stream_mode="values")]
    assert lengths == sorted(lengths)
    assert set(lengths) == {0, 1, 2, 3}


def test_what_a_thread_keeps_is_plain() -> None:
    loaded = room(
        seats={"ben": {"person": True}},
        narrator=Narrator(every=1),
        opening=(OpeningLine(text="It is late."),),
    )
    graph = kept(loaded, model=ScriptedChatModel(replies=["The lamp flickers."]))
    play(graph)
    whisper = line_by("ben", "Trust nobody.", "whisper", ["ada"])
    given: Any
    for given in ({}, Command(resume=whisper), Command(resume={"pass": True})):
        play(graph, given, turns=9)
        for state in graph.get_state_history(THREAD):
            assert json.loads(json.dumps(state.values)) == state.values
    assert NARRATOR in [line["speaker"] for line in graph.get_state(THREAD).values["lines"]]
