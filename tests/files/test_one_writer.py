"""One process at a time writes a run folder or a file; a killed one blocks nobody."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rolellm_agents.errors import StorageError
from rolellm_agents.files.one_writer import holders, lock_beside, lock_in, one_writer

HOLDER = """
import sys, time
from pathlib import Path
from rolellm_agents.errors import StorageError
from rolellm_agents.files.one_writer import lock_beside, one_writer
target = Path(sys.argv[1])
with one_writer(lock_beside(target), target, StorageError, "wait"):
    print("holds it", flush=True)
    time.sleep(600)
"""


def test_a_second_writer_is_told_who_the_first_is_and_what_to_do(tmp_path: Path) -> None:
    target = tmp_path / "scene.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(target)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "holds it\n"

    with pytest.raises(StorageError) as told, one_writer(lock_beside(target), target, StorageError, "wait"):
        pass
    who = f" (process {process.pid})" if Path("/proc/locks").exists() else ""
    assert str(told.value) == f"Another process works on {target}{who}; wait."

    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with one_writer(lock_beside(target), target, StorageError, "wait"):
        assert sorted(one.name for one in tmp_path.iterdir()) == [".scene.jsonl.lock"]


def test_locks_of_two_targets_do_not_block_each_other(tmp_path: Path) -> None:
    with (
        one_writer(lock_in(tmp_path), tmp_path, StorageError, "wait"),
        one_writer(lock_beside(tmp_path / "a"), tmp_path / "a", StorageError, "wait"),
        one_writer(lock_beside(tmp_path / "b"), tmp_path / "b", StorageError, "wait"),
    ):
        assert holders(tmp_path / "a") == ""


def test_where_no_lock_can_be_made_the_target_is_named(tmp_path: Path) -> None:
    (tmp_path / "none").write_text("in the way")
    target = tmp_path / "none" / "scene.jsonl"
    with (
        pytest.raises(StorageError, match=r"scene\.jsonl cannot be written") as told,
        one_writer(lock_beside(target), target, StorageError, "wait"),
    ):
        pass
    assert str(told.value).endswith(".")
