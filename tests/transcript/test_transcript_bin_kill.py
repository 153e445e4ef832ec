"""A process that is killed while emptying the bin leaves nothing half deleted, and the next one goes on."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.transcripts import EMPTIER, say

from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.upkeep.checking import check_transcript

TRANSCRIPTS = 6
MOST_KILLS = 25
"""Of one transcript; then a process may end."""


class Emptiers:
    """Processes that empty the bin, one after another."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, steps: int) -> int:
        """The exit code of one that kills itself after so many steps, or ends first."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        code: int = json.loads(self._process.stdout.readline())["code"]
        return code


@contextmanager
def emptiers(file: Path) -> Iterator[Emptiers]:
    """Start what starts them."""
    with subprocess.Popen(
        (sys.executable, str(EMPTIER), str(file)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Emptiers(process)


def spoken(transcript: Transcript, word: str, count: int) -> tuple[str, list[str]]:
    """A conversation of some lines with a word, and their ids."""
    conversation = transcript.create_conversation("shrek")
    ids: list[str] = []
    for number in range(count):
        ids.append(say(transcript, conversation, ids[-1] if ids else None, f"{word} {number}").id)
    return conversation, ids


@pytest.mark.parametrize("seed", range(TRANSCRIPTS))
def test_killed_emptying_leaves_nothing_half_and_goes_on(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        kept, ids = spoken(transcript, "apple", 40)
        gone, _ = spoken(transcript, "zebra", 120)
        transcript.rename(gone, "About zebras")
        transcript.delete_message(ids[25])
        other = say(transcript, kept, ids[9], "zebra again", branch="other")
        transcript.delete_branch(kept, "other")
        transcript.delete_conversations([gone])
    with emptiers(file) as processes:
        for _ in range(MOST_KILLS):
            # Small numbers hit the first steps of each process, large ones let it come far.
            code = processes.run(int(10 ** chance.uniform(1.5, 5)))
            assert check_transcript(file).findings == ()
            with Transcript.for_reading(file) as transcript:
                assert [one.id for one in transcript.path(kept)] == ids[:25]
                assert [one.id for one in transcript.conversations()] == [kept]
                assert not transcript.search("zebra")
                assert len(transcript.bin()) in (0, 3)
                say(transcript, kept, ids[24], "apple beside it", branch="beside")
            if code == 0:
                break
            assert code == -signal.SIGKILL
        else:
            assert processes.run(0) == 0

    report = check_transcript(file)
    assert report.findings == ()
    assert report.missing == report.binned == 0
    contents = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert b"zebra" not in contents
    assert bytes.fromhex(other.id) not in contents
    with Transcript(file) as transcript:
        assert [one.id for one in transcript.path(kept)] == ids[:25]
        assert len(transcript.search("apple 7")) == 1
