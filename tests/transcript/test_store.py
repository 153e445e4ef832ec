"""What the transcript keeps, finds and refuses; and what its writing costs."""

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean, median
from typing import Literal

import pytest
from helpers.transcripts import BOTH, PERSONA, begin, say

from rolellm_agents.errors import MessageError, RoleLLMError, StorageError
from rolellm_agents.transcript import Kind, Message, Transcript
from rolellm_agents.transcript.message import KINDS, USER

Write = Callable[[Transcript, str, str | None], object]


def append_something(transcript: Transcript, conversation: str, parent: str | None) -> object:
    return say(transcript, conversation, parent, "Hello.")


def begin_something(transcript: Transcript, conversation: str, parent: str | None) -> object:
    return begin(transcript, conversation, parent)


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with Transcript(tmp_path / "transcript.db") as opened:
        yield opened


# What is kept


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_comes_back_as_it_was_written(transcript: Transcript, kind: Kind) -> None:
    conversation = transcript.create_conversation(PERSONA)
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    written = transcript.append(
        conversation,
        None,
        speaker="sherlock-holmes",
        audience=("sherlock-holmes", "li-bai", USER),
        kind=kind,
        text="  “举杯邀明月” 🌕\r\n\x00 it's ; DROP TABLE message; --",
        made_by={"model": "scripted:?", "deep": {"list": [1, None, "é"]}},
    )
    assert transcript.messages(conversation) == [written]
    assert transcript.message(written.id) == written
    assert written.conversation == conversation
    assert written.parent is None
    assert written.speaker == "sherlock-holmes"
    assert written.audience == ("sherlock-holmes", "li-bai", USER)
    assert written.kind == kind
    assert written.text == "  “举杯邀明月” 🌕\r\n\x00 it's ; DROP TABLE message; --"
    assert written.made_by == {"model": "scripted:?", "deep": {"list": [1, None, "é"]}}
    assert written.usage is None
    assert written.status == "complete"
    created = datetime.fromisoformat(written.created)
    assert created.utcoffset() == timedelta(0)
    assert before <= created <= datetime.now(UTC)


