"""A process that is killed loses nothing it has told of, and others can go on."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers.transcripts import WRITER, say

from rolellm_agents.transcript import Transcript

KILLS = 30


def talk_and_kill(file: Path, conversation: str, chance: random.Random) -> list[dict[str, Any]]:
    """Start a writer, have it killed somewhere, and return all that it has told.

    By turns it is killed from outside, wherever it is then, and by itself between two instructions of
    SQLite's machine, where a change is half done.
    """
    kills_itself = chance.random() < 0.5
    steps = (str(chance.randrange(1, 1500)),) if kills_itself else ()
    with subprocess.Popen(
        (sys.executable, str(WRITER), "talk", str(file), conversation, *steps), stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        told = []
        if not kills_itself:
            told = [writer.stdout.readline() for _ in range(chance.randrange(1, 60))]
            writer.kill()
        told += writer.stdout.readlines()
    assert writer.returncode == -signal.SIGKILL
    return [json.loads(line) for line in told if line.endswith(b"\n")]


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


def test_what_was_told_before_a_kill_is_kept_and_another_process_can_go_on(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation("ada")
    chance = random.Random(20)
    kept_before: list[str] = []
    cut = 0
    for _ in range(KILLS):
        told = talk_and_kill(file, conversation, chance)
        texts = expected_texts(told)
        ended = {thing["id"] for thing in told if thing["did"] in ("append", "end")}

        with sqlite3.connect(file) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()
        with Transcript(file) as transcript:
            messages = transcript.messages(conversation)
            path = transcript.path(conversation)
        # The branch follows every message, across all the processes: nothing hangs beside it.
        assert [message.id for message in path] == [message.id for message in messages]
        assert [message.id for message in messages[: len(kept_before)]] == kept_before

        new = {message.id: message for message in messages[len(kept_before) :]}
        # It was killed after at most one more thing was stored than it could tell of.
        assert list(new)[: len(texts)] == list(texts)
        assert len(new) - len(texts) in (0, 1)
        for id_, text in texts.items():
            if id_ in ended:
                assert (new[id_].text, new[id_].status) == (text, "complete")
            else:
                assert new[id_].text.startswith(text)
        unfinished = [message for message in new.values() if message.status == "cut"]
        assert unfinished in ([], [messages[-1]])
        cut += len(unfinished)
        kept_before = [message.id for message in messages]

    assert cut > 0, "no kill hit an answer in the middle; the test has shown nothing"
    with Transcript(file) as transcript:
        for message in transcript.path(conversation):
            if message.text:
                assert message.id in {one.message for one in transcript.search(f'"{message.text}"')}
        after = say(transcript, conversation, kept_before[-1], "Are you still there?")
        assert transcript.path(conversation)[-1] == after
