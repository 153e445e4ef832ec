"""What a power cut can take: the answer in progress, and nothing before it."""

import random
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from helpers.power_cuts import Step, files_after_a_cut, recorded

from rolellm_agents.transcript import Transcript

TALK = """
import os, sys
from pathlib import Path
from rolellm_agents.transcript import Transcript
both = ("user", "ada")
with Transcript(Path(sys.argv[1])) as transcript:
    conversation, last = transcript.create_conversation("ada"), None
    for turn in range(6):
        line = transcript.append(conversation, last, speaker="user", audience=both, text=f"line {turn}")
        os.write(1, f"line {turn}\\n".encode())
        last = transcript.begin(conversation, line.id, speaker="ada", audience=both)
        words = [f"w{turn}.{number} " for number in range(4)]
        for word in words:
            transcript.add_piece(last, word)
            os.write(1, f"{word}\\n".encode())
        transcript.end(last, "".join(words), "complete")
        os.write(1, f"end {turn}\\n".encode())
"""
CUTS = 150


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Step]]:
    folder = tmp_path_factory.mktemp("talk")
    file = folder / "data" / "transcript.db"
    did = recorded((sys.executable, "-c", TALK, str(file)), folder / "trace")
    return file, [one for one in did if one.did == "say" or one.file.startswith(str(file.parent))]


def told(steps: list[Step]) -> list[str]:
    return [one.content.decode().strip() for one in steps if one.did == "say"]


def test_a_power_cut_takes_the_answer_in_progress_and_nothing_else(
    steps: tuple[Path, list[Step]], tmp_path: Path
) -> None:
    file, did = steps
    chance = random.Random(3)
    begun = next(number for number, step in enumerate(did) if step.did == "say")
    lost_words = 0
    for cut in range(CUTS):
        place = chance.randrange(begun + 1, len(did) + 1)
        folder = tmp_path / str(cut)
        folder.mkdir()
        for name, content in files_after_a_cut(did[:place], chance).items():
            if not name.endswith("-shm"):
                (folder / Path(name).name).write_bytes(content)
        said = told(did[:place])
        with closing(sqlite3.connect(folder / file.name)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        with Transcript(folder / file.name) as transcript:
            (conversation,) = transcript.conversations()
            messages = transcript.path(conversation.id)
        texts = [message.text for message in messages]
        complete = [message.text for message in messages if message.status == "complete"]
        for thing in said:
            if thing.startswith("line "):
                assert thing in texts
            elif thing.startswith("end "):
                assert sum(text.startswith(f"w{thing[4:]}.") for text in complete) == 1
        words = [thing for thing in said if thing.startswith("w")]
        ended = len([thing for thing in said if thing.startswith("end ")])
        missing = [word for word in words if not any(f"{word} " in text for text in texts)]
        assert {word.split(".")[0] for word in missing} <= {f"w{ended}"}
        lost_words += len(missing)
    assert lost_words, "no cut took a word; the test has shown nothing"


def test_each_word_is_written_before_it_is_shown_and_each_line_is_flushed(
    steps: tuple[Path, list[Step]],
) -> None:
    """A killed process therefore loses nothing: what was written is the system's to keep."""
    _, did = steps
    for number, step in enumerate(did):
        thing = step.content.decode().strip() if step.did == "say" else ""
        before = did[:number]
        if thing.startswith("w"):
            assert any(one.did == "write" and f"{thing} ".encode() in one.content for one in before)
        elif thing:
            last = before[max(place for place, one in enumerate(before) if one.did in ("write", "flush"))]
            assert last.did == "flush"
