"""`rolellm say -i`: a conversation in the terminal's scrollback."""

import shutil

import pytest
from helpers.here import rolellm_here
from helpers.terminal import terminal
from helpers.user_files import conversation_ids, kept, lines, write_config, write_models, write_persona

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture(autouse=True)
def ada() -> None:
    write_persona()
    write_models('[models.quick]\nspec = "scripted:One, 福尔摩斯.|Two.|Three."\n')


def test_a_text_or_a_conversation_is_needed() -> None:
    said = rolellm_here("say", "ada", "--model", "quick")

    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == "rolellm: There is nothing to send; add a text, or -i for a conversation.\n"


def test_the_first_line_may_be_an_argument_even_with_a_slash() -> None:
    said = rolellm_here("say", "-i", "ada", "/quit", "--model", "quick", stdin="And you?\n")

    assert (said.returncode, said.stderr) == (0, "")
    (conversation,) = conversation_ids()
    assert [text for _, text, _ in lines(kept(conversation))] == [
        "Good day.",
        "/quit",
        "One, 福尔摩斯.",
        "And you?",
        "Two.",
    ]


def test_a_conversation_goes_on_and_another_one_is_not_touched() -> None:
    rolellm_here("say", "ada", "Hello.", "--model", "quick")
    (conversation,) = conversation_ids()
    rolellm_here("say", "-i", "ada", "--model", "quick", "--no-keep", stdin="Nobody keeps this.\n")
    rolellm_here("say", "-i", "ada", "--model", "quick", "-c", conversation, stdin="And you?\n")

    assert conversation_ids() == [conversation]
    assert [message.text for message in kept(conversation)] == [
        "Hello.",
        "One, 福尔摩斯.",
        "And you?",
        "One, 福尔摩斯.",
    ]


@needs_tmux
@pytest.mark.core
def test_the_conversation_stays_in_the_terminal() -> None:
    with terminal("say", "-i", "ada", "Hello.", "--model", "quick") as pane:
        pane.wait_for("Ada: One, 福尔摩斯.\nYou:")
        pane.paste("first line\nsecond line")
        pane.wait_for("first line\nsecond line")
        pane.press("Enter")
        pane.wait_for("Ada: Two.\nYou:")
        pane.type("half a line")
        pane.resize(50, 20)
        pane.wait_for("half a line")
        pane.resize(100, 30)
        pane.type(" and its end")
        pane.press("Enter")
        pane.wait_for("Ada: Three.\nYou:")
        pane.press("C-d")
        assert pane.exit_code() == 0
        assert pane.screen().rstrip().splitlines() == [
            "You are talking with Ada; quick answers. /help lists the commands, Ctrl-D leaves.",
            "Ada: Good day.",
            "You: Hello.",
            "Ada: One, 福尔摩斯.",
            "You: first line",
            "second line",
            "Ada: Two.",
            "You: half a line and its end",
            "Ada: Three.",
            "You:",
        ]

    (conversation,) = conversation_ids("ada")
    said = [text for speaker, text, _ in lines(kept(conversation)) if speaker == "user"]
    assert said == ["Hello.", "first line\nsecond line", "half a line and its end"]


@needs_tmux
def test_vim_keys_edit_the_line_if_they_are_chosen() -> None:
    write_config("vim_keys = true\n")
    with terminal("say", "-i", "ada", "--model", "quick") as pane:
        pane.wait_for("You:")
        pane.type("one two three")
        pane.press("Escape")
        pane.type("bD")
        pane.press("Enter")
        pane.wait_for("Ada: One, 福尔摩斯.\nYou:")
        pane.press("C-d")
        assert pane.exit_code() == 0
    (conversation,) = conversation_ids("ada")
    assert kept(conversation)[1].text == "one two"
