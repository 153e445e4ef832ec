"""The profile graph: notes that rest on the script, a description, and runs that go on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.failing import failing_after
from langchain_core.messages import BaseMessage

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError, ScriptError
from rolellm_agents.models.testing import FunctionModel
from rolellm_graphs.profile import ProfileRequest, SegmentNoted, build_profile, profile_graph, run_folder

SCENE = """
SCENE {n}

BEN. Who keeps the lamp in the tower number {n}?
ADA. I do, upon my oath, and I have kept it alone these eleven years.
BEN. Where is your father, if I may ask you that?
ADA. Where the herring are. He was a careful man, and once he was not careful.
BEN. Then let me in.
ADA. Wipe your feet, upon my oath, and sit by the stove.
"""
DESCRIPTION = (
    "Ada tends a light on a rock and trusts nobody who arrives with dry boots; she answers briefly, swears "
    "by her oath, and hides what she misses under chores."
)


@pytest.fixture
def play(tmp_path: Path) -> Path:
    file = tmp_path / "lamp.txt"
    file.write_text("The Lamp\n" + "".join(SCENE.format(n=n) for n in range(1, 7)))
    return file


def note(**changes: Any) -> dict[str, Any]:
    """A note that rests on the script, if nothing is changed."""
    good = {
        "kind": "knowledge",
        "title": "My father",
        "text": "My father was a careful man, until he drowned.",
    }
    return {**good, "line": 4, **changes}


def reader(
    notes: Sequence[dict[str, Any]] | None = None, description: str = DESCRIPTION, answers: int = 1_000
) -> FunctionModel:
    """Takes notes of every passage, a description when asked for one; stops after so many answers."""

    def read(messages: list[BaseMessage]) -> str:
        if "Describe Ada" in messages[-1].text:
            return json.dumps({"description": description})
        return json.dumps({"notes": notes or [note()]})

    return FunctionModel(function=failing_after(answers, read))


def test_without_a_model_the_script_alone_makes_the_persona(play: Path) -> None:
    persona, title = build_profile(ProfileRequest(play, "Ada"))
    assert title == "The Lamp"
    assert persona.demonstrations[0].reply.startswith("I do, upon my oath")
    assert not user_paths().runs.exists()


def test_a_model_adds_a_description_and_knowledge_with_its_place(play: Path) -> None:
    persona, _ = build_profile(ProfileRequest(play, "Ada"), model=reader())
    assert persona.description.startswith(DESCRIPTION)
    assert "Ada is a character of The Lamp." in persona.description
    assert persona.knowledge[0].title == "My father"
    assert persona.knowledge[0].place == "Scene 1, line 7"
    assert [piece.title for piece in persona.knowledge].count("My father") == 1, "copies are left out"


@pytest.mark.parametrize(
    "bad",
    [
        note(line=99),
        note(text="The Romans built this tower with their own hands long ago."),
        note(text="As an AI, I had a careful father, and he was careful."),
        note(text="我的父亲是一个很谨慎的人。"),
    ],
)
def test_notes_that_do_not_hold_are_dropped_and_counted(play: Path, bad: dict[str, Any]) -> None:
    told: list[SegmentNoted] = []
    persona, _ = build_profile(
        ProfileRequest(play, "Ada"), model=reader(notes=[bad]), on_progress=told.append
    )
    assert "My father" not in [piece.title for piece in persona.knowledge]
    assert (told[-1].done, told[-1].total) == (6, 6)
    assert sum(noted.dropped for noted in told) == 6
    assert sum(noted.kept for noted in told) == 0


@pytest.mark.parametrize(
    "description",
    [
        "Short. Ada.",
        "A keeper of the light, who is never named in this description, "
        "but is described all the same here, and at some length.",
        "As an AI language model I would say that Ada is a keeper of a light "
        "who trusts nobody and works hard all night.",
        "Ada is a character of The Lamp. Ada speaks most with Ben. Ada speaks in plain, middling "
        "sentences, as she must, and she does.",
    ],
)
def test_a_description_of_no_use_is_left_out(play: Path, description: str) -> None:
    persona, _ = build_profile(ProfileRequest(play, "Ada"), model=reader(description=description))
    assert persona.description == build_profile(ProfileRequest(play, "Ada"))[0].description


def test_a_stopped_run_goes_on_where_it_was(play: Path) -> None:
    reading = ProfileRequest(play, "Ada")
    folder = run_folder(reading, "a model")
    with pytest.raises(ModelError, match="asleep"):
        build_profile(reading, model=reader(answers=3), model_name="a model", folder=folder)
    kept = (folder / "items.jsonl").read_text().splitlines()
    assert 1 <= len(kept) <= 3
    again = reader()
    persona, _ = build_profile(reading, model=again, model_name="a model", folder=folder)
    assert len(again.calls) == 6 - len(kept) + 1
    assert persona == build_profile(reading, model=reader())[0]
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["persona"]["id"] == "ada"


def test_another_model_or_text_is_another_run(play: Path) -> None:
    reading = ProfileRequest(play, "Ada")
    folders = {
        run_folder(reading, "a model"),
        run_folder(reading, "another"),
        run_folder(ProfileRequest(play, "Ben"), "a model"),
    }
    play.write_text(play.read_text() + "ADA. One word more, before you go.\n")
    assert len(folders | {run_folder(reading, "a model")}) == 4


def test_no_more_segments_are_read_than_asked_for(play: Path) -> None:
    model = reader()
    build_profile(ProfileRequest(play, "Ada", segments=2), model=model)
    assert len(model.calls) == 3


def test_the_graph_is_anybodys(play: Path) -> None:
    graph = profile_graph(ProfileRequest(play, "Ada"), model=reader())
    output = graph.invoke({})
    assert output["persona"]["id"] == "ada"
    assert set(graph.get_graph().nodes) >= {"read", "note", "describe"}


def test_a_role_that_never_speaks_is_told_before_any_model_is_asked(play: Path) -> None:
    model = reader()
    with pytest.raises(ScriptError, match="Cole never speaks"):
        build_profile(ProfileRequest(play, "Cole"), model=model)
    assert model.calls == []
