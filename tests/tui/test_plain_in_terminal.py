"""Plain mode in a real terminal."""

import shutil

import pytest
from helpers.terminal import Terminal, terminal
from helpers.user_files import conversation_ids, kept, lines, write_models, write_persona

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

WORDS = " ".join(f"word{number}" for number in range(2000))
PLAIN = ("chat", "ada", "--plain", "--model")


@pytest.fixture(autouse=True)
def slow_model() -> None:
    write_persona()
    write_models(
        f'[models.slow]\nspec = "scripted:{WORDS}"\nseconds_per_word = 0.1\n'
        '[models.quick]\nspec = "scripted:One, 福尔摩斯.|Two."\n'
    )


def enter(pane: Terminal, line: str) -> None:
    pane.type(line)
    pane.press("Enter")


@pytest.mark.core
def test_one_talks_in_lines_and_leaves_with_ctrl_d() -> None:
    with terminal(*PLAIN, "quick") as pane:
        pane.wait_for("Ada: Good day.\nYou:")
        enter(pane, "Hello, 华生.")
        pane.wait_for("One, 福尔摩斯.\nYou:")
        enter(pane, "/again")
        pane.wait_for("Ada: Two.\nYou:")
        pane.press("C-d")
        assert pane.exit_code() == 0

        # All of it stays in the terminal, below each other: nothing was cleared, and nothing moved.
        assert pane.screen().rstrip().splitlines() == [
            "You are talking with Ada; quick answers. /help lists the commands, Ctrl-D leaves.",
            *(
                "Ada: Good day.",
                "You: Hello, 华生.",
                "Ada: One, 福尔摩斯.",
                "You: /again",
                "Ada: Two.",
                "You:",
            ),
        ]

    (conversation,) = conversation_ids("ada")
    assert lines(kept(conversation)) == [
        ("ada", "Good day.", "complete"),
        ("user", "Hello, 华生.", "complete"),
        ("ada", "Two.", "complete"),
    ]


def test_ctrl_c_stops_an_answer_and_a_second_one_leaves() -> None:
    with terminal(*PLAIN, "slow") as pane:
        pane.wait_for("You:")
        enter(pane, "Tell me a story.")
        pane.wait_for("Ada: word0 word1 word2")
        pane.press("C-c")
        seen = pane.wait_for("(cut off)\nYou:")
        assert "Traceback" not in seen
        enter(pane, "/history")
        pane.wait_for("2. You: Tell me a story.\n3. Ada: word0 word1 word2")
        pane.press("C-c")
        assert pane.exit_code() == 0

    (conversation,) = conversation_ids("ada")
    assert [message.status for message in kept(conversation)] == ["complete", "complete", "stopped"]


def test_the_line_can_be_changed_and_earlier_ones_come_back() -> None:
    with terminal(*PLAIN, "quick") as pane:
        pane.wait_for("You:")
        enter(pane, "First line.")
        pane.wait_for("One, 福尔摩斯.\nYou:")
        pane.press("C-d")
        assert pane.exit_code() == 0

    with terminal(*PLAIN, "quick") as pane:
        pane.wait_for("Ada: One, 福尔摩斯.\nYou:")
        pane.press("Up")
        pane.wait_for("\nYou: First line.\n")
        pane.press("Home", "M-d")
        pane.type("Second")
        pane.press("Enter")
        pane.wait_for("You: Second line.\nAda: One, 福尔摩斯.\nYou:")
        pane.press("C-d")
        assert pane.exit_code() == 0

    (conversation,) = conversation_ids("ada")
    assert [message.text for message in kept(conversation)][-2:] == ["Second line.", "One, 福尔摩斯."]
