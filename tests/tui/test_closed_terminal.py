"""The app in a terminal that goes away."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SECONDS = 60.0
"""No test waits so long, unless what it tests is broken."""
_DEAF = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under a program that keeps the hang-up to itself
sys.argv = ["rolellm", "chat", "sherlock-holmes", "--model", "scripted:Hm."]
from rolellm_tui.cli.main import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_the_app_ends_with_its_terminal(home: Path) -> None:
    import pty

    ours, its = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    app = subprocess.Popen(
        [sys.executable, "-c", _DEAF],
        stdin=its,
        stdout=its,
        stderr=its,
        env=environment,
        start_new_session=True,
    )
    os.close(its)
    try:
        shown = b""
        end = time.monotonic() + SECONDS
        while b"Say something" not in shown:
            assert time.monotonic() < end, shown[-500:]
            shown += os.read(ours, 65536)
        os.close(ours)
        assert app.wait(SECONDS) == 0
    finally:
        app.kill()
        app.wait()
