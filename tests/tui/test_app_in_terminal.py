"""The app in a real terminal."""

import shutil
import time

import pytest
from helpers.terminal import terminal
from helpers.user_files import ADA, conversation_ids, kept, lines, write_models, write_persona

from rolellm_agents.persona import load_persona

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

WORDS = " ".join(f"word{number}" for number in range(2000))


@pytest.fixture
def slow_model() -> None:
    write_persona()
    write_models(f'[models.slow]\nspec = "scripted:{WORDS}"\nseconds_per_word = 0.1\n')


def wait_for_answer(persona: str) -> None:
    """Wait until the transcript has the answer whole; its words are on the screen a little before."""
    deadline = time.monotonic() + 60
    while True:
        last = kept(conversation_ids(persona)[0])[-1]
        if (last.speaker, last.status) == (persona, "complete"):
            return
        assert time.monotonic() < deadline, f"it never ended: {last}"
        time.sleep(0.05)


@pytest.mark.core
def test_one_talks_with_holmes_and_leaves() -> None:
    write_models('[models.watson]\nspec = "scripted:Elementary, 我亲爱的华生."\n')
    with terminal("chat", "sherlock-holmes", "--model", "watson") as pane:
        pane.wait_for("Sherlock Holmes", "Say something…", "Again")
        pane.type("How did you know? 福尔摩斯")
        pane.wait_for("How did you know? 福尔摩斯")
        pane.press("Enter")
        seen = pane.wait_for("Elementary, 我亲爱的华生.", "Say something…")
        assert seen.index("You") < seen.index("How did you know? 福尔摩斯") < seen.index("Elementary")
        wait_for_answer("sherlock-holmes")
        pane.press("C-q")
        assert pane.exit_code() == 0
        # The terminal is as it was before: the app has left the alternate screen.
        assert pane.screen().strip() == ""

    (conversation,) = conversation_ids("sherlock-holmes")
    assert lines(kept(conversation)) == [
        ("sherlock-holmes", load_persona("sherlock-holmes").greeting, "complete"),
        ("user", "How did you know? 福尔摩斯", "complete"),
        ("sherlock-holmes", "Elementary, 我亲爱的华生.", "complete"),
    ]


def test_somebody_is_picked_from_the_library_and_escape_stops_the_answer(slow_model: None) -> None:
    with terminal("chat", "--model", "slow") as pane:
        # Nobody has been here yet, so somebody says hello first.
        pane.wait_for("Library")
        pane.type("l")
        pane.wait_for("Type to search for a persona", "Abraham Lincoln")
        pane.type("cartographer")
        pane.wait_for("cartographer", "Ada is a mathematician.")
        pane.press("Enter")
        pane.wait_for("Good day.", "Say something…")
        pane.type("Tell me a story.")
        pane.press("Enter")
        pane.wait_for("word3 ", "Stop")
        pane.press("Escape")
        pane.wait_for("cut off", "Again")
        pane.press("C-l")
        pane.wait_for("cartographer", "Ada is a mathematician.")
        pane.press("C-q")
        assert pane.exit_code() == 0

    (conversation,) = conversation_ids("ada")
    assert [message.status for message in kept(conversation)] == ["complete", "complete", "stopped"]


def test_a_window_that_is_closed_in_mid_answer_keeps_the_words(slow_model: None) -> None:
    with terminal("chat", "ada", "--model", "slow") as pane:
        pane.wait_for("Say something…")
        pane.type("Tell me a story.")
        pane.press("Enter")
        pane.wait_for("word0 word1 word2")
        pane.close()

    (conversation,) = conversation_ids("ada")
    answer = kept(conversation)[-1]
    assert answer.text.strip().startswith("word0 word1 word2")
    assert WORDS.startswith(answer.text.strip())
    # Nobody goes on writing to a terminal that is gone.
    deadline = time.monotonic() + 60
    while (before := kept(conversation)[-1].text) and time.monotonic() < deadline:
        time.sleep(0.5)
        if kept(conversation)[-1].text == before:
            break
    assert len(before) < len(WORDS) / 2
    assert answer.status in ("cut", "stopped")


def test_a_model_that_does_not_exist_is_told_in_a_sentence_and_not_by_a_crash() -> None:
    with terminal("chat", "shrek", "--model", "workstation") as pane:
        assert pane.exit_code() == 2
        seen = " ".join(pane.screen().split())

    assert seen.startswith("rolellm: There is no model 'workstation'; ")
    assert conversation_ids() == []


def test_a_persona_is_edited_and_its_file_differs_in_one_line() -> None:
    write_models('[models.watson]\nspec = "scripted:Elementary."\n')
    text = "# Mine.\n" + ADA.replace("name: Ada", "name: 'Ada'  # never Lady")
    path = write_persona(text)
    with terminal("chat", str(path), "--model", "watson") as pane:
        pane.wait_for("Good day.", "Say something…")
        pane.press("F11")
        pane.wait_for("ada.yaml", "Description", "Save")
        pane.press("Down", "Down")
        pane.wait_for("Description            Good day.")
        pane.press("Enter")
        pane.type("Sit down. ")
        pane.wait_for("Sit down. Good day.", "not saved")
        pane.press("C-s")
        pane.wait_for("Saved as")
        pane.press("Escape")
        pane.wait_for("Sit down. Good day.", "Say something…")
        pane.press("C-q")
        assert pane.exit_code() == 0
    assert path.read_text() == text.replace("Good day.", "Sit down. Good day.")
