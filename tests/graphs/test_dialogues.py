"""Interviews as multi-turn data: who says what, what is kept, and that a run goes on where it was."""

import json
from pathlib import Path
from typing import Any

from rolellm_agents.generation.attributes import Attributes
from rolellm_agents.generation.instructions import Instruction, bundled_instructions
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_graphs.generate.dialogues import DialoguesRequest, dialogues, dialogues_guess, interview
from rolellm_graphs.runs.items import RunLimits

ADA = Persona(id="ada", name="Ada", description="Ada counts everything.")
EVE = Persona(id="eve", name="Eve", description="Eve sells apples and doubts numbers.")
ASKED = tuple(one for one in bundled_instructions().all if one.language == "en")[:6]
REPLIES = [
    "I count the spoons before I count the guests.",
    "And what did you find under the table?",
    "I found nine buttons, and I know whose they are.",
    "Will you give them back to their owner?",
    "I never give back what I have not written down.",
]


def request(**changes: Any) -> DialoguesRequest:
    return DialoguesRequest(**{"personas": (ADA,), "instructions": ASKED, "each": 2, "turns": 3, **changes})


def samples(folder: Path, part: str = "samples") -> list[dict[str, Any]]:
    text = (folder / f"{part}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


async def test_a_dialogue_is_a_chat_in_which_the_character_answers(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=[*REPLIES])
    outcome = await dialogues(request(each=1), model, model_name="scripted:", folder=tmp_path)
    assert outcome.complete
    (row,) = samples(tmp_path)
    assert [message["role"] for message in row["messages"]] == ["user", "assistant"] * 3
    assert row["messages"][0]["content"] in {one.text for one in ASKED}
    assert [message["content"] for message in row["messages"][1:]] == REPLIES
    assert (row["role"], row["persona"], row["labels"]) == ("Ada", "ada", [])
    # The character was not told what the interviewer wants, nor the other way round.
    wants = interview(ADA, "Well?", turns=1).seats["interviewer"].goals[0]
    told = ["\n".join(message.text for message in call) for call in model.calls]
    assert [wants in one for one in told] == [False, True, False, True, False]
    assert all("Ada counts everything." in one for one in told[::2])
    assert not any("Ada counts everything." in one for one in told[1::2])


async def test_a_named_interviewer_asks_as_itself(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=[*REPLIES])
    await dialogues(request(each=1, interviewer=EVE), model, model_name="scripted:", folder=tmp_path)
    assert "Eve sells apples" in model.calls[1][0].text
    assert samples(tmp_path)[0]["interviewer"] == "eve"


async def test_a_visitor_has_attributes_that_the_character_does_not_know(tmp_path: Path) -> None:
    attributes = Attributes.model_validate({"en": {"visitor": ["a rival"], "mood": ["cross"]}})
    model = ScriptedChatModel(replies=[*REPLIES])
    await dialogues(request(each=1, attributes=attributes), model, model_name="scripted:", folder=tmp_path)
    told = ["\n".join(message.text for message in call) for call in model.calls]
    assert ["visitor: a rival; mood: cross" in one for one in told] == [False, True, False, True, False]
    assert samples(tmp_path)[0]["attributes"] == {"visitor": "a rival", "mood": "cross"}


async def test_what_has_a_fault_is_labelled_and_kept_apart(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=["As an AI language model, I cannot count."])
    await dialogues(request(each=1), model, model_name="scripted:", folder=tmp_path)
    assert samples(tmp_path) == []
    (row,) = samples(tmp_path, "left_out")
    assert {"ai-talk", "faulty-turn"} <= set(row["labels"])


async def test_a_dialogue_whose_interviewer_goes_round_in_a_circle_is_kept_apart(tmp_path: Path) -> None:
    replies = [*REPLIES]
    replies[1] = replies[3] = "Get up, please."
    model = ScriptedChatModel(replies=replies)
    await dialogues(request(each=1), model, model_name="scripted:", folder=tmp_path)
    (row,) = samples(tmp_path, "left_out")
    assert "repetitive" in row["labels"]


async def test_a_run_that_is_stopped_goes_on_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    _, guess = dialogues_guess(request())
    few = RunLimits(at_once=1, most_tokens=guess.total)
    echo = ScriptedChatModel(replies=[*REPLIES])
    first = await dialogues(request(), echo, model_name="scripted:", folder=tmp_path, limits=few)
    assert (first.done, first.stopped, first.complete) == (1, "budget", False)

    again = ScriptedChatModel(replies=[*REPLIES])
    second = await dialogues(request(), again, model_name="scripted:", folder=tmp_path)
    assert (second.done, second.complete) == (2, True)
    assert len(again.calls) == len(REPLIES)

    whole = tmp_path / "whole"
    model = ScriptedChatModel(replies=[*REPLIES])
    await dialogues(request(), model, model_name="scripted:", folder=whole, limits=RunLimits(at_once=1))
    assert samples(whole) == samples(tmp_path)


async def test_characters_are_asked_in_their_own_language(tmp_path: Path) -> None:
    wu = Persona(id="wu", name="悟空", language="zh", description="齐天大圣。")
    zh = Instruction(id="zh-1", text="你最怕什么？", language="zh", category="open")
    model = ScriptedChatModel(replies=["俺老孙天不怕地不怕，只怕师父念那紧箍咒。"])
    await dialogues(
        request(personas=(wu,), instructions=(*ASKED, zh), each=1, turns=1),
        model,
        model_name="scripted:",
        folder=tmp_path,
    )
    assert samples(tmp_path)[0]["messages"][0]["content"] == "你最怕什么？"