def test_an_answer_grows_by_pieces_and_counts_as_cut_until_it_ends(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    asked = say(transcript, conversation, None, "Who are you?")
    answer = transcript.begin(
        conversation, asked.id, speaker=PERSONA, audience=BOTH, made_by={"model": "m", "seed": 1}
    )
    assert (transcript.message(answer).text, transcript.message(answer).status) == ("", "cut")
    # Ten and more: a wrong order by text instead of number would show.
    for number in range(12):
        transcript.add_piece(answer, f"{number} ")
    begun = transcript.message(answer)
    assert (begun.text, begun.status) == ("0 1 2 3 4 5 6 7 8 9 10 11 ", "cut")
    assert begun.made_by == {"model": "m", "seed": 1}
    assert begun.parent == asked.id

    ended = transcript.end(
        answer, "The final words.", "complete", {"output_tokens": 3}, made_by={"seed": 2, "why": "stop"}
    )
    assert transcript.path(conversation) == [asked, ended]
    assert (ended.text, ended.status) == ("The final words.", "complete")
    assert ended.usage == {"output_tokens": 3}
    assert ended.made_by == {"model": "m", "seed": 2, "why": "stop"}


@pytest.mark.parametrize("status", ["complete", "stopped", "failed"])
def test_another_reader_sees_each_piece_and_how_it_ended(
    transcript: Transcript, tmp_path: Path, status: Literal["complete", "stopped", "failed"]
) -> None:
    conversation = transcript.create_conversation(PERSONA)
    with Transcript(tmp_path / "transcript.db") as reader:
        answer = begin(transcript, conversation, None, "One ")
        assert reader.message(answer).text == "One "
        transcript.add_piece(answer, "two")
        assert reader.message(answer).text == "One two"
        ended = transcript.end(answer, "One two", status)
        assert ended.status == status
        assert reader.messages(conversation) == [ended]


def test_swipes_stand_beside_each_other_under_one_parent(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    other = transcript.create_conversation(PERSONA)
    say(transcript, other, None, "Another's first line")
    asked = say(transcript, conversation, None, "Again?")
    answers = [say(transcript, conversation, asked.id, f"{n}", speaker=PERSONA) for n in range(3)]
    follow_up = say(transcript, conversation, answers[1].id, "And?")
    edited = say(transcript, conversation, None, "Again, please?")

    assert transcript.siblings(answers[1].id) == answers
    assert transcript.children(asked.id) == answers
    assert transcript.children(answers[1].id) == [follow_up]
    assert transcript.children(follow_up.id) == []
    # First lines have no parent, and are swipes of each other all the same; not of another conversation's.
    assert transcript.siblings(asked.id) == [asked, edited]
    assert transcript.siblings("nobody") == []


def test_each_branch_follows_its_own_messages(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    first = say(transcript, conversation, None, "one")
    second = say(transcript, conversation, first.id, "two")
    assert transcript.branches(conversation) == {"main": second.id}

    transcript.move_branch(conversation, first.id, "branch-2")
    other = say(transcript, conversation, first.id, "zwei", branch="branch-2")
    assert texts(transcript.path(conversation)) == ["one", "two"]
    assert texts(transcript.path(conversation, "branch-2")) == ["one", "zwei"]
    assert transcript.path(conversation, "branch-3") == []
    assert list(transcript.branches(conversation).items()) == [("main", second.id), ("branch-2", other.id)]
    assert transcript.latest_branch(conversation) == "branch-2"

    transcript.move_branch(conversation, other.id)
    assert texts(transcript.path(conversation)) == ["one", "zwei"]
    assert transcript.latest_branch(conversation) == "main"
    transcript.move_branch(conversation, None)
    assert transcript.path(conversation) == []
    assert texts(transcript.messages(conversation)) == ["one", "two", "zwei"]


def test_a_conversation_that_does_not_exist_is_empty_and_on_its_main_branch(
    transcript: Transcript,
) -> None:
    assert transcript.latest_branch("nowhere") == "main"
    assert transcript.branches("nowhere") == {}
    assert transcript.path("nowhere") == []
    assert transcript.messages("nowhere") == []


def test_a_transcript_without_a_path_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Transcript() as one, Transcript() as other:
        conversation = one.create_conversation(PERSONA)
        said = say(one, conversation, None, "Between us.")
        assert one.messages(conversation) == [said]
        assert other.messages(conversation) == []
    assert list(tmp_path.iterdir()) == []


def test_half_a_character_costs_no_more_than_itself(transcript: Transcript) -> None:
    """A shell hands over bytes that are no text, and servers cut emoji in two, as lone surrogates."""
    conversation = transcript.create_conversation(PERSONA)
    line = say(transcript, conversation, None, "h\udcffi")
    answer = begin(transcript, conversation, line.id, "a \ud83d", " b")
    assert texts(transcript.path(conversation)) == ["h\ufffdi", "a \ufffd b"]
    assert transcript.end(answer, "\ude00 b", "complete").text == "\ufffd b"


def test_a_megabyte_in_one_message_is_kept(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    text = "long 长 " * 120_000
    assert say(transcript, conversation, None, text).text == text


# Finding conversations


def test_conversations_are_listed_by_what_was_said_last(transcript: Transcript) -> None:
    first = transcript.create_conversation("ada")
    second = transcript.create_conversation("li-bai")
    transcript.create_conversation("silent")
    line = say(transcript, first, None, "Hello.")
    say(transcript, second, None, "你好")
    answer = say(transcript, first, line.id, "a\nb \x1b[31mred\x1b[0m " + "x" * 100, speaker="ada")
    say(transcript, first, line.id, "Swipe.", speaker="ada", branch="branch-2")
    transcript.move_branch(first, answer.id)

    newest, older = transcript.conversations()
    assert (newest.id, newest.persona, newest.messages, newest.last) == (first, "ada", 3, "Swipe.")
    assert (older.id, older.persona, older.messages, older.last) == (second, "li-bai", 1, "你好")
    assert newest.created <= line.created <= newest.updated
    assert newest.updated == transcript.messages(first)[-1].created
    assert transcript.conversations("li-bai") == [older]
    assert transcript.conversations("silent") == []


def test_the_last_message_in_the_list_is_short_and_safe_to_show(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    say(transcript, conversation, None, "a\nb \x1b[31mred\x1b[0m " + "x" * 100)
    (summary,) = transcript.conversations()
    assert summary.last == "a b red " + "x" * 71 + "…"


def test_the_list_shows_the_words_of_an_answer_that_was_cut(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    begin(transcript, conversation, None, "I was ", "about to")
    (summary,) = transcript.conversations()
    assert summary.last == "I was about to"


def test_a_conversation_is_found_by_the_beginning_of_its_id(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    say(transcript, conversation, None, "Hello.")
    for length in (1, 4, len(conversation)):
        assert transcript.find_conversation(conversation[:length]).id == conversation
    with pytest.raises(MessageError, match="There is no conversation 'x'"):
        transcript.find_conversation("x")
    with pytest.raises(MessageError):
        transcript.find_conversation("")
    # An id has hexadecimal digits: of 17, two begin alike.
    for _ in range(16):
        say(transcript, transcript.create_conversation(PERSONA), None, "Hello.")
    beginnings = [one.id[0] for one in transcript.conversations()]
    shared = max(beginnings, key=beginnings.count)
    with pytest.raises(MessageError, match=f"{beginnings.count(shared)} conversations begin with"):
        transcript.find_conversation(shared)


# What is refused


@pytest.mark.parametrize("write", [append_something, begin_something])
def test_a_parent_that_does_not_exist_or_is_another_conversations_is_refused(
    transcript: Transcript, write: Write
) -> None:
    conversation = transcript.create_conversation(PERSONA)
    said = say(transcript, conversation, None, "Mine.")
    other = say(transcript, transcript.create_conversation(PERSONA), None, "Another's.")
    for parent in ("0123456789abcdef", "", other.id):
        with pytest.raises(MessageError, match=f"'{parent}'"):
            write(transcript, conversation, parent)
    assert transcript.messages(conversation) == [said]
    assert transcript.branches(conversation) == {"main": said.id}


@pytest.mark.parametrize("write", [append_something, begin_something])
def test_a_conversation_that_does_not_exist_takes_no_message(transcript: Transcript, write: Write) -> None:
    with pytest.raises(MessageError, match="nowhere"):
        write(transcript, "nowhere", None)
    assert transcript.messages("nowhere") == []


def test_a_branch_cannot_point_to_a_message_of_nobody_or_of_another_conversation(
    transcript: Transcript,
) -> None:
    """It would seem empty, or show another conversation."""
    conversation = transcript.create_conversation(PERSONA)
    said = say(transcript, conversation, None, "Mine.")
    other = say(transcript, transcript.create_conversation(PERSONA), None, "Another's.")
    for target in ("0123456789abcdef", other.id):
        with pytest.raises(MessageError, match=target):
            transcript.move_branch(conversation, target)
        assert transcript.path(conversation) == [said]


def test_a_message_ends_once(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    answer = begin(transcript, conversation, None, "First ", "words")
    ended = transcript.end(answer, "First words", "stopped")
    with pytest.raises(RoleLLMError):
        transcript.end(answer, "Other words", "complete")
    assert transcript.message(answer) == ended


def test_words_for_a_message_that_is_not_being_written_are_refused(transcript: Transcript) -> None:
    """They would be lost without anybody being told."""
    conversation = transcript.create_conversation(PERSONA)
    said = say(transcript, conversation, None, "Finished.")
    for message in ("0123456789abcdef", said.id):
        with pytest.raises(MessageError):
            transcript.add_piece(message, "lost")
    assert transcript.messages(conversation) == [said]


def test_a_message_that_does_not_exist_cannot_be_read_or_ended(transcript: Transcript) -> None:
    with pytest.raises(MessageError, match="There is no message 'nobody'"):
        transcript.message("nobody")
    with pytest.raises(MessageError, match="There is no message 'nobody'"):
        transcript.end("nobody", "words", "complete")


def test_a_message_with_a_kind_we_do_not_know_leaves_nothing_behind(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    with pytest.raises(RoleLLMError):
        transcript.append(conversation, None, speaker=USER, audience=BOTH, text="…", kind="Sing!")
    assert transcript.messages(conversation) == []
    said = say(transcript, conversation, None, "Going on.")
    assert transcript.messages(conversation) == [said]


# When the file fails


def sentence_of(error: pytest.ExceptionInfo[StorageError], names: Path) -> str:
    """What the person is told: one sentence that names the file."""
    told = str(error.value)
    assert str(names) in told
    assert told.endswith(".")
    assert "\n" not in told
    return told


@pytest.mark.parametrize("content", [b"Dear diary,\n" * 400, b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "transcript.db"
    file.write_bytes(content)
    with pytest.raises(StorageError) as told:
        Transcript(file)
    assert "is not a transcript or is damaged" in sentence_of(told, file)
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["transcript.db"]


def test_an_empty_file_becomes_a_transcript(tmp_path: Path) -> None:
    (tmp_path / "transcript.db").touch()
    with Transcript(tmp_path / "transcript.db") as transcript:
        conversation = transcript.create_conversation(PERSONA)
        assert say(transcript, conversation, None, "Hello.").text == "Hello."


def test_a_damaged_file_is_told_when_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation(PERSONA)
        for number in range(50):
            say(transcript, conversation, None, f"{number} " * 200)
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    with pytest.raises(StorageError) as told, Transcript(file) as damaged:
        damaged.messages(conversation)
    assert "is damaged" in sentence_of(told, file)


def test_a_transcript_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation(PERSONA)
        said = say(transcript, conversation, None, "From the future.")
    set_version(file, 5)
    content = file.read_bytes()
    with pytest.raises(StorageError) as told:
        Transcript(file)
    assert "was written by a newer rolellm (format 5, this one knows 4)" in sentence_of(told, file)
    assert file.read_bytes() == content
    set_version(file, 4)
    with Transcript(file) as transcript:
        assert transcript.messages(conversation) == [said]


def set_version(file: Path, version: int) -> None:
    database = sqlite3.connect(file)
    database.execute(f"PRAGMA user_version = {version}")
    database.close()


def test_a_folder_in_the_files_place_is_told(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    file.mkdir()
    with pytest.raises(StorageError) as told:
        Transcript(file)
    assert "cannot be written" in sentence_of(told, file)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(StorageError) as told:
        Transcript(tmp_path / "data" / "transcript.db")
    assert "cannot be created" in sentence_of(told, tmp_path / "data")
    assert (tmp_path / "data").read_text() == "in the way"


OPEN_AND_SAY = """
import os, sys
from pathlib import Path
from rolellm_agents.transcript import Transcript
from rolellm_agents.errors import StorageError
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    with Transcript(Path(sys.argv[1])) as transcript:
        transcript.create_conversation("ada")
except StorageError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="file permissions as POSIX has them")
@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_that_cannot_be_written_is_told(exists: bool) -> None:
    """In a process of its own, which is nobody's when the tests are root's: root may write anywhere."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders let nobody else in
        folder = Path(name)
        file = folder / "transcript.db"
        with Transcript(file) as transcript:
            conversation = transcript.create_conversation(PERSONA)
            said = say(transcript, conversation, None, "Before.")
        if not exists:
            file.unlink()
        folder.chmod(0o555)
        try:
            child = subprocess.run(
                (sys.executable, "-c", OPEN_AND_SAY, str(file)),
                capture_output=True,
                text=True,
                check=True,
            )
        finally:
            folder.chmod(0o755)
        assert f"{file} cannot be written" in child.stdout
        assert "ROLELLM_HOME" in child.stdout
        assert child.stdout.count("\n") == 1
        assert file.exists() == exists
        if exists:
            with Transcript(file) as transcript:
                assert transcript.messages(conversation) == [said]


def test_a_full_disk_is_told_and_what_was_there_stays(transcript: Transcript, tmp_path: Path) -> None:
    conversation = transcript.create_conversation(PERSONA)
    asked = say(transcript, conversation, None, "Before.")
    answer = begin(transcript, conversation, asked.id, "So far")
    (pages,) = transcript._database.connection.execute("PRAGMA page_count").fetchone()
    transcript._database.connection.execute(f"PRAGMA max_page_count = {pages}")
    too_long = random.Random(1).randbytes(40_000).hex()  # deflated it still does not fit
    attempts: list[Callable[[], object]] = [
        lambda: transcript.append(conversation, asked.id, speaker=USER, audience=BOTH, text=too_long),
        lambda: transcript.begin(
            conversation, asked.id, speaker=PERSONA, audience=BOTH, made_by={"why": too_long}
        ),
        lambda: transcript.add_piece(answer, too_long),
        lambda: transcript.end(answer, too_long, "complete"),
    ]
    for attempt in attempts:
        with pytest.raises(StorageError) as told:
            attempt()
        assert "The disk is full" in sentence_of(told, tmp_path / "transcript.db")
        assert texts(transcript.messages(conversation)) == ["Before.", "So far"]
        assert transcript.branches(conversation) == {"main": answer}

    transcript._database.connection.execute("PRAGMA max_page_count = 100000")
    assert transcript.end(answer, too_long, "complete").text == too_long
    assert texts(transcript.path(conversation)) == ["Before.", too_long]


def test_another_program_that_holds_the_file_is_told(transcript: Transcript, tmp_path: Path) -> None:
    conversation = transcript.create_conversation(PERSONA)
    # Not the patience it has for its own kind.
    transcript._database.connection.execute("PRAGMA busy_timeout = 1")
    holder = sqlite3.connect(tmp_path / "transcript.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError) as told:
        say(transcript, conversation, None, "Too early.")
    assert "is locked by another program" in sentence_of(told, tmp_path / "transcript.db")
    holder.execute("ROLLBACK")
    holder.close()
    said = say(transcript, conversation, None, "Now.")
    assert transcript.messages(conversation) == [said]


def test_a_closed_transcript_says_so_and_closes_again(transcript: Transcript) -> None:
    conversation = transcript.create_conversation(PERSONA)
    transcript.close()
    transcript.close()
    with pytest.raises(StorageError, match="closed"):
        transcript.messages(conversation)
    with pytest.raises(StorageError, match="closed"):
        say(transcript, conversation, None, "Too late.")


def test_the_end_of_an_answer_waits_for_the_disk_and_nothing_else_does(transcript: Transcript) -> None:
    """No test can cut the power; so this one asks SQLite what it was told."""

    def asked(pragma: str) -> object:
        return transcript._database.connection.execute(f"PRAGMA {pragma}").fetchone()[0]

    waits = 2
    assert asked("journal_mode") == "wal"
    conversation = transcript.create_conversation(PERSONA)
    answer = begin(transcript, conversation, say(transcript, conversation, None, "Count!").id, "One.")
    assert asked("synchronous") != waits
    transcript.end(answer, "One.", "complete")
    assert asked("synchronous") == waits


# What writing costs


class OneTurn:
    """A line and a streamed answer, always of the same size, one after the other."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.conversation = transcript.create_conversation(PERSONA)
        self.last: str | None = None

    def append(self) -> None:
        self.last = say(self.transcript, self.conversation, self.last, "A line.").id

    def begin(self) -> None:
        self.last = begin(self.transcript, self.conversation, self.last)

    def add_piece(self) -> None:
        assert self.last is not None
        self.transcript.add_piece(self.last, "Words.")

    def end(self) -> None:
        assert self.last is not None
        self.transcript.end(self.last, "Words.", "complete")

    def steps(self) -> list[Callable[[], None]]:
        return [self.append, self.begin, self.add_piece, self.end]


def machine_steps(transcript: Transcript, work: Callable[[], None]) -> int:
    """How many instructions of SQLite's machine `work` takes: the same on every computer."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    transcript._database.connection.set_progress_handler(count, 1)
    try:
        work()
    finally:
        transcript._database.connection.set_progress_handler(None, 0)
    return taken


def test_writing_costs_the_same_after_ten_messages_and_after_three_thousand() -> None:
    """But for the search's index, which at times merges what it has; on average that stays small too."""
    with Transcript() as transcript:
        turn = OneTurn(transcript)
        for _ in range(10):
            turn.append()
        early = costs_of_turns(transcript, turn)
        for _ in range(2600):
            turn.append()
        late = costs_of_turns(transcript, turn)

    assert [median(costs) for costs in late] == [median(costs) for costs in early]
    assert all(fmean(costs) < 1.5 * median(costs) for costs in late)
    assert all(cost > 0 for costs in early for cost in costs)


def costs_of_turns(transcript: Transcript, turn: OneTurn) -> list[list[int]]:
    """Of two hundred turns, by step."""
    costs = [[machine_steps(transcript, step) for step in turn.steps()] for _ in range(200)]
    return [list(of_one_step) for of_one_step in zip(*costs, strict=True)]


def test_a_piece_costs_the_same_after_ten_pieces_and_after_three_thousand() -> None:
    with Transcript() as transcript:
        turn = OneTurn(transcript)
        turn.begin()
        costs = {number: machine_steps(transcript, turn.add_piece) for number in range(3001)}
        assert costs[10] == costs[3000] > 0


def read_everything_about_one(turn: OneTurn) -> None:
    assert turn.last is not None
    turn.transcript.message(turn.last)
    turn.transcript.siblings(turn.last)
    turn.transcript.children(turn.last)
    turn.transcript.path(turn.conversation)
    turn.transcript.messages(turn.conversation)
    turn.transcript.latest_branch(turn.conversation)
    turn.transcript.branches(turn.conversation)


def write_one_turn(turn: OneTurn) -> None:
    for step in turn.steps():
        step()
    turn.transcript.move_branch(turn.conversation, turn.last)


@pytest.mark.parametrize("work", [write_one_turn, read_everything_about_one])
def test_no_statement_reads_the_table_of_all_conversations_from_end_to_end(
    work: Callable[[OneTurn], None],
) -> None:
    with Transcript() as transcript:
        # The plan of an insert lists a scan for the foreign keys that point to its table, which runs only
        # while a deferred one is broken; that it does not run, the counted steps above show.
        transcript._database.connection.execute("PRAGMA foreign_keys = OFF")
        turn = OneTurn(transcript)
        turn.append()
        statements: list[str] = []
        transcript._database.connection.set_trace_callback(statements.append)
        work(turn)
        transcript._database.connection.set_trace_callback(None)
        explained = [
            (statement, row["detail"])
            for statement in statements
            if statement.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
            for row in transcript._database.connection.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
    assert len({statement for statement, _ in explained}) >= 6
    assert any("USING" in detail for _, detail in explained)
    # A constant row is one row; a subquery, and what grows along a path, have only what a SEARCH found.
    harmless = ("SCAN CONSTANT ROW", "SCAN (subquery", "SCAN path")
    scans = [
        (statement, detail)
        for statement, detail in explained
        if detail.startswith("SCAN") and not detail.startswith(harmless)
    ]
    assert scans == []


# Message kinds that are not ours


def test_a_file_admits_a_kind_of_ones_own_once_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "kinds.db"
    with Transcript(path) as transcript:
        conversation = transcript.create_conversation(PERSONA)
        ours = transcript.append(conversation, None, speaker=USER, audience=BOTH, text="Hello.")
        signed = transcript.append(
            conversation, ours.id, speaker=USER, audience=BOTH, text="Run.", kind="sign"
        )
        begun = transcript.begin(conversation, signed.id, speaker=USER, audience=BOTH, kind="shout")
        ended = transcript.end(begun, "Now!", "complete", kind="sign")
        assert [message.kind for message in (ours, signed, ended)] == ["say", "sign", "sign"]
        copied = transcript.add_record(transcript.record(conversation))
        assert [message.kind for message in transcript.messages(copied)] == ["say", "sign", "sign"]
    with Transcript(path) as transcript:
        assert transcript.messages(conversation) == [ours, signed, ended]
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (4,)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    db.close()


def test_another_program_with_the_file_open_goes_on_when_a_kind_is_admitted(tmp_path: Path) -> None:
    path = tmp_path / "kinds.db"
    with Transcript(path) as one, Transcript(path) as other:
        conversation = one.create_conversation(PERSONA)
        first = other.append(conversation, None, speaker=USER, audience=BOTH, text="Hello.")
        second = one.append(conversation, first.id, speaker=USER, audience=BOTH, text="Run.", kind="sign")
        third = other.append(conversation, second.id, speaker=USER, audience=BOTH, text="I will.")
        assert one.messages(conversation) == other.messages(conversation) == [first, second, third]


def test_a_summary_belongs_to_a_message_and_the_newest_counts(transcript: Transcript) -> None:
    conversation, other = (transcript.create_conversation(PERSONA) for _ in range(2))
    first = say(transcript, conversation, None, "Hello.")
    second = say(transcript, conversation, first.id, "Good day.")
    say(transcript, other, None, "Hello.")
    assert transcript.summaries(conversation) == {}

    transcript.keep_summary(first.id, "You met.")
    transcript.keep_summary(second.id, "You greeted each other.")
    transcript.keep_summary(first.id, "You met at last.")
    assert transcript.summaries(conversation) == {
        first.id: "You met at last.",
        second.id: "You greeted each other.",
    }
    assert transcript.summaries(other) == {}
    transcript.keep_summary(first.id, "")
    assert transcript.summaries(conversation) == {second.id: "You greeted each other."}
    with pytest.raises(MessageError, match="There is no message"):
        transcript.keep_summary("00", "Nothing.")


def test_a_file_of_before_there_were_summaries_gets_them_with_the_first_one(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation(PERSONA)
        message = say(transcript, conversation, None, "Hello.")
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE summary")
    connection.close()
    with Transcript(file) as transcript:
        assert transcript.summaries(conversation) == {}
        transcript.keep_summary(message.id, "You met.")
        assert transcript.summaries(conversation) == {message.id: "You met."}
        assert transcript.message(message.id).text == "Hello."
