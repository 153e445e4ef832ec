"""`rolellm chat --plain`: a conversation in lines of text."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from helpers.commands import COMMAND
from helpers.here import rolellm_here
from helpers.user_files import ADA, conversation_ids, kept, lines, write_models, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.transcript import Transcript

MODEL = "scripted:One.|Two.|Three.|Four."
GREETED = [
    f"You are talking with Ada; {MODEL} answers. /help lists the commands, Ctrl-D leaves.",
    "Ada: Good day.",
]


def talk(*said: str, model: str = MODEL, new: bool = False) -> list[str]:
    """What is printed when these lines are typed, less the opening; nothing was complained of."""
    told, complaints = talk_badly(*said, model=model, new=new)
    assert complaints == []
    return told


def talk_badly(*said: str, model: str = MODEL, new: bool = False) -> tuple[list[str], list[str]]:
    """What is printed from the first of these lines on, and what is complained of."""
    options = ("--model", model, *(("--new",) if new else ()))
    done = rolellm_here("chat", "ada", "--plain", *options, stdin="".join(f"{line}\n" for line in said))
    assert done.returncode == 0
    printed = done.stdout.splitlines()
    return printed[printed.index(f"You: {said[0]}") :], done.stderr.splitlines()


@pytest.fixture(autouse=True)
def ada() -> None:
    write_persona()


def test_it_begins_with_who_is_there_and_the_greeting_and_ends_with_the_input() -> None:
    done = rolellm_here("chat", "ada", "--plain", "--model", MODEL)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [*GREETED, ""]
    assert conversation_ids() == []


def test_a_line_is_answered_with_the_name_before_the_words() -> None:
    assert talk("Hello.", "", "  ", "And you?") == [
        *("You: Hello.", "Ada: One.", "You: ", "You:   ", "You: And you?", "Ada: Two.", ""),
    ]

    (conversation,) = conversation_ids()
    assert lines(kept(conversation)) == [
        ("ada", "Good day.", "complete"),
        ("user", "Hello.", "complete"),
        ("ada", "One.", "complete"),
        ("user", "And you?", "complete"),
        ("ada", "Two.", "complete"),
    ]


def test_nothing_but_text_is_printed() -> None:
    write_persona(ADA.replace("Good day.", r'"\e[2J\e]0;x\aGood\x07 day. 你好"'))
    write_models('[models.loud]\nspec = "scripted:\\u001b[31mRed\\u001b[0m \\u202e and\\u0008 so."\n')

    done = rolellm_here("chat", "ada", "--plain", "--model", "loud", stdin="Hi.\n/history\n/why all\n")

    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.stdout) is None
    assert "Ada: Good day. 你好\nYou: Hi.\nAda: Red  and so.\n" in done.stdout


def test_coming_back_one_hears_the_last_words_and_goes_on() -> None:
    talk("Hello.", "And you?")

    back = rolellm_here("chat", "ada", "--plain", "--model", MODEL, stdin="It is me.\n/history\n")

    assert back.stdout.splitlines() == [
        GREETED[0],
        "There are 5 messages so far; /history prints them.",
        "You: And you?",
        "Ada: Two.",
        "You: It is me.",
        "Ada: One.",
        "You: /history",
        *("1. Ada: Good day.", "2. You: Hello.", "3. Ada: One.", "4. You: And you?", "5. Ada: Two."),
        *("6. You: It is me.", "7. Ada: One.", ""),
    ]
    assert talk("Somebody else.", new=True) == ["You: Somebody else.", "Ada: One.", ""]
    assert len(conversation_ids()) == 2


def test_another_answer_and_the_way_between_them() -> None:
    told, complaints = talk_badly(
        *("Hello.", "/again", "/again", "/swipe left", "/swipe 3", "/swipe right", "/swipe 9", "/swipe 1"),
        *("/swipe left", "/history"),
    )

    assert told == [
        *("You: Hello.", "Ada: One."),
        *("You: /again", "Ada: Two.", "You: /again", "Ada: Three."),
        *("You: /swipe left", "Answer 2 of 3.", "3. Ada: Two."),
        *("You: /swipe 3", "Answer 3 of 3.", "3. Ada: Three."),
        *("You: /swipe right", "You: /swipe 9", "You: /swipe 1", "Answer 1 of 3.", "3. Ada: One."),
        *("You: /swipe left", "You: /history", "1. Ada: Good day.", "2. You: Hello.", "3. Ada: One.", ""),
    ]
    assert complaints == [
        "rolellm: There is no answer 4, this is 3 of 3; /again generates another.",
        "rolellm: There is no answer 9, this is 3 of 3; /again generates another.",
        "rolellm: There is no answer 0, this is 1 of 3; /again generates another.",
    ]


def test_an_answer_goes_on_from_where_it_ended() -> None:
    told = talk("Hello.", "/continue", "/history", model="scripted:Once upon|  a time.")

    assert told == [
        *("You: Hello.", "Ada: Once upon", "You: /continue", "Ada continues: a time."),
        *("You: /history", "1. Ada: Good day.", "2. You: Hello.", "3. Ada: Once upon  a time.", ""),
    ]


def test_words_are_put_in_place_of_others_and_back() -> None:
    told = talk(
        *("Hello.", "And you?", "/edit 2 Good evening.", "/history", "/undo", "/edit 5 Nobody.", "/undo"),
        *("/redo", "/undo", "/undo", "/undo", "/undo"),
    )

    assert told == [
        *("You: Hello.", "Ada: One.", "You: And you?", "Ada: Two."),
        *("You: /edit 2 Good evening.", "Ada: Three."),
        "The 3 messages after it stay on the old branch; /undo returns to it.",
        *("You: /history", "1. Ada: Good day.", "2. You: Good evening.", "3. Ada: Three."),
        *("You: /undo", "The conversation ends with:", "5. Ada: Two."),
        *("You: /edit 5 Nobody.", "5. Ada: Nobody."),
        *("You: /undo", "The conversation ends with:", "5. Ada: Two."),
        *("You: /redo", "The conversation ends with:", "5. Ada: Nobody."),
        *("You: /undo", "The conversation ends with:", "5. Ada: Two."),
        *("You: /undo", "The conversation ends with:", "3. Ada: One."),
        *("You: /undo", "The conversation ends with:", "1. Ada: Good day."),
        *("You: /undo", "Nothing to undo.", ""),
    ]


def test_a_branch_leaves_the_old_one_as_it_is() -> None:
    told = talk("Hello.", "/branch 1", "Good evening.", "/branches", "/branches 1", "/branches 2", "/redo")

    assert told == [
        *("You: Hello.", "Ada: One."),
        *("You: /branch 1", "Continuing after message 1, on branch-2.", "You: Good evening.", "Ada: Two."),
        *("You: /branches", "1. main, 3 messages, ends with “One.”"),
        "2. branch-2, 3 messages, ends with “Two.” (you are here)",
        *("You: /branches 1", "Now on main.", "The conversation ends with:", "3. Ada: One."),
        *("You: /branches 2", "Now on branch-2.", "The conversation ends with:", "3. Ada: Two."),
        *("You: /redo", "Nothing to redo.", ""),
    ]
    (conversation,) = conversation_ids()
    with Transcript(user_paths().transcript) as transcript:
        assert [message.text for message in transcript.path(conversation, "main")] == [
            *("Good day.", "Hello.", "One.")
        ]


def test_a_note_is_kept_with_the_conversation() -> None:
    assert talk("/note", "/note Be brief.", "Hello.") == [
        *("You: /note", "There is no author's note."),
        *("You: /note Be brief.", "The author's note: Be brief.", "You: Hello.", "Ada: One.", ""),
    ]
    assert talk("/note", "/note clear", "/note") == [
        *("You: /note", "The author's note: Be brief."),
        *("You: /note clear", "There is no author's note.", "You: /note", "There is no author's note.", ""),
    ]


def test_one_may_ask_why() -> None:
    told = talk("Hello.", "/why", "/why all", "/edit 3 No.", "/why")

    assert told[:4] == [
        *("You: Hello.", "Ada: One.", "You: /why"),
        f"Message 3 comes from {MODEL} with the strategy few-shot-dialogue.",
    ]
    assert re.fullmatch(r"Provenance: [\d.]+ seconds, the first word after [\d.]+\.", told[4])
    assert told[5] == "Nothing was recalled."
    assert re.fullmatch(
        r"The prompt had 3 messages with [\d,]+ characters: instruction 1, history 1, line 1\.", told[6]
    )
    assert told[7].startswith("You: /why all") or told[7].startswith("Sampling: ")
    whole = told[told.index("You: /why all") + 1 : told.index("You: /edit 3 No.")]
    assert whole[0].startswith("1. instruction, as system: ")
    assert "Ada is a mathematician." in "\n".join(whole)
    assert whole[-2:] == ["2. history, as assistant: Good day.", "3. line, as user: Hello."]
    assert told[-2] == "Message 3 was edited by hand."


def test_of_an_answer_of_another_day_only_what_is_kept_is_told() -> None:
    talk("Hello.", "/again")

    told, complaints = talk_badly("/why all", "/swipe 1", "/why")

    assert complaints == ["rolellm: The prompt of this answer was not saved; /why prints what was."]
    assert told[5] == f"Message 3 comes from {MODEL} with the strategy few-shot-dialogue."
    assert told[-2] == "Nothing was recalled."


def test_help_and_quit() -> None:
    told = talk("/help", "/quit", "This is not said any more.")

    assert told[0] == "You: /help"
    assert told[1] == "/again: generate another answer to your last line."
    assert told[-1] == "You: /quit"
    assert conversation_ids() == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("/again", "There is nothing to answer yet; send a message first."),
        ("/continue", "There is nothing to answer yet; send a message first."),
        ("/swipe left", "There is no answer yet; type a line, or /again."),
        ("/why", "There is no answer yet; type a line, or /again."),
        ("/edit 1 Other words.", "There is no message 1; /history prints the numbers."),
        ("/branch 1", "There is no message 1; /history prints the numbers."),
        ("/branches 1", "There is no branch 1; /branches lists them."),
    ],
)
def test_what_cannot_be_done_yet_is_told_in_a_line_and_it_goes_on(line: str, complaint: str) -> None:
    told, complaints = talk_badly(line, "Hello.")

    assert told == [f"You: {line}", "You: Hello.", "Ada: One.", ""]
    assert complaints == [f"rolellm: {complaint}"]


@pytest.mark.parametrize("line", ["/history", "/branches"])
def test_before_the_first_line_there_is_nothing_to_tell(line: str) -> None:
    assert talk(line) == [f"You: {line}", "No messages yet; type a line and press Enter.", ""]


def test_an_error_of_the_model_is_told_in_a_line_and_the_line_can_be_answered_again() -> None:
    write_models('[models.taciturn]\nspec = "scripted:One."\nonce = true\n')

    told, complaints = talk_badly("Hello.", "And you?", "/why", "/history", model="taciturn")

    assert complaints == [
        "rolellm: The scripted model has no reply left after 1.",
        "rolellm: There is no answer yet; type a line, or /again.",
    ]
    assert told[-2] == "4. You: And you?"
    assert talk("/again", model=MODEL) == ["You: /again", "Ada: One.", ""]


@pytest.mark.core
def test_a_line_that_is_no_text_is_told_and_the_next_one_is_heard() -> None:
    done = subprocess.run(
        (*COMMAND, "chat", "ada", "--plain", "--model", MODEL),
        input="caf\xe9\n".encode("latin-1") + b"Hello.\n",
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
        timeout=60,
    )

    assert done.stderr == b"rolellm: This line is not UTF-8 text; type it again.\n"
    assert done.stdout.decode().splitlines() == [*GREETED, "You: Hello.", "Ada: One.", ""]


@pytest.fixture
def talking() -> Iterator[subprocess.Popen[bytes]]:
    """A conversation in a process of its own, in the middle of a long answer."""
    words = " ".join(f"word{number}" for number in range(2000))
    write_models(f'[models.slow]\nspec = "scripted:{words}"\nseconds_per_word = 0.05\n')
    program = (*COMMAND, "chat", "ada", "--plain", "--model", "slow")
    with subprocess.Popen(program, stdin=-1, stdout=-1, stderr=-1, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Tell me a story.\n")
        seen = b""
        while b"word2 " not in seen and (more := process.stdout.read(4096)):
            seen += more
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
@pytest.mark.parametrize(
    ("sent", "then", "exit_code", "ending"),
    [
        (signal.SIGTERM, b"", 143, ""),
        (signal.SIGINT, b"", 0, "(cut off)\n\n"),
        (signal.SIGINT, b"/history\n", 0, " (cut off)\n\n"),
    ],
)
def test_an_answer_that_is_stopped_keeps_its_words(
    talking: subprocess.Popen[bytes], sent: signal.Signals, then: bytes, exit_code: int, ending: str
) -> None:
    talking.send_signal(sent)
    out, err = talking.communicate(then, timeout=60)

    assert (talking.returncode, err) == (exit_code, b"")
    assert out.decode().endswith(ending)
    assert out.decode().count("(cut off)") == (0 if not ending else 1 + bool(then))
    (conversation,) = conversation_ids()
    answer = kept(conversation)[-1]
    assert answer.status == "stopped"
    assert answer.text.startswith("word0 word1 word2")


@pytest.mark.skipif(sys.platform == "win32", reason="its pipes tell it otherwise")
def test_a_reader_that_goes_away_ends_it_without_a_complaint(talking: subprocess.Popen[bytes]) -> None:
    assert talking.stdout is not None
    assert talking.stderr is not None
    talking.stdout.close()

    assert talking.stderr.read() == b""
    assert talking.wait(timeout=60) == 0
    (conversation,) = conversation_ids()
    assert kept(conversation)[-1].status == "stopped"
