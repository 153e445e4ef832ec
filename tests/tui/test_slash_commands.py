"""Commands in the prompt of the app, and the user's own commands in both forms of the chat."""

import asyncio
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from helpers.here import rolellm_here
from helpers.role_app import answering, bubbles, prompt, role_app, say, screen, status, until
from helpers.terminal import terminal
from helpers.user_files import write_persona
from textual import events
from textual.pilot import Pilot

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.app import RoleApp
from rolellm_tui.screens.chat import ChatScreen
from rolellm_tui.slash.own import own_commands
from rolellm_tui.widgets.chat.command_list import CommandList
from rolellm_tui.widgets.chat.quick_replies import QuickReplies

OWN = """\
commands:
  - name: wave
    about: wave at the character
    steps:
      - "*waves at {{char}}* {{input}}"
    button: true
  - name: start
    put: "Listen, {{char}}: {{input}}"
  - name: scold
    steps:
      - /note {{char}} is ashamed.
      - /edit 99 Never.
      - How could you?
"""


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture(autouse=True)
def ada() -> Persona:
    write_persona()
    return load_persona("ada")


def write_own(text: str = OWN) -> None:
    file = user_paths().commands_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def app(transcript: Transcript, *replies: str) -> RoleApp:
    model = ScriptedChatModel(replies=list(replies or ("One.", "Two.", "Three.")))
    return role_app(model, transcript, first=load_persona("ada"))


async def at_chat(pilot: Pilot[Any]) -> CommandList:
    await until(pilot, lambda: screen(pilot) == "ChatScreen" and not answering(pilot))
    return pilot.app.screen.query_one(CommandList)


def rows(commands: CommandList) -> list[str]:
    return [str(option.prompt) for option in commands.options]


def words(pilot: Pilot[Any]) -> list[str]:
    return [bubble[1] for bubble in bubbles(pilot)]


async def test_a_slash_lists_the_commands_and_escape_closes_the_list(transcript: Transcript) -> None:
    async with app(transcript).run_test() as pilot:
        commands = await at_chat(pilot)
        await pilot.press("/")
        await until(pilot, lambda: commands.display)
        assert rows(commands)[0] == "/again  generate another answer to your last line."

        await pilot.press("escape")
        await until(pilot, lambda: not commands.display)
        assert prompt(pilot).text == "/"


async def test_tab_completes_a_name_and_arrows_an_argument(transcript: Transcript) -> None:
    async with app(transcript).run_test() as pilot:
        commands = await at_chat(pilot)
        await pilot.press(*"/str", "tab")
        await until(pilot, lambda: prompt(pilot).text == "/strategy " and commands.option_count > 2)
        await pilot.press(*"zero")
        await until(pilot, lambda: rows(commands) == ["zero-shot"])
        await pilot.press("down", "enter")

        def uses_it() -> bool:
            chat = pilot.app.screen
            return isinstance(chat, ChatScreen) and chat.session.strategy == "zero-shot"

        await until(pilot, uses_it)


async def test_a_wrong_command_is_told_and_stays(transcript: Transcript) -> None:
    async with app(transcript).run_test(size=(120, 36)) as pilot:
        await at_chat(pilot)
        await say(pilot, "/agian")
        await until(pilot, lambda: "did you mean again?" in status(pilot))
        assert prompt(pilot).text == "/agian"
        assert words(pilot) == ["Good day."]


async def test_two_slashes_and_pasted_lines_are_sent(transcript: Transcript) -> None:
    async with app(transcript).run_test() as pilot:
        await at_chat(pilot)
        await say(pilot, "//undo")
        await until(pilot, lambda: words(pilot)[1:] == ["/undo", "One."] and not answering(pilot))
        await say(pilot, "/undo\n/redo")
        await until(pilot, lambda: len(words(pilot)) == 5 and not answering(pilot))
        messages = pilot.app.screen.session.messages  # type: ignore[attr-defined]
        assert messages[3].text == "/undo\n/redo"


