"""With a fault at any file operation, nothing is lost or half written, and a sentence tells of it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from helpers.damaged_transcripts import everything, whole
from helpers.faults import each_fault

from rolellm_agents.config.settings import write_settings
from rolellm_agents.datasets.review import Review, append_review, read_reviews
from rolellm_agents.errors import StorageError
from rolellm_agents.evaluation.blind.verdicts import ReaderVerdict, append_verdicts, read_verdicts
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.models.names import keep_name, named_models
from rolellm_agents.persona import load_persona
from rolellm_agents.persona.from_card.files import export_persona
from rolellm_agents.persona.library import FoundPersona
from rolellm_agents.runs.folder import open_run
from rolellm_agents.transcript.upkeep.copies import back_up
from rolellm_agents.transcript.upkeep.restoring import restore
from rolellm_agents.transcript.upkeep.salvage import salvage

CONFIG = {"role": "Hamlet"}


def names(folder: Path) -> set[str]:
    """The files of a folder but for locks, which are empty and stay."""
    return {one.name for one in folder.iterdir() if not one.name.endswith(".lock")}


def nothing(_: Path) -> None:
    """Prepare nothing."""


def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    def prepare(folder: Path) -> None:
        (folder / "chat.md").write_text("old")

    def act(folder: Path) -> None:
        write_atomically(folder / "chat.md", "new " * 5_000, StorageError)

    for outcome in each_fault(tmp_path, prepare, act):
        expected = "new " * 5_000 if outcome.succeeded else "old"
        assert (outcome.folder / "chat.md").read_text() == expected
        assert names(outcome.folder) == {"chat.md"}, outcome.operation


def test_a_new_file_is_complete_or_not_there(tmp_path: Path) -> None:
    def act(folder: Path) -> None:
        write_atomically(folder / "a" / "b" / "chat.md", "new", StorageError)

    for outcome in each_fault(tmp_path, nothing, act):
        assert names(outcome.folder) == ({"a"} if outcome.succeeded else set()), outcome.operation


def test_a_run_keeps_every_item_that_it_has_told_and_goes_on(tmp_path: Path) -> None:
    told: dict[Path, list[str]] = {}

    def act(folder: Path) -> None:
        told[folder] = []
        with open_run(folder / "run", CONFIG) as run:
            for key in ("one", "two", "three"):
                if key not in run.items:
                    run.append(key, {"text": key * 1_000})
                told[folder].append(key)
            run.finish({})

    for outcome in each_fault(tmp_path, nothing, act):
        run = outcome.folder / "run"
        if run.exists():
            assert names(run) <= {"config.json", "items.jsonl", "manifest.json"}
            assert (run / "manifest.json").exists() == outcome.succeeded
        with open_run(run, CONFIG) as opened:
            assert list(opened.items) == told[outcome.folder], outcome.operation
        act(outcome.folder)
        assert json.loads((run / "manifest.json").read_text())["items"] == 3


def test_settings_are_the_old_ones_or_the_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = '# mine\ntheme = "nord"\n'

    def prepare(folder: Path) -> None:
        (folder / "config").mkdir()
        (folder / "config" / "config.toml").write_text(old)

    def act(folder: Path) -> None:
        monkeypatch.setenv("ROLELLM_HOME", str(folder))
        write_settings({"temperature": 0.5})

    for outcome in each_fault(tmp_path, prepare, act):
        text = (outcome.folder / "config" / "config.toml").read_text()
        assert text == (f"{old}temperature = 0.5\n" if outcome.succeeded else old)
        assert names(outcome.folder / "config") == {"config.toml"}


def test_model_names_are_the_old_ones_or_the_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(folder: Path) -> None:
        monkeypatch.setenv("ROLELLM_HOME", str(folder))
        keep_name("first", "scripted:one", replace=False)

    def act(folder: Path) -> None:
        monkeypatch.setenv("ROLELLM_HOME", str(folder))
        keep_name("second", "scripted:two", replace=False)

    for outcome in each_fault(tmp_path, prepare, act):
        assert list(named_models()) == (["first", "second"] if outcome.succeeded else ["first"])
        assert names(outcome.folder / "config") == {"models.toml"}


@pytest.mark.parametrize("form", ["json", "png", "charx", "yaml"])
def test_an_exported_card_is_complete_or_the_old_one(tmp_path: Path, form: str) -> None:
    persona = load_persona("sherlock-holmes")
    found = FoundPersona(persona=persona, path=tmp_path / "holmes.yaml", origin="path")

    def prepare(folder: Path) -> None:
        (folder / f"card.{form}").write_text("old")

    def act(folder: Path) -> None:
        export_persona(found, form, "v3", folder / f"card.{form}")  # type: ignore[arg-type]

    for outcome in each_fault(tmp_path / "points", prepare, act):
        content = (outcome.folder / f"card.{form}").read_bytes()
        assert (content == b"old") == (not outcome.succeeded), outcome.operation
        assert names(outcome.folder) == {f"card.{form}"}, outcome.operation


def test_verdicts_and_reviews_are_complete(tmp_path: Path) -> None:
    first, second = (ReaderVerdict(item=item, reader="ada", preferred="tie") for item in "ab")
    reviews = [Review(answer=key, verdict="accept", reviewer="ada") for key in "ab"]

    def prepare(folder: Path) -> None:
        append_verdicts(folder / "verdicts.jsonl", [first])
        append_review(folder / "reviews.jsonl", reviews[0])

    def act(folder: Path) -> None:
        append_verdicts(folder / "verdicts.jsonl", [second])
        append_review(folder / "reviews.jsonl", reviews[1])

    for outcome in each_fault(tmp_path, prepare, act):
        verdicts = read_verdicts(outcome.folder / "verdicts.jsonl")
        assert verdicts in ([first], [first, second])
        kept = list(read_reviews(outcome.folder / "reviews.jsonl"))
        assert kept == (["a", "b"] if outcome.succeeded else ["a"])


def test_a_torn_line_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    """As a kill leaves it in the middle of a write."""
    file = tmp_path / "verdicts.jsonl"
    first, second = (ReaderVerdict(item=item, reader="ada", preferred="tie") for item in "ab")
    append_verdicts(file, [first])
    with file.open("a") as opened:
        opened.write('{"item": "c", "rea')

    append_verdicts(file, [second])

    assert read_verdicts(file) == [first, second]


def test_a_salvage_or_a_backup_is_complete_or_not_there(tmp_path: Path) -> None:
    sample = whole(tmp_path / "transcript.db")
    content = sample.read_bytes()

    def prepare(folder: Path) -> None:
        (folder / "transcript.db").write_bytes(content)

    def act(folder: Path) -> None:
        salvage(folder / "transcript.db", folder / "saved.db")
        back_up(folder / "transcript.db", folder / "backup.db")

    for outcome in each_fault(tmp_path / "points", prepare, act):
        assert (outcome.folder / "transcript.db").read_bytes() == content
        for one in names(outcome.folder) - {"transcript.db", "transcript.db-shm", "transcript.db-wal"}:
            assert one in ("saved.db", "backup.db"), outcome.operation
            with closing(sqlite3.connect(outcome.folder / one)) as copy:
                assert copy.execute("SELECT count(*) FROM message").fetchone() == (124,)


def test_after_a_failed_restore_the_transcript_is_the_old_one(tmp_path: Path) -> None:
    sample = whole(tmp_path / "transcript.db")
    known = everything(sample)
    content = sample.read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    backup = whole(other / "backup.db")
    restored = everything(backup)

    def prepare(folder: Path) -> None:
        (folder / "transcript.db").write_bytes(content)

    def act(folder: Path) -> None:
        restore(backup, folder / "transcript.db")

    for outcome in each_fault(tmp_path / "points", prepare, act):
        assert everything(outcome.folder / "transcript.db") == (restored if outcome.succeeded else known)
        kept = [one for one in names(outcome.folder) if one.startswith("transcript-replaced")]
        for one in kept:
            assert everything(outcome.folder / one) == known
        assert len(kept) == 1 or not outcome.succeeded
        assert {one for one in names(outcome.folder) if one.startswith(".")} == set(), outcome.operation
