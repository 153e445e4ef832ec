"""A scene in plain mode, and that its commands are those of the app."""

from pathlib import Path

import pytest
from helpers.here import rolellm_here
from helpers.piloting import until
from helpers.scenes import room
from helpers.screen_app import ScreenApp, text_of

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.scene import NARRATOR
from rolellm_agents.transcript import Transcript
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.plain.background import BackgroundLoop
from rolellm_tui.plain.scene import PlainScene
from rolellm_tui.screens.scene import SceneScreen
from rolellm_tui.slash.choices import CommandChoices, scene_choices
from rolellm_tui.slash.completion import completions
from rolellm_tui.slash.scene_commands import (
    SCENE_FORMS,
    SceneCommand,
    offered_in_scene,
    scene_help_lines,
    typed_in_scene,
)
from rolellm_tui.widgets.chat.command_list import CommandList
from rolellm_tui.widgets.scene.prompt import ScenePrompt

INN = """\
id: inn
title: The Inn
setting: A small inn in the hills.
director: round-robin
manners: [say, whisper]
cast:
  - {id: ann, name: Ann Grey, about: You keep the inn.}
  - {id: ben, name: Ben Stone, about: You wait for the coach.}
"""


@pytest.fixture
def inn(tmp_path: Path) -> Path:
    file = tmp_path / "inn.yaml"
    file.write_text(INN, encoding="utf-8")
    return file


