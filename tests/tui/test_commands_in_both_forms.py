"""Commands that the app and plain mode share, and own commands that stop."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.here import rolellm_here
from helpers.role_app import answering, bubbles, prompt, role_app, say, screen, status, until
from helpers.user_files import ADA, write_config, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import SettingsError, StorageError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_tui.app import RoleApp
from rolellm_tui.slash.own import OwnCommand, OwnRun, own_commands

SCOLD = """\
commands:
  - name: scold
    steps:
      - "{{setvar::mood::ashamed}}/note {{input}}"
      - /edit {{getvar::nothing}}99 Never.
      - How could you, {{input}}?
"""


@pytest.fixture(autouse=True)
def _ada() -> None:
    write_persona()


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


def write_own(text: str) -> None:
    file = user_paths().commands_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def plainly(
    *said: str, options: tuple[str, ...] = ("--model", "scripted:One.|Two.|Three.")
) -> tuple[str, str]:
    done = rolellm_here("chat", "ada", "--plain", *options, stdin="".join(f"{line}\n" for line in said))
    assert done.returncode == 0
    return done.stdout, done.stderr


def app(transcript: Transcript) -> RoleApp:
    model = ScriptedChatModel(replies=["One.", "Two.", "Three."])
    return role_app(model, transcript, first=load_persona("ada"))


def test_plain_mode_compares_and_keeps_another_answer() -> None:
    printed, complaints = plainly(
        "Hello.", "/compare zero-shot system", "/swipe 3", "/compare", "/compare one"
    )

    # Both answer at the same time, so either may be first, and get the first reply.
    found = re.findall(r"(\d)\. (zero-shot|system): (Two|Three)\.", printed)
    numbers, strategies, texts = zip(*found, strict=True)
    assert sorted(numbers) == ["2", "3"]
    assert sorted(strategies) == ["system", "zero-shot"]
    assert sorted(texts) == ["Three", "Two"]
    assert f"Answer 3 of 3.\n3. Ada: {texts[numbers.index('3')]}." in printed
    assert "Name two to four strategies or models" in complaints
    assert "Usage: /compare [NAME NAME …]" in complaints


def test_plain_mode_exports_once(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"

    printed, complaints = plainly(f"/export {file}", "Hello.", f"/export {file}", f"/export {file}")

    assert f"Written to {file}." in printed
    assert "nothing to export yet" in complaints
    assert "already exists" in complaints
    assert "Hello." in file.read_text(encoding="utf-8")
    assert isinstance(json.loads(file.read_text(encoding="utf-8")), dict)


def test_plain_mode_lists_conversations_and_goes_to_one() -> None:
    plainly("First.")
    plainly("/new", "Second.")

    printed, complaints = plainly("/conversations", "/conversations 2", "/conversations 3")

    assert "1. ada: One., 3 messages (you are here)" in printed
    assert "You: First." in printed.partition("/conversations 2")[2]
    assert "There is no conversation 3" in complaints


def test_plain_mode_changes_settings_and_tells_what_overrides_them() -> None:
    printed, complaints = plainly(
        "/set temperature 0.5", "/set temperature hot", "/set model nix", "/set you nobody", "/set"
    )

    assert load_settings().temperature == 0.5
    assert "temperature: 0.5" in printed
    assert "The setting 'temperature' must be a number." in complaints
    assert "--model overrides the setting model" in complaints
    assert "There is no user persona 'nobody'" in complaints


def test_a_setting_that_cannot_be_used_is_taken_back() -> None:
    printed, complaints = plainly("/set strategy nix", "/set", options=())

    assert "strategy: default" in printed
    assert "nix" in complaints


def test_plain_mode_has_thoughts_and_greetings() -> None:
    printed, complaints = plainly("Hello.", "/thoughts", "/greeting 1", "/greeting 2")

    assert "The model did not think before this answer" in printed
    assert "There is no greeting 2; Ada has one greeting." in complaints


def test_a_name_with_a_macro_is_not_filled_again_by_a_new_conversation() -> None:
    write_persona(ADA.replace("Good day.", "Welcome, {{user}}."))
    write_config('user_name = "{{char}}"\n')

    printed, _ = plainly("/new", "/strategy zero-shot")

    assert printed.count("Ada: Welcome, {{char}}.") == 3


def test_plain_mode_runs_the_rest_of_a_command_that_stopped() -> None:
    write_own(SCOLD)

    _, complaints = plainly("/rest", "/scold Ada", "/rest", "/branch 1")

    assert "No command of your own has stopped" in complaints
    assert complaints.count("/scold stopped at step 2 of 3") == 2
    assert "/rest runs the rest." in complaints


async def test_the_rest_begins_after_a_line_whose_answer_failed(transcript: Transcript) -> None:
    with Transcript(None) as empty:
        session = Session(load_persona("ada"), empty, model=ScriptedChatModel(replies=["One."]))
        run = OwnRun(OwnCommand(name="a", steps=("One", "Two")), "")
        assert run.next_command(session).text == "One"
        assert "“One”. /rest runs the rest." in str(run.stopped())
        assert run.next_command(session).text == "Two"
        assert str(run.stopped("It failed.")).endswith("It failed. /rest runs the rest.")
        assert not run.is_over


def test_macros_of_cards_and_variables_are_filled_in_all_steps() -> None:
    with Transcript(None) as empty:
        session = Session(
            load_persona("ada"), empty, model=ScriptedChatModel(replies=["One."]), about_user="A sailor."
        )
        steps = ("{{setvar::a::sad}}{{persona}}", "{{getvar::a}} {{random::{{input}}}}")
        run = OwnRun(OwnCommand(name="a", steps=steps), "x,y {{char}}")

        assert run.next_command(session).text == "A sailor."
        run.done = 1
        assert run.next_command(session).text == "sad x,y {{char}}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "commands:\n  - name: a\n    put: x\n  - name: A\n    put: y\n",
            r"line 4: .*: two commands have the name a\.",
        ),
        ("commands:\n  - name: a\n    steps:\n      - /edit x\n", r"line 4: .*: Usage: /edit N TEXT\."),
        (
            "commands:\n  - name: a\n    steps:\n      - /new\n      - Hi\n",
            "line 3: .*/new opens another chat",
        ),
        ("commands:\n  - name: a\n    steps:\n      - /rest\n", "line 4: .*/rest cannot be a step"),
    ],
)
def test_a_mistake_is_told_with_the_line_on_which_it_is(text: str, told: str) -> None:
    write_own(text)
    with pytest.raises(SettingsError, match=told):
        own_commands()


@pytest.mark.parametrize("text", ["", "# Mine.\n", "commands:\n", "commands: []\n"])
def test_a_file_without_commands_is_no_mistake(text: str) -> None:
    write_own(text)
    assert own_commands() == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Mine.\n",
        "commands:\n",
        "commands: []\n",
        "commands:\n- name: a\n  put: x\n# The end.\n",
        "commands:\n    - name: a\n      put: x\n",
        "commands: [{name: a, put: x}]\n",
        "commands:\n  - name: a\n    put: |\n      x\n      y\n",
    ],
)
def test_sets_of_a_folder_are_appended_to_any_layout(text: str, tmp_path: Path) -> None:
    write_own(text)
    before = own_commands()
    for name in ("one", "two"):
        replies = {"version": 2, "name": name, "qrList": [{"label": name, "message": f"Say {name}: #1"}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(replies), encoding="utf-8")

    done = rolellm_here("persona", "import", str(tmp_path))

    assert done.returncode == 0, done.stderr
    assert "Imported 2 commands" in done.stdout
    assert own_commands()[: len(before)] == before
    assert [one.steps for one in own_commands()[len(before) :]] == [("Say one: #1",), ("Say two: #1",)]
    assert all(
        line in user_paths().commands_file.read_text(encoding="utf-8") for line in text.split("\n")[1:]
    )


def test_a_layout_that_cannot_be_extended_stays_as_it_is(tmp_path: Path) -> None:
    text = "commands:\n  - name: a\n    put: x\n...\n"
    write_own(text)
    file = tmp_path / "set.json"
    file.write_text(
        json.dumps({"version": 2, "qrList": [{"label": "b", "message": "c"}]}), encoding="utf-8"
    )

    done = rolellm_here("persona", "import", str(file))

    assert "cannot be appended" in done.stderr
    assert user_paths().commands_file.read_text(encoding="utf-8") == text


async def test_the_app_compares_by_name_exports_and_changes_a_setting(
    transcript: Transcript, tmp_path: Path
) -> None:
    async with app(transcript).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and not answering(pilot))
        await say(pilot, "Hello.")
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
        await say(pilot, f"/export {tmp_path / 'talk.md'}")
        await until(pilot, lambda: (tmp_path / "talk.md").exists())
        await say(pilot, "/thoughts")
        await until(pilot, lambda: "did not think" in status(pilot))
        prompt(pilot).text = ""
        await say(pilot, "/set temperature 9")
        await until(pilot, lambda: "must be at most 5" in status(pilot) and not answering(pilot))
        assert prompt(pilot).text == "/set temperature 9"
        await say(pilot, "/set temperature 0.5")
        await until(pilot, lambda: load_settings().temperature == 0.5)
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and len(bubbles(pilot)) == 3)
        await say(pilot, "/compare zero-shot system")
        await until(pilot, lambda: screen(pilot) == "CompareScreen")
        await until(pilot, lambda: getattr(pilot.app.screen, "phase", "") == "answered")
        await pilot.press("2")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        await say(pilot, "/conversations 1")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and len(bubbles(pilot)) == 3)


async def test_the_app_runs_the_rest_of_a_command(transcript: Transcript) -> None:
    write_own(SCOLD)
    async with app(transcript).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and not answering(pilot))
        await say(pilot, "/scold Ada")
        await until(pilot, lambda: "/rest runs the rest" in status(pilot) and not answering(pilot))
        await say(pilot, "/rest")
        await until(pilot, lambda: "stopped at step 2 of 3" in status(pilot) and not answering(pilot))


async def test_a_step_that_could_not_be_sent_is_in_the_rest_and_not_in_the_prompt(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_own('commands:\n  - name: greet\n    steps:\n      - "Hello, {{input}}."\n')
    async with app(transcript).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and not answering(pilot))

        def full(*_: object, **__: object) -> None:
            raise StorageError("The disk is full.")

        with monkeypatch.context() as failing:
            failing.setattr(Transcript, "append", full)
            await say(pilot, "/greet Ada")
            await until(pilot, lambda: "The disk is full. /rest" in status(pilot) and not answering(pilot))
        assert prompt(pilot).text == "/rest"
        await pilot.press("enter")
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
        assert bubbles(pilot)[1][1] == "Hello, Ada."


def test_plain_mode_adds_changes_and_chooses_user_personas() -> None:
    printed, complaints = plainly(
        "/you",
        "/you Captain Flint: An old sailor.",
        "/you captain flint: A young sailor.",
        "/you nobody",
        "/you default",
        "/you",
    )

    assert "There are no user personas; /you NAME: DESCRIPTION adds one." in printed
    assert "There is no user persona 'nobody'" in complaints
    assert "captain-flint: Captain Flint, A young sailor.\n" in printed
    assert load_settings().you == ""


async def test_the_app_adds_a_user_persona_and_goes_on_as_it(transcript: Transcript) -> None:
    async with app(transcript).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and not answering(pilot))
        await say(pilot, "/you Captain Flint: An old sailor.")
        await until(pilot, lambda: load_settings().you == "captain-flint")