async def test_commands_do_what_the_keys_do(transcript: Transcript) -> None:
    async with app(transcript).run_test() as pilot:
        await at_chat(pilot)
        await say(pilot, "Hello.")
        await until(pilot, lambda: words(pilot)[1:] == ["Hello.", "One."] and not answering(pilot))
        await say(pilot, "/again")
        await until(pilot, lambda: words(pilot)[1:] == ["Hello.", "Two."] and not answering(pilot))
        await say(pilot, "/swipe left")
        await until(pilot, lambda: words(pilot)[1:] == ["Hello.", "One."] and not answering(pilot))
        await say(pilot, "/note She is tired.")
        await until(pilot, lambda: transcript.note(transcript.conversations()[0].id) == "She is tired.")


async def test_an_own_command_is_completed_sent_and_has_a_button(transcript: Transcript) -> None:
    write_own()
    async with app(transcript).run_test() as pilot:
        commands = await at_chat(pilot)
        assert [str(one.label) for one in pilot.app.screen.query("QuickReplies Button")] == ["/wave"]  # type: ignore[attr-defined]
        await pilot.press(*"/wa")
        await until(pilot, lambda: rows(commands) == ["/wave [TEXT]  wave at the character"])
        await say(pilot, "/wave {{user}}")
        await until(pilot, lambda: len(words(pilot)) == 3 and not answering(pilot))
        assert pilot.app.screen.session.messages[1].text == "*waves at Ada* {{user}}"  # type: ignore[attr-defined]

        await say(pilot, "/start come")
        await until(pilot, lambda: prompt(pilot).text == "Listen, Ada: come")
        await pilot.press("shift+tab")
        await pilot.click("#quick-0")
        await until(pilot, lambda: len(words(pilot)) == 5 and not answering(pilot))


async def test_steps_stop_at_the_first_that_fails(transcript: Transcript) -> None:
    write_own()
    async with app(transcript).run_test(size=(120, 36)) as pilot:
        await at_chat(pilot)
        await say(pilot, "Hello.")
        await until(pilot, lambda: len(words(pilot)) == 3 and not answering(pilot))
        await say(pilot, "/scold")
        await until(pilot, lambda: "/scold stopped at step 2 of 3" in status(pilot))
        assert transcript.note(transcript.conversations()[0].id) == "Ada is ashamed."
        assert len(words(pilot)) == 3


