"""The user's own editor: what it writes comes back, and whatever happens to it, nothing is lost."""

import asyncio
import re
import shutil
import stat
import sys
import time
from pathlib import Path

import pytest
from helpers.role_app import prompt, role_app, screen, shown, until
from helpers.terminal import Terminal, terminal
from helpers.user_files import conversation_ids, kept, write_models, write_persona

from rolellm_agents.errors import SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.app import RoleApp
from rolellm_tui.external_editor import EditedText, edit_outside, editor_command
from rolellm_tui.screens.ask import AskScreen

WORDS = " ".join(f"word{number}" for number in range(2000))
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def script(folder: Path, text: str, name: str = "editor") -> Path:
    """An editor; `$1` is the file."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def edited_in(text: str, command: list[str]) -> EditedText:
    return asyncio.run(edit_outside(text, command))


# The command


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({"EDITOR": "sh"}, ["sh"]),
        ({"VISUAL": "sh -u", "EDITOR": "ed"}, ["sh", "-u"]),
        ({"VISUAL": " ", "EDITOR": "sh"}, ["sh"]),
        ({"EDITOR": "sh -c 'a b'"}, ["sh", "-c", "a b"]),
    ],
)
def test_visual_comes_before_editor(environment: dict[str, str], command: list[str]) -> None:
    assert editor_command(environment) == command


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({}, "No editor is set; set VISUAL or EDITOR, for example EDITOR=nano."),
        (
            {"EDITOR": "no-such-editor -w"},
            "There is no program 'no-such-editor'; set EDITOR to your editor.",
        ),
        ({"VISUAL": "sh 'a"}, 'VISUAL is not a command: "sh \'a" (No closing quotation); correct it.'),
    ],
)
def test_an_editor_that_cannot_be_used_is_told(environment: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=f"^{re.escape(sentence)}$"):
        editor_command(environment)


def test_a_window_that_nobody_waits_for_is_told(tmp_path: Path) -> None:
    code = script(tmp_path, "", "code")
    sentence = f"{code} does not wait until you have written; set EDITOR='{code} --wait'."
    with pytest.raises(SettingsError, match=f"^{re.escape(sentence)}$"):
        editor_command({"EDITOR": str(code)})
    assert editor_command({"EDITOR": f"{code} --wait"}) == [str(code), "--wait"]
    assert editor_command({"EDITOR": f"{code} -w"}) == [str(code), "-w"]


# The text


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        ("echo Two. > $1", "Two."),
        ("printf 'Two.' > $1", "Two."),
        ("printf 'Two.\\n\\n' > $1", "Two.\n"),
        ("echo 福尔摩斯 >> $1", "One.\n福尔摩斯"),
        (": > $1", ""),
        ("rm $1; echo Two. > $1", "Two."),
    ],
)
def test_the_editors_text_comes_back(tmp_path: Path, edit: str, text: str) -> None:
    edited = edited_in("One.", [str(script(tmp_path, edit))])
    assert (edited.text, edited.note) == (text, "")


def test_only_the_user_can_read_the_file_which_is_gone_afterwards(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    look = f'stat -c "%a %n" $(dirname $1) > {seen}; cat $1 >> {seen}; echo Two. > $1'
    edited_in("One.", [str(script(tmp_path, look))])
    mode, folder, text = seen.read_text(encoding="utf-8").split()
    assert (mode, text) == ("700", "One.")
    assert not Path(folder).exists()


def test_an_unchanged_text_is_told(tmp_path: Path) -> None:
    editor = str(script(tmp_path, "true"))
    edited = edited_in("One.", [editor])
    assert (edited.text, edited.note) == (None, f"{editor} changed nothing; your text is as before.")


@pytest.mark.parametrize(
    ("end", "told"), [("exit 3", "ended with the exit code 3"), ("kill -9 $$", "was ended by SIGKILL")]
)
def test_an_editor_that_fails_loses_neither_text(tmp_path: Path, end: str, told: str) -> None:
    editor = str(script(tmp_path, end))
    edited = edited_in("One.", [editor])
    assert (edited.text, edited.note) == (None, f"{editor} {told}; your text is as before.")

    edited = edited_in("One.", [str(script(tmp_path, f"echo Two. > $1; {end}"))])
    assert edited.text is None
    start = f"{editor} {told}; your text is as before. What it had saved is in "
    assert edited.note.startswith(start)
    file = Path(edited.note.removeprefix(start).removesuffix("."))
    assert file.read_text(encoding="utf-8") == "Two.\n"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    shutil.rmtree(file.parent)


def test_bytes_that_are_no_text_are_kept_in_the_file(tmp_path: Path) -> None:
    edited = edited_in("One.", [str(script(tmp_path, "printf '\\377' > $1"))])
    assert edited.text is None
    file = Path(edited.note.rpartition("Its file is ")[2].removesuffix("."))
    assert file.read_bytes() == b"\xff"
    shutil.rmtree(file.parent)


def test_a_file_that_the_editor_has_deleted_changes_nothing(tmp_path: Path) -> None:
    edited = edited_in("One.", [str(script(tmp_path, "rm $1"))])
    assert edited.text is None
    assert "yours is as before" in edited.note


# In the app


@pytest.fixture
def ada() -> None:
    write_persona()
    write_models(
        '[models.quick]\nspec = "scripted:One."\n'
        f'[models.slow]\nspec = "scripted:{WORDS}"\nseconds_per_word = 0.1\n'
    )


def with_editor(monkeypatch: pytest.MonkeyPatch, editor: str) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)


def write(pane: Terminal, text: str) -> None:
    pane.wait_for("Say something…")
    pane.type(text)
    pane.wait_for(text)


@needs_tmux
@pytest.mark.core
def test_the_line_is_written_in_the_editor_and_then_sent(
    ada: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = script(tmp_path, f"{sys.executable} -c \"input('The editor: ')\"; echo Hello, Ada. >> $1")
    with_editor(monkeypatch, str(editor))
    with terminal("chat", "ada", "--model", "quick") as pane:
        write(pane, "Dear Ada,")
        pane.press("F10")
        pane.wait_for("The editor:")
        pane.press("Enter")
        pane.wait_for("Dear Ada,", "Hello, Ada.", "Again")
        pane.press("Enter")
        pane.wait_for("One.")
        pane.press("C-q")
        assert pane.exit_code() == 0


@needs_tmux
def test_an_interrupted_editor_leaves_the_app_and_the_line(
    ada: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_editor(monkeypatch, str(script(tmp_path, "echo The editor; sleep 600")))
    with terminal("chat", "ada", "--model", "quick") as pane:
        write(pane, "Dear Ada,")
        pane.press("F10")
        pane.wait_for("The editor")
        pane.press("C-c")
        pane.wait_for("Dear Ada,", "SIGINT", "your text is as before")
        pane.press("C-q")
        assert pane.exit_code() == 0


@needs_tmux
def test_a_message_is_edited_in_the_editor(
    ada: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_editor(monkeypatch, str(script(tmp_path, "sed -i s/Hello/Goodbye/ $1")))
    with terminal("chat", "ada", "--model", "quick") as pane:
        write(pane, "Hello.")
        pane.press("Enter")
        pane.wait_for("One.", "Again")
        pane.press("C-e")
        pane.wait_for("F10 your editor")
        pane.press("F10")
        pane.wait_for("Goodbye.", "F10 your editor")
        pane.press("C-s")
        pane.wait_for("Goodbye.", "Again")
        pane.press("C-q")
        assert pane.exit_code() == 0


@needs_tmux
def test_no_editor_is_told_in_the_app(ada: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    with terminal("chat", "ada", "--model", "quick") as pane:
        write(pane, "Dear Ada,")
        pane.press("F10")
        pane.wait_for("Dear Ada,", "No editor is set; set VISUAL or EDITOR")
        pane.press("C-q")
        assert pane.exit_code() == 0


@needs_tmux
def test_an_answer_goes_on_without_drawing_on_the_editor(
    ada: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = script(tmp_path, f"{sys.executable} -c \"input('The editor: ')\"; echo Two. > $1")
    with_editor(monkeypatch, str(editor))
    with terminal("chat", "ada", "--model", "slow") as pane:
        write(pane, "Hello.")
        pane.press("Enter")
        pane.wait_for("word0")
        pane.press("F10")
        before = pane.wait_for("The editor:")
        (conversation,) = conversation_ids("ada")
        shown = before.count("word")
        deadline = time.monotonic() + 60
        while kept(conversation)[-1].text.count("word") < shown + 10:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert pane.screen() == before
        pane.press("Enter")
        seen = pane.wait_for("Two.", f"word{shown + 5} ")
        assert "The editor:" not in seen
        pane.press("Escape")
        pane.wait_for("cut off")
        pane.press("C-q")
        assert pane.exit_code() == 0


@pytest.mark.parametrize("in_browser", [False, True])
async def test_the_editor_is_offered_in_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, in_browser: bool
) -> None:
    write_persona()
    monkeypatch.setattr(RoleApp, "is_web", in_browser)
    with Transcript(None) as transcript:
        app = role_app(ScriptedChatModel(replies=["One."]), transcript, first=load_persona("ada"))
        async with app.run_test() as pilot:
            await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
            assert ("f10" in app.screen.active_bindings) != in_browser
            app.push_screen(AskScreen("Edit", "One."))
            await until(pilot, lambda: screen(pilot) == "AskScreen" and app.screen.query("#ask-keys"))
            assert ("F10" in shown(app.screen.query_one("#ask-keys"))) != in_browser
