"""Files that are written whole or not at all."""

from pathlib import Path

import pytest

from rolellm_agents.errors import StorageError
from rolellm_agents.files.atomic_write import writing_atomically


def test_a_file_takes_its_place_when_all_is_written(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "c.txt"
    with writing_atomically(file, StorageError) as out:
        out.write("one\n")
        assert not file.exists()
        out.write("zwei: ä\n")
    assert file.read_text(encoding="utf-8") == "one\nzwei: ä\n"
    assert [path.name for path in file.parent.iterdir()] == ["c.txt"]


@pytest.mark.parametrize("error", [ValueError("No."), KeyboardInterrupt()])
def test_an_error_on_the_way_leaves_neither_a_part_nor_a_folder(
    tmp_path: Path, error: BaseException
) -> None:
    (tmp_path / "there").write_text("before", encoding="utf-8")

    def fail(place: str) -> None:
        with writing_atomically(tmp_path / place, StorageError) as out:
            out.write("half")
            raise error

    for place in ("there", "a/b/c.txt"):
        with pytest.raises(type(error)):
            fail(place)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize("name", ["file/below", "a" * 300])
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with (
        pytest.raises(StorageError, match="cannot be written"),
        writing_atomically(tmp_path / name, StorageError),
    ):
        pass
