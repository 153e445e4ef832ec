"""What is left when a command ends before its time, and when two run at once."""

import signal
import subprocess
import sys

import pytest
from helpers.commands import COMMAND
from helpers.user_files import conversation_ids, kept, lines, write_models, write_persona

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

WORDS = " ".join(f"word{number}" for number in range(2000))
"""With a twentieth of a second for each it takes longer than any test waits."""

SAY = ("say", "ada", "Tell me a story.", "--model", "slow")
CHAT = ("chat", "ada", "--model", "slow")


@pytest.fixture(autouse=True)
def slow_model() -> None:
    write_persona()
    write_models(f'[models.slow]\nspec = "scripted:{WORDS}"\nseconds_per_word = 0.05\n')


def start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (*COMMAND, *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )


def read_until(process: subprocess.Popen[bytes], mark: str) -> str:
    """What it prints until `mark` has come, which it does, or the output ends."""
    assert process.stdout is not None
    seen = b""
    while mark.encode() not in seen and (more := process.stdout.read(4096)):
        seen += more
    assert mark.encode() in seen
    return seen.decode()


def end(process: subprocess.Popen[bytes]) -> tuple[str, str, int]:
    """The rest of its output, what it complained of, and its exit code."""
    out, err = process.communicate(timeout=60)
    return out.decode(), err.decode(), process.returncode


@pytest.mark.parametrize(
    ("command", "sent", "status", "exit_code"),
    [
        (SAY, signal.SIGINT, "stopped", 130),
        (SAY, signal.SIGTERM, "stopped", 143),
        (SAY, signal.SIGKILL, "cut", -9),
        (CHAT, signal.SIGTERM, "stopped", 143),
    ],
)
def test_what_was_printed_before_a_signal_is_kept(
    command: tuple[str, ...], sent: signal.Signals, status: str, exit_code: int
) -> None:
    with start(*command) as process:
        printed = read_until(process, "word2 ")
        process.send_signal(sent)
        rest, complaint, code = end(process)

    (conversation,) = conversation_ids()
    answer = kept(conversation)[-1]
    said = (printed + rest).rpartition("Ada: ")[2].strip()
    assert said.startswith("word0 word1 word2")
    assert answer.text.strip().startswith(said)
    assert WORDS.startswith(answer.text.strip())
    assert (answer.speaker, answer.status) == ("ada", status)
    assert code == exit_code
    assert complaint == ""


@pytest.mark.core
def test_a_reader_that_goes_away_ends_the_answer_without_a_complaint() -> None:
    """As `rolellm say … | head -c 5` does."""
    with start(*SAY) as process:
        assert process.stdout is not None
        printed = read_until(process, "word1")
        process.stdout.close()
        assert process.stderr is not None
        complaint = process.stderr.read().decode()
        code = process.wait(timeout=60)

    assert complaint == ""
    (conversation,) = conversation_ids()
    answer = kept(conversation)[-1]
    assert answer.status == "stopped"
    assert answer.text.strip().startswith(printed.strip())
    # Nobody did anything wrong: neither the person (2) nor we (1).
    assert code == 0


def test_two_at_once_in_a_fresh_home_are_both_kept() -> None:
    both = [start("say", "ada", f"Line {each}.", "--model", f"scripted:Reply {each}.") for each in "AB"]
    ended = []
    for process in both:
        with process:
            ended.append(end(process))

    assert ended == [("Reply A.\n", "", 0), ("Reply B.\n", "", 0)]
    assert sorted(lines(kept(one)) for one in conversation_ids("ada")) == [
        [("user", f"Line {each}.", "complete"), ("ada", f"Reply {each}.", "complete")] for each in "AB"
    ]
