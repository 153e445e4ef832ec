"""Salvage: everything that can be read of a damaged transcript, in a new and sound file."""

import shutil
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.damaged_transcripts import (
    DRAFT,
    PAGE,
    UNFINISHED,
    everything,
    left_by_a_kill,
    overwrite,
    unguarded,
    whole,
)
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import StorageError
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.message import USER
from rolellm_agents.transcript.upkeep.checking import check_transcript
from rolellm_agents.transcript.upkeep.salvage import UNKNOWN_PERSONA, Salvage, salvage

OLD_FORMAT = Path(__file__).parents[1] / "version_2.sql"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole(tmp_path_factory.mktemp("whole") / "transcript.db")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return left_by_a_kill(tmp_path_factory.mktemp("killed") / "transcript.db")


def copied(file: Path, folder: Path) -> Path:
    shutil.copytree(file.parent, folder, dirs_exist_ok=True)
    return folder / file.name


def saved(file: Path) -> Salvage:
    """Salvage a file, which stays as it is; the new one is sound, in one file that only we can read."""
    before = {one.name: one.read_bytes() for one in file.parent.iterdir()}
    told = salvage(file)
    new = Path(told.file)
    after = {one.name: one.read_bytes() for one in file.parent.iterdir() if one != new}
    assert after == before
    report = check_transcript(new)
    assert report.findings == ()
    assert report.messages == told.messages
    assert report.missing <= told.lost
    assert new.stat().st_mode & 0o077 == 0
    return told