def plainly(inn: Path, *typed: str, options: tuple[str, ...] = ()) -> tuple[list[str], str]:
    model = "scripted:A red fox ran.|The coach is late tonight.|Snow fell on both roads.|Supper is cold."
    done = rolellm_here(
        *("scene", "play", str(inn), "--plain", "--model", model, *options),
        stdin="".join(f"{line}\n" for line in typed),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_an_empty_line_plays_a_turn_and_lines_are_said_in_the_users_seat(inn: Path) -> None:
    printed, _ = plainly(inn, "", "/as Ben", "Good evening.", "/w Ann hush", "/history")

    assert "Ann Grey: A red fox ran." in printed
    assert "You are Ben Stone now." in printed
    assert "Ben Stone: /history" in printed
    assert printed[-4:-1] == [
        "1. Ann Grey: A red fox ran.",
        "2. Ben Stone: Good evening.",
        "3. Ben Stone: (whispers to Ann Grey) hush",
    ]


def test_the_scene_plays_on_until_it_is_the_users_turn(inn: Path) -> None:
    printed, complaints = plainly(inn, "/play", "/step", "/skip", "/skip", options=("--as", "ben"))

    assert "It is Ben Stone's turn, which is yours. " in "".join(printed)
    assert "It is Ben Stone's turn; write a line, or type /skip." in printed
    assert "Ann Grey: The coach is late tonight." in printed
    assert "There is no turn to skip." in complaints


def test_lines_are_undone_regenerated_chosen_and_branched(inn: Path) -> None:
    printed, complaints = plainly(
        inn, "", "", "/undo", "/again", "/swipe 1", "/swipe 3", "/branch 1", "/branches", "/branches 1"
    )

    assert printed.count("1. Ann Grey: A red fox ran.") >= 2
    assert "There is no answer 3, this is 1 of 1" in complaints
    assert "Continuing after message 1, on branch-2." in printed
    assert any("(you are here)" in line and "branch-2" in line for line in printed)
    assert "Now on main." in printed


def test_the_seats_and_what_each_knows_are_told(inn: Path) -> None:
    printed, complaints = plainly(
        inn, "", "/out Ben He runs.", "/as ann", "/who", "/see Ben", "/see", "/release ann", "/next Ben"
    )

    assert "[He runs.]" in printed
    assert any(line.startswith("Ann Grey (ann) is there, is played by you") for line in printed)
    assert any(line.startswith("Ben Stone (ben) is not there") for line in printed)
    assert "You see what Ben Stone witnessed." in printed
    assert "A model plays Ann Grey again; you are Narrator now." in printed
    assert "Ben Stone" in complaints


def test_another_director_keeps_seats_and_lines(inn: Path) -> None:
    printed, complaints = plainly(
        inn, "", "/as ben", "/director manual", "/director mnual", "/step", "/history"
    )

    assert "The director is manual, with seed 0; turns played: 1 of" in "".join(printed)
    assert "There is no director 'mnual' (did you mean manual" in complaints
    assert "Who speaks? Type /next with a name: Ann Grey, Ben Stone." in printed
    assert "Ben Stone: /history" in printed
    assert "1. Ann Grey: A red fox ran." in printed


def test_a_scene_is_exported_explained_and_begun_anew(inn: Path, tmp_path: Path) -> None:
    file = tmp_path / "inn.md"

    printed, complaints = plainly(
        inn, "/export x.md", "", f"/export {file}", "/why", "/why all", "/new", "/history", "/quit", "", ""
    )

    assert "A red fox ran." in file.read_text(encoding="utf-8")
    assert "nothing to export yet" in complaints
    assert any(line.startswith("Message 1 comes from scripted:") for line in printed)
    assert any("as system:" in line for line in printed)
    assert "No lines yet; press Enter to play a turn." in printed
    assert printed[-1] == "Narrator: /quit"


def test_a_scene_goes_on_where_it_was(inn: Path) -> None:
    plainly(inn, "")

    printed, _ = plainly(inn)

    assert "There are 1 lines so far; /history prints them." not in printed
    assert "There is 1 line so far; /history prints it." in printed
    assert "Ann Grey: A red fox ran." in printed


def test_an_unknown_command_suggests_one_of_either_kind() -> None:
    printed: list[str] = []
    for typed in ("/wispher ann x", "/udno", "/step now", "/branch x"):
        with pytest.raises(Exception, match="/") as told:
            typed_in_scene(typed, {"ann": "Ann"}, {"ann": "Ann"})
        printed.append(str(told.value))

    assert "did you mean /whisper" in printed[0]
    assert "did you mean /undo" in printed[1]
    assert printed[2] == "Usage: /step. See /help."
    assert printed[3] == "Usage: /branch N. See /help."


def test_the_help_has_a_sentence_for_each_command_and_kind() -> None:
    kinds = room().scene.turn_kinds
    helped = scene_help_lines(kinds)

    assert [line.split(":")[0].split()[0] for line in helped] == [
        *("/say", "/whisper", "/act", "/think", "/narrate"),
        *(f"/{name}" for name in SCENE_FORMS),
    ]
    assert all(line.endswith(".") for line in helped)


def stage(transcript: Transcript) -> Stage:
    loaded = room("Ann", "Ben")
    model = ScriptedChatModel(replies=["A red fox ran.", "The coach is late.", "Snow fell on both roads."])
    return Stage(Ensemble(loaded, model=model), transcript)


def test_plain_mode_runs_each_command_of_the_table() -> None:
    with Transcript(None) as transcript, BackgroundLoop() as loop:
        played = stage(transcript)
        plain = PlainScene(played, lambda *_, **__: played, loop)

        assert {*plain.commands, "quit"} == {*SCENE_FORMS}


def test_names_of_seats_are_completed() -> None:
    with Transcript(None) as transcript:
        played = stage(transcript)
        offered = offered_in_scene(played.loaded.scene.turn_kinds)
        choices = CommandChoices(scene_choices(played))

        def rows(text: str) -> list[str]:
            return [row.text for row in completions(text, offered, choices)]

        assert rows("/wh") == ["/whisper ", "/who", "/why "]
        assert rows("/whisper b") == ["/whisper ben "]
        assert rows("/as ") == ["/as ann", "/as ben", f"/as {NARRATOR}"]
        assert rows("/director man") == ["/director manual"]
        assert rows("Hello /w") == []


async def test_the_app_lists_and_completes_the_commands_of_a_scene() -> None:
    with Transcript(user_paths().transcript) as transcript:
        played = stage(transcript)
        async with ScreenApp(SceneScreen(played, pause=0), transcript).run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: isinstance(pilot.app.screen, SceneScreen))
            screen = pilot.app.screen
            prompt, listed = screen.query_one(ScenePrompt), screen.query_one(CommandList)
            prompt.focus()
            await pilot.press("slash", "r", "e", "l")
            await until(pilot, lambda: listed.is_open)
            await pilot.press("tab", "b")
            assert prompt.text == "/release b"
            await pilot.press("tab", "enter")
            await until(pilot, lambda: "A model plays Ben again." in text_of(pilot, "#status"))
            prompt.put("/swipe 4")
            await pilot.press("enter")
            await until(pilot, lambda: "No model has spoken yet" in text_of(pilot, "#status"))
            assert prompt.text == "/swipe 4"
            prompt.put("/director")
            await pilot.press("enter")
            await until(pilot, lambda: "The director is round-robin" in text_of(pilot, "#status"))


def test_a_command_has_at_most_one_meaning() -> None:
    assert typed_in_scene("/pause", {}, {}) == SceneCommand("play")
    assert typed_in_scene("/see", {}, {}) == SceneCommand("see")
