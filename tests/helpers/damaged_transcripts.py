"""A transcript with everything that a salvage can get wrong, and ways to damage it."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.transcripts import PERSONA, begin, say
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER

PAGE = 4096
UNFINISHED = "A half answer"
DRAFT = "An unsent line."


def fill(transcript: Transcript, conversations: int = 3, lines: int = 40) -> None:
    """Conversations with long and short messages, titles, notes, branches, a draft, and a cut answer."""
    for number in range(conversations):
        conversation = transcript.create_conversation(PERSONA)
        transcript.rename(conversation, f"Title {number}")
        transcript.set_note(conversation, f"Note {number}")
        last = None
        for line in range(lines):
            words = f"{number}.{line} " + "word " * (3_000 if line % 20 == 10 else 3 + line % 7)
            made_by = {"model": "script", "seed": line} if line % 2 else {}
            last = transcript.append(
                conversation,
                last,
                speaker=PERSONA if line % 2 else USER,
                audience=(USER, PERSONA),
                text=words,
                made_by=made_by,
            ).id
            if line == lines // 2:
                transcript.keep_summary(last, f"Summary {number}")
        transcript.move_branch(conversation, last, "other")
        say(transcript, conversation, last, f"Aside {number}", branch="other")
        transcript.keep_draft(conversation, DRAFT)
    begin(transcript, conversation, last, "A half ", "answer")


def everything(file: Path) -> dict[str, Message]:
    """All messages of a file by their ids."""
    with Transcript(file) as transcript:
        summaries = (*transcript.conversations(), *transcript.conversations(archived=True))
        return {message.id: message for summary in summaries for message in transcript.messages(summary.id)}


def left_by_a_kill(file: Path) -> Path:
    """Fill a transcript, and leave it with its log as a killed process does."""
    live = file.with_name("live.db")
    with Transcript(live) as transcript:
        fill(transcript)
        shutil.copyfile(live, file)
        shutil.copyfile(live.with_name("live.db-wal"), file.with_name(f"{file.name}-wal"))
    return file


def whole(file: Path) -> Path:
    """Fill a transcript and close it."""
    with Transcript(file) as transcript:
        fill(transcript)
    return file


@contextmanager
def unguarded(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection that may delete rows to which others refer."""
    database = sqlite3.connect(file)
    database.execute("PRAGMA foreign_keys = OFF")
    for trigger in ("message_ends_once", "message_stays"):
        database.execute(f"DROP TRIGGER {trigger}")
    yield database
    database.commit()
    database.execute("VACUUM")
    database.close()


def overwrite(file: Path, place: int, content: bytes) -> None:
    """Write bytes into the middle of a file."""
    with file.open("rb+") as opened:
        opened.seek(place)
        opened.write(content)
