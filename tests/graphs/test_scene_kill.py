"""A scene whose process is killed goes on where it stood, and becomes what it would have become."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pytest
from helpers.scene_player import ensemble_of
from helpers.scenes import DIRECTORS, full_room

from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs.scene.stage import Stage

KILLS = 40
HERE = Path(__file__).parents[1]
PLAYER = HERE / "helpers" / "scene_player.py"


class Player:
    """The process that lets children play."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self._stdin, self._stdout = stdin, stdout

    def play(
        self, request: Mapping[str, Any], kill_after: int | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """Have a scene played, and killed after it has told so many things; all it told, and its end."""
        self._stdin.write((json.dumps(request) + "\n").encode())
        self._stdin.flush()
        told: list[dict[str, Any]] = []
        pid = json.loads(self._stdout.readline())["pid"]
        for line in self._stdout:
            thing = json.loads(line)
            if "over" in thing:
                return told, thing["over"]
            told.append(thing)
            if len(told) == kill_after:
                os.kill(pid, signal.SIGKILL)
        raise AssertionError("the player has ended")


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    paths = os.pathsep.join([str(HERE), *sys.path])
    with subprocess.Popen(
        (sys.executable, str(PLAYER)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    ) as process:
        assert process.stdin
        assert process.stdout
        yield Player(process.stdin, process.stdout)
        process.stdin.close()


def standing(messages: Sequence[Message]) -> list[tuple[Any, ...]]:
    return [(one.speaker, one.kind, one.audience, one.text) for one in messages]


def uninterrupted(director: int) -> list[tuple[Any, ...]]:
    async def play() -> list[tuple[Any, ...]]:
        with Transcript(None) as transcript:
            stage = Stage(ensemble_of(full_room(DIRECTORS[director])), transcript)
            while not stage.ended:
                async for _ in stage.step():
                    pass
            return standing(stage.messages)

    return asyncio.run(play())


def check_told(told: Sequence[Mapping[str, Any]], messages: Sequence[Message]) -> None:
    """What was told is kept, word for word."""
    words: dict[str, str] = {}
    by_id = {message.id: message for message in messages}
    for thing in told:
        if thing["did"] == "words":
            words[thing["id"]] = words.get(thing["id"], "") + thing["text"]
        else:
            assert (by_id[thing["id"]].text, by_id[thing["id"]].status) == (thing["text"], "complete")
    for id_, text in words.items():
        # What has ended may have been shortened to what its speaker may say.
        assert by_id[id_].status == "complete" or by_id[id_].text.startswith(text)


def test_a_scene_killed_anywhere_becomes_what_it_would_have_become(player: Player, tmp_path: Path) -> None:
    chance = random.Random(7)
    kills = cut = finished = 0
    while kills < KILLS:
        director = finished % len(DIRECTORS)
        expected = uninterrupted(director)
        file = tmp_path / f"{finished}.db"
        conversation = None
        for round_ in range(1_000):
            # By turns it is killed from outside and by itself, where a change is half done.
            steps = chance.randrange(1_500, 40_000) if round_ % 2 else None
            request = {
                "file": str(file),
                "conversation": conversation,
                "director": director,
                "steps": steps,
            }
            told, status = player.play(request, None if steps else chance.randrange(1, 60))
            assert status in (0, -signal.SIGKILL)
            with sqlite3.connect(file) as database:
                assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            database.close()
            with Transcript(file) as transcript:
                listed = transcript.conversations()
                if not listed:
                    assert not told
                    continue
                conversation = listed[0].id
                messages = transcript.messages(conversation)
                path = transcript.path(conversation)
                check_told(told, messages)
                kills += status != 0
                cut += sum(message.status == "cut" for message in path)
                stage = Stage(
                    ensemble_of(full_room(DIRECTORS[director])), transcript, conversation=conversation
                )
                assert standing(stage.messages) == expected[: len(stage.messages)]
            if status == 0:
                assert standing(path) == expected
                break
        finished += 1
    assert cut, "no kill hit a line in the middle; the test has shown nothing"
    assert finished > 2