@pytest.mark.parametrize("kind", ["sample", "killed"])
def test_a_sound_file_is_saved_completely(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """In a file that a killed process left, nearly everything is in the log beside it."""
    file = copied(request.getfixturevalue(kind), tmp_path / "here")
    told = saved(file)

    assert everything(Path(told.file)) == everything(file)
    assert (told.conversations, told.messages, told.torn, told.lost) == (3, 124, 0, 0)
    with Transcript(file) as old, Transcript(Path(told.file)) as new:
        assert new.conversations() == old.conversations()
        for one in old.conversations():
            assert new.branches(one.id) == old.branches(one.id)
            assert new.latest_branch(one.id) == old.latest_branch(one.id)
            assert (new.note(one.id), new.draft(one.id)) == (old.note(one.id), DRAFT)
            assert new.summaries(one.id) == old.summaries(one.id) != {}
        assert [one.message for one in new.search("aside")] == [one.message for one in old.search("aside")]


def test_a_file_without_its_header_and_schema_is_saved_completely(sample: Path, tmp_path: Path) -> None:
    file = copied(sample, tmp_path / "here")
    overwrite(file, 0, b"\xa5" * PAGE)
    with pytest.raises(StorageError, match="rolellm history salvage"):
        Transcript(file)

    assert everything(Path(saved(file).file)) == everything(sample)


def test_a_lost_page_costs_only_what_was_on_it(sample: Path, tmp_path: Path) -> None:
    known = everything(sample)
    for page in range(sample.stat().st_size // PAGE):
        file = copied(sample, tmp_path / str(page))
        overwrite(file, page * PAGE, bytes(PAGE))
        told = saved(file)

        found = everything(Path(told.file))
        assert set(found) <= set(known)
        assert len(found) >= len(known) - 60, f"page {page}"
        assert told.lost == len(known) - len(found)
        for one in found.values():
            if one.status != "cut" and "salvaged" not in one.made_by:
                assert one == known[one.id]
            assert known[one.id].text.startswith(one.text)


def test_a_damaged_page_of_the_log_costs_only_what_was_on_it(killed: Path, tmp_path: Path) -> None:
    """SQLite ignores all pages after it without a word, and with them nearly everything."""
    known = everything(copied(killed, tmp_path / "known"))
    file = copied(killed, tmp_path / "here")
    overwrite(file.with_name("transcript.db-wal"), 32 + 20 * (PAGE + 24) + 100, b"\xa5" * 50)
    told = saved(file)

    assert len(everything(copied(file, tmp_path / "opened"))) < 20
    assert everything(Path(told.file)) == known


def test_a_message_between_others_that_is_lost_is_bridged(sample: Path, tmp_path: Path) -> None:
    file = copied(sample, tmp_path / "here")
    known = list(everything(sample).values())
    lost = next(one for one in known if one.text.startswith("1.7 "))
    following = next(one for one in known if one.parent == lost.id)
    with unguarded(file) as database:
        database.execute("DELETE FROM message WHERE id = ?", (bytes.fromhex(lost.id),))
    told = saved(file)

    assert told.lost == 1
    with Transcript(Path(told.file)) as transcript:
        mended = transcript.message(following.id)
        path = transcript.path(lost.conversation)
    assert mended == replace(
        following,
        parent=lost.parent,
        made_by={**following.made_by, "salvaged": "messages before it are lost"},
    )
    assert [one.text.split()[0] for one in path][6:9] == ["1.6", "1.8", "1.9"]


def test_what_the_lost_rows_said_is_inferred(sample: Path, tmp_path: Path) -> None:
    """Who spoke, and in which conversation; nobody else may hear what may have been whispered."""
    file = copied(sample, tmp_path / "here")
    known = everything(sample)
    with unguarded(file) as database:
        for table in ("manner", "branch", "conversation", "move"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - the tables are ours
    told = saved(file)

    found = everything(Path(told.file))
    assert {id_: one.text for id_, one in found.items()} == {id_: one.text for id_, one in known.items()}
    assert told.conversations == 3
    assert {one.speaker for one in found.values()} == {USER, UNKNOWN_PERSONA}
    assert {one.audience for one in found.values()} == {(USER, UNKNOWN_PERSONA)}


def test_in_a_scene_a_line_whose_audience_is_lost_is_heard_by_nobody_else(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation("ada", {"scene": {"title": "A room"}})
        transcript.append(
            conversation, None, speaker="ada", audience=("ada", "bob"), text="Psst.", made_by={"model": "m"}
        )
    with unguarded(file) as database:
        database.execute("DELETE FROM manner")

    (line,) = everything(Path(saved(file).file)).values()
    assert (line.speaker, line.audience) == ("ada", ("ada",))


def test_a_text_whose_end_is_lost_is_saved_as_far_as_it_goes(sample: Path, tmp_path: Path) -> None:
    file = copied(sample, tmp_path / "here")
    known = everything(sample)
    long = next(one for one in known.values() if len(one.text) > 10_000)
    content = file.read_bytes()
    second = next(page for page in range(0, len(content), PAGE) if _goes_on(content[page : page + PAGE]))
    overwrite(file, second, bytes(PAGE))
    told = saved(file)

    assert told.torn == 1
    (torn,) = [one for one in everything(Path(told.file)).values() if "salvaged" in one.made_by]
    assert torn.made_by["salvaged"] == "a part of it is lost"
    assert known[torn.id].text.startswith(torn.text)
    assert len(long.text) > len(torn.text) > 1_000


def _goes_on(page: bytes) -> bool:
    """Whether a page is full of a text that began on another one: a page's number, and then the text."""
    return set(page[4:]) == set(b"word ")


def test_an_unfinished_answer_is_saved(killed: Path, tmp_path: Path) -> None:
    told = saved(copied(killed, tmp_path / "here"))

    assert [one.text for one in everything(Path(told.file)).values() if one.status == "cut"] == [UNFINISHED]


def test_a_damaged_file_of_format_2_is_saved_in_the_current_format(tmp_path: Path) -> None:
    file = tmp_path / "here" / "transcript.db"
    file.parent.mkdir()
    with sqlite3.connect(file) as database:
        database.executescript(OLD_FORMAT.read_text(encoding="utf-8"))
    database.close()
    sound = copied(file, tmp_path / "sound")
    overwrite(file, 0, bytes(PAGE))
    told = saved(file)

    assert everything(Path(told.file)) == everything(sound)


def test_a_file_without_messages_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    file.write_bytes(b"Dear diary,\n" * 1_000)

    with pytest.raises(StorageError, match="No message can be read"):
        salvage(file)
    with pytest.raises(StorageError, match=r"none\.db cannot be read"):
        salvage(tmp_path / "none.db")
    assert [one.name for one in tmp_path.iterdir()] == ["transcript.db"]


def test_an_existing_file_is_never_overwritten(sample: Path, tmp_path: Path) -> None:
    file = copied(sample, tmp_path / "here")
    (tmp_path / "kept.db").write_text("mine")

    with pytest.raises(StorageError, match="exists already"):
        salvage(file, tmp_path / "kept.db")
    assert (tmp_path / "kept.db").read_text() == "mine"
    assert salvage(file).file != salvage(file).file


@examples(2)
@given(data=st.data())
def test_whatever_the_damage_the_new_file_is_sound(
    data: st.DataObject, sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = copied(sample, tmp_path_factory.mktemp("damaged"))
    size = file.stat().st_size
    for _ in range(data.draw(st.integers(1, 4))):
        overwrite(file, data.draw(st.integers(0, size - 1)), data.draw(st.binary(min_size=1, max_size=600)))
    with file.open("rb+") as opened:
        opened.truncate(data.draw(st.integers(size // 2, size)))
    with suppress(StorageError):  # no message is left
        saved(file)
