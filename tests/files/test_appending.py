"""Lines are appended completely or not at all."""

import os
from pathlib import Path

import pytest

from rolellm_agents.files.appending import append_durably, cut_torn_line, mend_last_line


def test_lines_are_appended_at_the_offset_that_is_told(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    assert append_durably(file, b'{"a":1}\n') == 0
    assert append_durably(file, b'{"b":2}\n{"c":3}\n') == 8
    assert file.read_bytes() == b'{"a":1}\n{"b":2}\n{"c":3}\n'


def test_a_line_that_cannot_be_flushed_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lines.jsonl"
    append_durably(file, b"one\n")

    def failing(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="No space"):
        append_durably(file, b"two\n")
    assert file.read_bytes() == b"one\n"


@pytest.mark.parametrize(
    ("content", "cut", "mended"),
    [
        (b"", b"", b""),
        (b'{"a":1}\n', b'{"a":1}\n', b'{"a":1}\n'),
        (b'{"a":1}\n{"b":', b'{"a":1}\n', b'{"a":1}\n'),
        (b'{"a":1}\n{"b":2}', b'{"a":1}\n', b'{"a":1}\n{"b":2}\n'),
        (b'{"a":', b"", b""),
        (b'{"a":"' + b"x" * 70_000, b"", b""),
        (b'{"a":1}\n\xe4\xbd', b'{"a":1}\n', b'{"a":1}\n'),
    ],
)
def test_a_torn_line_is_cut_and_a_complete_one_is_ended(
    tmp_path: Path, content: bytes, cut: bytes, mended: bytes
) -> None:
    file = tmp_path / "lines.jsonl"
    for mend, expected in ((cut_torn_line, cut), (mend_last_line, mended)):
        file.write_bytes(content)
        mend(file)
        assert file.read_bytes() == expected
    file.unlink()
    cut_torn_line(file)
    mend_last_line(file)
    assert not file.exists()
