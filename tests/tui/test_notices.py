"""Notices for people who look at another window."""

import asyncio
import base64
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.role_app import answering, bubbles, prompt, role_app, screen, until
from helpers.terminal import terminal
from helpers.user_files import write_config, write_models, write_persona
from textual import events
from textual.pilot import Pilot

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import NoticeKind
from rolellm_agents.errors import ModelError, SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.habits import AppHabits
from rolellm_tui.notices import notice_sequence, run_notice_command

TEXT = "Ada has answered."


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ada() -> Persona:
    write_persona()
    return load_persona("ada")


# What is written to the terminal


@pytest.mark.parametrize(
    ("environment", "sequence"),
    [
        ({}, f"\x1b]9;RoleLLM: {TEXT}\x1b\\"),
        ({"TERM": "xterm-256color"}, f"\x1b]9;RoleLLM: {TEXT}\x1b\\"),
        ({"TERM": "foot"}, f"\x1b]777;notify;RoleLLM;{TEXT}\x1b\\"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, f"\x1b]777;notify;RoleLLM;{TEXT}\x1b\\"),
        (
            {"TERM": "screen-256color", "TMUX": "/tmp/tmux,1,0"},
            f"\x1bPtmux;\x1b\x1b]9;RoleLLM: {TEXT}\x1b\x1b\\\x1b\\\a",
        ),
    ],
)
def test_each_terminal_gets_the_sequence_that_it_knows(environment: dict[str, str], sequence: str) -> None:
    assert notice_sequence("notice", "RoleLLM", TEXT, environment) == sequence


def test_kitty_gets_an_encoded_text() -> None:
    sequence = notice_sequence("notice", "RoleLLM", "李白 has answered.", {"TERM": "xterm-kitty"})
    start = "\x1b]99;e=1;"
    assert sequence.startswith(start)
    encoded = sequence.removeprefix(start).removesuffix("\x1b\\")
    assert base64.b64decode(encoded).decode() == "RoleLLM: 李白 has answered."


def test_the_bell_and_nothing() -> None:
    assert notice_sequence("bell", "RoleLLM", TEXT, {"TMUX": "x"}) == "\a"
    assert notice_sequence("off", "RoleLLM", TEXT, {}) == ""


def test_a_name_cannot_end_the_sequence() -> None:
    hostile = "A;da\x1b\\\x07\x1b]0;owned\x07 \u202eback"
    for environment in ({}, {"TERM": "foot"}, {"TMUX": "x"}):
        sequence = notice_sequence("notice", "RoleLLM", hostile, environment)
        assert "owned\x07" not in sequence
        assert sequence.count("\x1b") == notice_sequence("notice", "RoleLLM", "A", environment).count(
            "\x1b"
        )


# When


async def send(pilot: Pilot[Any], *, away: bool) -> None:
    """Send a line, and look at another window before it is answered."""
    line = prompt(pilot)
    line.text = "Hello."
    if away:
        pilot.app.post_message(events.AppBlur())
        await until(pilot, lambda: not pilot.app.app_focus)
    line.action_send()


@pytest.mark.core
@pytest.mark.parametrize(
    ("kind", "away", "written"),
    [("off", True, []), ("bell", False, []), ("bell", True, ["\a"])],
)
async def test_an_answer_is_told_to_those_who_look_elsewhere(
    ada: Persona,
    transcript: Transcript,
    monkeypatch: pytest.MonkeyPatch,
    kind: NoticeKind,
    away: bool,
    written: list[str],
) -> None:
    app = role_app(
        ScriptedChatModel(replies=["One."]), transcript, first=ada, habits=AppHabits(notice=kind)
    )
    async with app.run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        told: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", told.append)
        await send(pilot, away=away)
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
        await pilot.pause()
        assert [one for one in told if "\a" in one] == written


async def test_a_command_gets_the_title_and_the_text(
    ada: Persona, transcript: Transcript, tmp_path: Path
) -> None:
    told, command = tmp_path / "told", tmp_path / "tell"
    command.write_text(
        f'#!/bin/sh\nprintf "%s|%s|%s" "$1" "$2" "$3" > {told}.new && mv {told}.new {told}\n'
    )
    command.chmod(0o755)
    habits = AppHabits(notice="notice", notice_command=f"{command} --urgent")
    model = ScriptedChatModel(replies=[ModelError("The model is gone.")])
    app = role_app(model, transcript, first=ada, habits=habits)
    async with app.run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await send(pilot, away=True)
        await until(pilot, told.exists)
    assert told.read_text(encoding="utf-8") == "--urgent|RoleLLM|Ada could not answer."


@pytest.mark.parametrize("command", ["no-such-program", "tell 'it", "false"])
def test_a_command_that_cannot_run_is_told(command: str) -> None:
    with pytest.raises(SettingsError, match="correct notice_command in the settings"):
        asyncio.run(run_notice_command(command, "RoleLLM", TEXT))


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_bell_rings_in_a_window_of_tmux_that_is_behind_another(ada: Persona) -> None:
    write_config('notice = "bell"\n')
    write_models('[models.slow]\nspec = "scripted:One two three four five six."\nseconds_per_word = 0.5\n')
    with terminal("chat", "ada", "--model", "slow") as pane:
        pane.wait_for("Say something…")
        pane.type("Hello.")
        pane.press("Enter")
        pane.wait_for("One")
        # What a terminal sends when its window is no longer in front.
        pane.press("Escape", "[", "O")
        pane.behind()
        deadline = time.monotonic() + 60
        while not pane.rang():
            assert time.monotonic() < deadline
            time.sleep(0.05)
