"""A process that is killed loses nothing it has told of, and others can go on."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.transcripts import WRITER, say

from rolellm_agents.transcript import Message, Transcript

TRANSCRIPTS, KILLS = 4, 50
"""Two hundred kills in all; the more a transcript holds, the longer it takes to read after each."""


class Writers:
    """Processes that write into one conversation, one after another; each is killed somewhere."""

    def __init__(self, process: subprocess.Popen[str], chance: random.Random) -> None:
        self._process = process
        self._chance = chance

    def talk_and_die(self) -> list[dict[str, Any]]:
        """All that the next one has told.

        By turns it is killed from outside, wherever it is then, and by itself between two instructions of
        SQLite's machine, where a change is half done.
        """
        kills_itself = self._chance.random() < 0.5
        self._ask(self._chance.randrange(1, 1500) if kills_itself else 0)
        start = self._hear()
        assert start["did"] == "start"
        told = []
        if not kills_itself:
            told = [self._hear() for _ in range(self._chance.randrange(1, 60))]
            os.kill(start["process"], signal.SIGKILL)
        while (thing := self._hear())["did"] != "die":
            told.append(thing)
        assert thing["code"] == -signal.SIGKILL
        return told

    def _ask(self, steps: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told


@contextmanager
def writers(file: Path, conversation: str, chance: random.Random) -> Iterator[Writers]:
    """Start what starts them."""
    with subprocess.Popen(
        (sys.executable, str(WRITER), "talk", str(file), conversation),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Writers(process, chance)


def expected_texts(told: Sequence[dict[str, Any]]) -> dict[str, str]:
    """What each message must say at least, by id, in the order in which they began."""
    texts: dict[str, str] = {}
    for thing in told:
        match thing["did"]:
            case "begin":
                texts[thing["id"]] = ""
            case "piece":
                texts[thing["id"]] += thing["text"]
            case _:
                texts[thing["id"]] = thing["text"]
    return texts


@pytest.mark.parametrize("seed", range(TRANSCRIPTS))
def test_what_was_told_before_a_kill_is_kept_and_another_process_can_go_on(
    tmp_path: Path, seed: int
) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation("ada")
    kept_before: list[str] = []
    cut = 0
    with writers(file, conversation, random.Random(seed)) as killed:
        for _ in range(KILLS):
            told = killed.talk_and_die()
            messages = whole_line(file, conversation)
            assert [message.id for message in messages[: len(kept_before)]] == kept_before
            cut += check_what_is_new(messages[len(kept_before) :], told)
            kept_before = [message.id for message in messages]

    assert cut > 0, "no kill hit an answer in the middle; the test has shown nothing"
    with Transcript(file) as transcript:
        for message in transcript.path(conversation):
            if message.text:
                assert message.id in {one.message for one in transcript.search(f'"{message.text}"')}
        after = say(transcript, conversation, kept_before[-1], "Are you still there?")
        assert transcript.path(conversation)[-1] == after


def whole_line(file: Path, conversation: str) -> Sequence[Message]:
    """All messages, of which nothing may hang beside the branch, across all the processes."""
    with sqlite3.connect(file) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    with Transcript(file) as transcript:
        messages = transcript.messages(conversation)
        path = transcript.path(conversation)
    assert [message.id for message in path] == [message.id for message in messages]
    return messages


def check_what_is_new(messages: Sequence[Message], told: Sequence[dict[str, Any]]) -> int:
    """Compare what a killed process left with what it has told; returns how many answers it left cut."""
    texts = expected_texts(told)
    ended = {thing["id"] for thing in told if thing["did"] in ("append", "end")}
    new = {message.id: message for message in messages}
    # It was killed after at most one more thing was stored than it could tell of.
    assert list(new)[: len(texts)] == list(texts)
    assert len(new) - len(texts) in (0, 1)
    for id_, text in texts.items():
        if id_ in ended:
            assert (new[id_].text, new[id_].status) == (text, "complete")
        else:
            assert new[id_].text.startswith(text)
    unfinished = [message for message in messages if message.status == "cut"]
    assert unfinished in ([], list(messages[-1:]))
    return len(unfinished)
