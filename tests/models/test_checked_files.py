"""Files are read again when they may have changed, and only then."""

import os
from pathlib import Path

import pytest
from helpers.slow_gguf import make_tiny_q4_1

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError
from rolellm_agents.models import checked_files
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.checked_files import has_sha256, keep_sha256, kept_sha256, sha256_of
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.files import gemma, gguf
from rolellm_agents.models.llamacpp.files.weights import fastest_weights
from rolellm_agents.recall.minilm import check_files


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "large.bin"
    path.write_bytes(b"large")
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read for their digest."""
    seen: list[Path] = []

    def counted(path: Path) -> str:
        seen.append(path)
        return sha256_of(path)

    monkeypatch.setattr(checked_files, "sha256_of", counted)
    return seen


def put(path: Path, content: bytes) -> None:
    """Replace what a file says, with the size and the time that it had."""
    times = path.stat()
    while path.stat().st_ctime_ns == times.st_ctime_ns:  # the file system's clock has steps
        path.write_bytes(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_file_is_read_once(file: Path, reads: list[Path]) -> None:
    digest = sha256_of(file)
    assert [has_sha256(file, digest) for _ in range(3)] == [True] * 3
    assert reads == [file]
    assert kept_sha256(file) == digest


def test_a_changed_file_is_read_again_also_if_size_and_time_are_the_same(
    file: Path, reads: list[Path]
) -> None:
    digest = sha256_of(file)
    assert has_sha256(file, digest)
    put(file, b"LARGE")
    assert not has_sha256(file, digest)
    put(file, b"large")
    assert has_sha256(file, digest)
    assert reads == [file] * 3


def test_a_digest_that_cannot_be_kept_is_computed_each_time(file: Path, reads: list[Path]) -> None:
    user_paths().data.parent.mkdir(parents=True, exist_ok=True)
    user_paths().data.write_text("no folder")
    digest = sha256_of(file)
    keep_sha256(file, digest)
    assert kept_sha256(file) is None
    assert [has_sha256(file, digest) for _ in range(2)] == [True] * 2
    assert reads == [file] * 2


def test_damaged_records_count_as_none(file: Path) -> None:
    digest = sha256_of(file)
    keep_sha256(file, digest)
    (record,) = (user_paths().data / "checked").iterdir()
    for damaged in (b"[]", b"{", b"\xff", b'{"sha256": 5}'):
        record.write_bytes(damaged)
        assert kept_sha256(file) is None
        assert has_sha256(file, digest)


@pytest.mark.parametrize("keeps_record", [True, False])
def test_weights_that_somebody_else_wrote_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, keeps_record: bool
) -> None:
    monkeypatch.setattr(library, "processors", lambda: 1)
    original = make_tiny_q4_1(tmp_path / "tiny.gguf", seed=1)
    made = fastest_weights(original, "q8_0")
    written = made.read_bytes()
    put(made, written[:-8] + bytes(8))
    if not keeps_record:
        for record in (user_paths().data / "checked").iterdir():
            record.unlink()

    assert fastest_weights(original, "q8_0") == made
    assert made.read_bytes() == written


def test_another_file_in_place_of_the_embedded_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf"
    other.write_bytes(b"GGUF")
    monkeypatch.setattr(gguf, "embedded_gguf", lambda: other)
    for name in ("llamacpp:smollm2", "llamacpp:rolesmol"):
        with pytest.raises(
            ModelError, match=r"is not the file of SmolLM2 .*“pip install --force-reinstall"
        ):
            get_model(name)


def test_a_joined_gemma_of_the_right_size_alone_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = gemma.gemma_place()
    place.parent.mkdir(parents=True)
    place.write_bytes(b"GGUF")
    monkeypatch.setattr(gemma, "_SIZE", 4)
    joined: list[Path] = []
    monkeypatch.setattr(gemma, "_installed_parts", list)
    monkeypatch.setattr(gemma, "join", lambda parts, target, sha256: joined.append(target))
    assert gemma.gemma_gguf() == place
    assert joined == [place]


def test_other_files_of_minilm_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"config.json is missing or not the file of all-MiniLM-L6-v2"):
        check_files(tmp_path)
