"""Files that other files name: from their own folder, and nothing else."""

import os
from pathlib import Path

import pytest

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.files.contained import PATH_LEVELS, contained_file, read_contained


class NamedError(RoleLLMError):
    """What these tests ask for."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, beside a secret."""
    place = tmp_path / "mine"
    (place / "deep").mkdir(parents=True)
    (place / "deep" / "x.txt").write_bytes(b"mine")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tmp_path / "mine-too").mkdir()
    (tmp_path / "mine-too" / "x.txt").write_bytes(b"secret")
    return place


def read(folder: Path, named: str, most_bytes: int = 100) -> bytes:
    return read_contained(folder, named, "The thing", NamedError, most_bytes=most_bytes)


@pytest.mark.parametrize("named", ["deep/x.txt", "./deep/x.txt", "deep/../deep/x.txt", "link"])
def test_what_is_in_the_folder_is_read(folder: Path, named: str) -> None:
    (folder / "link").symlink_to("deep/x.txt")
    assert read(folder, named) == b"mine"
    assert contained_file(folder, named, "The thing", NamedError) == (folder / "deep" / "x.txt").resolve()


def test_the_folder_itself_may_be_reached_by_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "shortcut").symlink_to(folder)
    assert read(tmp_path / "shortcut", "deep/x.txt") == b"mine"


@pytest.mark.skipif(os.name == "nt", reason="no such files")
@pytest.mark.parametrize(
    "named",
    [
        *("../secret.txt", "deep/../../secret.txt", "../mine-too/x.txt", "/etc/passwd", "/dev/zero"),
        *("out", "out-folder/secret.txt", "{outside}/secret.txt"),
    ],
)
def test_what_is_outside_is_not_read(folder: Path, tmp_path: Path, named: str) -> None:
    (folder / "out").symlink_to("../secret.txt")
    (folder / "out-folder").symlink_to(tmp_path)
    with pytest.raises(NamedError, match=r"^The thing is outside of the folder .*; copy it there\.$"):
        read(folder, named.format(outside=tmp_path))


@pytest.mark.skipif(os.name == "nt", reason="no such files")
def test_what_is_no_regular_file_is_not_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for named in ("pipe", "deep", "", "."):
        with pytest.raises(NamedError, match=r"^The thing is not a file\.$"):
            read(folder, named)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("nothing", "cannot be read (No such file or directory)."),
        ("a\0b", "cannot be read (embedded null byte)."),
        ("x" * 3000, "cannot be read (File name too long)."),
        ("round", "cannot be read"),
        ("a/" * PATH_LEVELS + "x", "is in more than 50 folders; move it up."),
    ],
)
def test_what_cannot_be_read_is_told(folder: Path, named: str, told: str) -> None:
    (folder / "round").symlink_to("round")
    with pytest.raises(NamedError) as raised:
        read(folder, named)
    assert str(raised.value).startswith(f"The thing {told}")


def test_what_is_too_large_is_not_read(folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * (2**20 + 1))
    assert len(read(folder, "large", 2**20 + 1)) == 2**20 + 1
    with pytest.raises(NamedError, match=r"^The thing is larger than 1 MiB; save it smaller\.$"):
        read(folder, "large", 2**20)
