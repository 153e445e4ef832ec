"""The embedded model's weights, requantized once and kept."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from helpers.slow_gguf import make_tiny_q4_1
from helpers.tiny_gguf import make_tiny_gguf

from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.files import weights
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.llamacpp.files.weights import fastest_weights
from rolellm_agents.models.llamacpp.model import LlamaModel

Q8_0 = "7"
"""What `general.file_type` says of it."""


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "processors", lambda: 1)


@pytest.fixture(scope="module")
def slow_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model in the embedded one's format."""
    return make_tiny_q4_1(tmp_path_factory.mktemp("slow") / "tiny.gguf", seed=1)


@pytest.fixture
def folder(home: Path) -> Path:
    return home / "cache" / "weights"


def test_it_is_made_once_and_loads(slow_file: Path, folder: Path) -> None:
    made = fastest_weights(slow_file, "q8_0")
    when = made.stat().st_mtime_ns

    assert made.parent == folder
    assert LlamaModel(made).metadata("general.file_type") == Q8_0
    assert fastest_weights(slow_file, "q8_0") == made
    assert made.stat().st_mtime_ns == when
    assert list(folder.iterdir()) == [made]


def test_who_wants_the_original_gets_it_and_nothing_is_written(slow_file: Path, home: Path) -> None:
    assert fastest_weights(slow_file, "original") == slow_file
    assert not home.exists()


def test_what_would_not_gain_stays_as_it_is(tmp_path: Path, folder: Path) -> None:
    original = make_tiny_gguf(tmp_path / "f32.gguf", seed=1)

    assert fastest_weights(original, "q8_0") == original
    assert list(folder.iterdir()) == []


def test_a_missing_or_damaged_original_is_left_to_who_loads_it(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF and nothing more")

    assert fastest_weights(damaged, "q8_0") == damaged
    assert fastest_weights(tmp_path / "nowhere.gguf", "q8_0") == tmp_path / "nowhere.gguf"


def test_other_weights_and_another_llama_cpp_have_files_of_their_own(
    slow_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fastest_weights(slow_file, "q8_0")
    other = fastest_weights(make_tiny_q4_1(tmp_path / "tiny.gguf", seed=2), "q8_0")
    monkeypatch.setattr(library, "version", lambda: "99.0")
    later = fastest_weights(slow_file, "q8_0")

    assert len({first, other, later}) == 3
    assert first.read_bytes() == later.read_bytes() != other.read_bytes()


def test_without_room_the_original_is_used(
    slow_file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))

    assert fastest_weights(slow_file, "q8_0") == slow_file
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_gives_the_original(
    slow_file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "mkstemp", refuse)  # root may write anywhere
        assert fastest_weights(slow_file, "q8_0") == slow_file

    made = fastest_weights(slow_file, "q8_0")
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    assert fastest_weights(slow_file, "q8_0") == made


def test_a_cache_below_a_regular_file_gives_the_original(
    slow_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("ROLELLM_HOME", str(tmp_path / "file" / "home"))

    assert fastest_weights(slow_file, "q8_0") == slow_file


def test_when_quantizing_fails_nothing_is_left(
    slow_file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path, target: Path) -> bool:
        target.write_bytes(b"GGUF, half of it")
        return False

    monkeypatch.setattr(weights, "_quantize", fail)

    assert fastest_weights(slow_file, "q8_0") == slow_file
    assert list(folder.iterdir()) == []


def test_llama_cpp_itself_fails_without_a_word(
    slow_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not weights._quantize(slow_file, tmp_path / "no folder" / "x.gguf")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("damage", ["truncated", "too long", "not a GGUF file", "empty"])
def test_a_damaged_file_is_made_anew(slow_file: Path, damage: str) -> None:
    made = fastest_weights(slow_file, "q8_0")
    whole = made.read_bytes()
    made.write_bytes(
        {
            "truncated": whole[:-1],
            "too long": whole + b"x",
            "not a GGUF file": b"\0" * len(whole),
            "empty": b"",
        }[damage]
    )

    assert fastest_weights(slow_file, "q8_0") == made
    assert made.read_bytes() == whole


def test_many_at_once_get_the_same_whole_file(slow_file: Path, folder: Path) -> None:
    start = threading.Barrier(4)
    sizes: list[int] = []

    def ask() -> None:
        start.wait()
        sizes.append(len(fastest_weights(slow_file, "q8_0").read_bytes()))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (made,) = folder.iterdir()
    assert sizes == [made.stat().st_size] * 4


def test_leftovers_go_and_what_may_be_in_use_stays(slow_file: Path, folder: Path) -> None:
    made = fastest_weights(slow_file, "q8_0")
    names = ("dead.part", "at work.part", "of an old llama.cpp.gguf", "of another model.gguf", "notes.txt")
    dead, at_work, old, other, notes = (folder / name for name in names)
    for file in (dead, at_work, old, other, notes):
        file.write_bytes(b"GGUF")
    long_ago = time.time() - 40 * 24 * 3600
    for file in (dead, old, notes, made):
        os.utime(file, (long_ago, long_ago))

    assert fastest_weights(slow_file, "q8_0") == made
    assert set(folder.iterdir()) == {made, at_work, other, notes}


@pytest.mark.parametrize("seconds", [0.0, 0.08, 0.25])
def test_a_kill_at_any_time_leaves_nothing_half_written_in_use(folder: Path, seconds: float) -> None:
    command = (
        "from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf\n"
        "from rolellm_agents.models.llamacpp.files.weights import fastest_weights\n"
        "fastest_weights(embedded_gguf(), 'q8_0')"
    )
    with subprocess.Popen((sys.executable, "-c", command)) as process:
        while process.poll() is None and not list(folder.glob("*.part")):
            time.sleep(0.002)
        time.sleep(seconds)
        process.kill()
    assert process.returncode in (0, -signal.SIGKILL)
    left = list(folder.glob("*.part"))

    made = fastest_weights(embedded_gguf(), "q8_0")

    assert made.parent == folder
    assert made.stat().st_size == int(made.stem.rpartition("-")[2])
    assert LlamaModel(made).metadata("general.file_type") == Q8_0
    for part in left:
        os.utime(part, (0, 0))
    fastest_weights(embedded_gguf(), "q8_0")
    assert list(folder.iterdir()) == [made]
    made.unlink()  # pytest keeps the folders of three runs
