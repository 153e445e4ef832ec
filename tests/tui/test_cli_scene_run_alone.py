"""Only one process at a time writes a run file."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from helpers.commands import COMMAND, rolellm
from helpers.small_scene import small_scene

from rolellm_agents.scene.export import uncast
from rolellm_agents.scene.run_file import read_run_file


@pytest.mark.core
def test_a_second_run_into_the_same_file_is_refused_until_the_first_is_over(tmp_path: Path) -> None:
    out = tmp_path / "out" / "scene.jsonl"
    arguments = ("scene", "run", str(small_scene(tmp_path)), "--no-keep", "--seed", "4", "--out", str(out))
    slow = ("--model", "scripted:Yes.", "--turns", "2000")
    first = subprocess.Popen((*COMMAND, *arguments, *slow), stdout=subprocess.DEVNULL)
    while not (out.exists() and out.read_bytes().count(b"\n") > 2):
        assert first.poll() is None
        time.sleep(0.05)
    first.send_signal(signal.SIGSTOP)  # so that it holds the file, however long the second one takes
    before = out.read_bytes()
    try:
        refused = rolellm(*arguments, *slow)
        assert out.read_bytes() == before
    finally:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()

    assert refused.returncode == 2
    assert refused.stderr.startswith(f"rolellm: Another process works on {out}")
    assert refused.stderr.endswith("; wait for it, or name another file with --out.\n")
    lines = len(read_run_file(out, uncast).lines)
    again = rolellm(*arguments, "--model", "scripted:Yes.", "--turns", "8")
    assert again.returncode == 0, again.stderr
    assert len(read_run_file(out, uncast).lines) >= lines