async def test_without_own_commands_there_are_no_buttons(transcript: Transcript) -> None:
    async with app(transcript).run_test() as pilot:
        await at_chat(pilot)
        assert not pilot.app.screen.query_one(QuickReplies).display


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("commands:\n  - name: undo\n    put: x\n", "line 2: .*/undo is a command already"),
        (
            "commands:\n  - name: a\n    steps:\n      - Hi\n      - /agian\n",
            r"line 5: .*\(did you mean again",
        ),
        ("commands:\n  - name: a\n", "line 2: .*either steps or a text to put"),
        ("commands:\n  - name: a\n    put: x\n    colour: red\n", "line 4: unknown key"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_line(text: str, told: str) -> None:
    write_own(text)
    with pytest.raises(SettingsError, match=told):
        own_commands()


def plainly(*said: str) -> tuple[str, str]:
    done = rolellm_here(
        *("chat", "ada", "--plain", "--model", "scripted:One.|Two."), stdin="".join(f"{x}\n" for x in said)
    )
    assert done.returncode == 0
    return done.stdout, done.stderr


def test_plain_mode_has_the_own_commands() -> None:
    write_own()
    printed, complaints = plainly("/help", "/wave there", "/find WAVES", "/scold", "/start x")

    assert "/wave [TEXT]: wave at the character" in printed
    assert "2. You: *waves at Ada* there" in printed
    assert "Your line: Listen, Ada: x" in printed
    assert "/scold stopped at step 2 of 3" in complaints


def test_plain_mode_changes_strategy_model_and_persona() -> None:
    printed, complaints = plainly(
        "Hello.",
        "/strategy zero-shot",
        "/model scripted:Else.",
        "And?",
        "/new",
        "/talk jack-sparrow",
        "/model nix",
    )

    assert "Ada: Else." in printed
    assert "You are talking with Jack Sparrow" in printed
    assert "There is no model 'nix'" in complaints


def test_a_quick_reply_set_is_imported_beside_what_is_there(tmp_path: Path) -> None:
    write_own(f"# Mine.\n{OWN}")
    replies = [
        {"label": "Wave", "message": "Hello,\nthere.", "title": "Say hello"},
        {"label": "🎲", "message": "/setinput I roll {{roll:d6}}.", "isHidden": True},
        {"label": "Roll", "message": "/roll 1d20 | /echo {{pipe}}"},
        {"label": "More", "message": "/continue", "executeOnAi": True},
    ]
    file = tmp_path / "set.json"
    file.write_text(json.dumps({"version": 2, "name": "Set", "qrList": replies}), encoding="utf-8")

    done = rolellm_here("persona", "import", str(file))

    assert done.returncode == 0
    assert "“Roll” was left out: it uses STscript." in done.stderr
    assert "“More” does not start by itself here." in done.stderr
    assert user_paths().commands_file.read_text(encoding="utf-8").startswith(f"# Mine.\n{OWN}")
    imported = own_commands()[3:]
    assert [(one.name, one.steps, one.put, one.button) for one in imported] == [
        ("wave-2", ("Hello,\nthere.",), "", True),
        ("reply-2", (), "I roll {{roll:d6}}.", False),
        ("more", ("/continue",), "", True),
    ]


RHYTHMS = ["at once", "one by one", *range(6)]


@pytest.mark.parametrize("rhythm", RHYTHMS)
async def test_enter_does_what_was_typed_in_any_rhythm(
    transcript: Transcript, rhythm: int | Literal["at once", "one by one"]
) -> None:
    """Keys may come all at once, or while the app still draws what the keys before them changed."""
    write_own()
    draw = random.Random(rhythm)
    async with app(transcript, "One.", "Two.").run_test() as pilot:
        await at_chat(pilot)

        async def type_keys(*keys: str) -> None:
            for key in keys:
                pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
                match rhythm:
                    case "at once":
                        pass
                    case "one by one":
                        await pilot.pause()
                    case _:
                        for _ in range(draw.choice((0, 0, 1, 3, 20))):
                            await asyncio.sleep(0)

        await type_keys("/", "w", "a", "tab", "h", "i", "enter")
        await until(pilot, lambda: len(words(pilot)) == 3 and not answering(pilot))
        assert pilot.app.screen.session.messages[1].text == "*waves at Ada* hi"  # type: ignore[attr-defined]
        await type_keys("/", "a", "g", "a", "enter")
        await until(pilot, lambda: words(pilot)[2:] == ["Two."] and not answering(pilot))
        await type_keys("/", "n", "o", "t", "e", " ", "c", "enter")
        await until(pilot, lambda: transcript.note(transcript.conversations()[0].id) == "c")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_one_completes_a_command_in_a_terminal() -> None:
    write_own()
    with terminal("chat", "ada", "--model", "scripted:One.|Two.") as pane:
        pane.wait_for("Say something…", "/wave")
        pane.press("/")
        pane.wait_for("/again  generate another answer")
        pane.press("w", "a", "Tab")
        pane.wait_for("│ /wave ")
        pane.type("there")
        pane.press("Enter")
        # Bubbles show Markdown: the asterisks are drawn as emphasis.
        pane.wait_for("waves at Ada there", "One.", "Say something…")
        pane.press("/", "q", "Enter")
        assert pane.exit_code() == 0
