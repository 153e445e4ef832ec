"""What a user keeps is closed to the machine's other users, also where an earlier version left it open."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolellm_agents.config.paths import make_folder, user_paths
from rolellm_agents.config.settings import load_settings, write_settings
from rolellm_agents.errors import StorageError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.transcript import Transcript


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(place: Path) -> int:
    return stat.S_IMODE(place.stat().st_mode)


def test_a_new_transcript_and_all_files_beside_it_are_private() -> None:
    place = user_paths().transcript
    with Transcript(place) as transcript:
        transcript.keep_draft("ada", "Unsent.")
        modes = {file.name: mode(file) for file in place.parent.iterdir()}

    assert modes == dict.fromkeys(("transcript.db", "transcript.db-wal", "transcript.db-shm"), 0o600)
    assert mode(place.parent) == 0o700


def test_a_transcript_that_others_could_read_is_closed_to_them_when_it_is_opened() -> None:
    place = user_paths().transcript
    with Transcript(place) as transcript:
        transcript.keep_draft("ada", "Unsent.")
        place.parent.chmod(0o755)
        for file in place.parent.iterdir():
            file.chmod(0o644)

        Transcript(place).close()

        assert {mode(file) for file in place.parent.iterdir()} == {0o600}
        assert mode(place.parent) == 0o700


def test_a_transcript_elsewhere_does_not_close_the_folder_that_it_lies_in(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)

    Transcript(folder / "transcript.db").close()

    assert (mode(folder), mode(folder / "transcript.db")) == (0o755, 0o600)


def test_settings_are_private_and_older_ones_become_so() -> None:
    write_settings({"temperature": 0.5})
    file = user_paths().settings_file
    assert (mode(file.parent), mode(file)) == (0o700, 0o600)

    file.parent.chmod(0o755)
    file.chmod(0o644)
    assert load_settings().temperature == 0.5

    assert (mode(file.parent), mode(file)) == (0o700, 0o600)


@pytest.mark.parametrize("folder", ["config", "data", "cache"])
def test_folders_in_the_users_own_close_them(folder: str) -> None:
    ours = getattr(user_paths(), folder)
    ours.mkdir(parents=True)

    make_folder(ours / "some" / "where")

    assert mode(ours) == 0o700


def test_other_files_have_the_usual_permissions_and_keep_those_that_they_had(tmp_path: Path) -> None:
    file = tmp_path / "export.md"
    write_atomically(file, "one", StorageError)
    assert mode(file) == 0o644

    file.chmod(0o640)
    write_atomically(file, "two", StorageError)
    assert (mode(file), file.read_text()) == (0o640, "two")

    os.umask(0o077)
    write_atomically(tmp_path / "secret.md", "three", StorageError)
    assert mode(tmp_path / "secret.md") == 0o600
