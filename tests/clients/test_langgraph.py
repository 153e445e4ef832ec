"""`langgraph dev` with the newest langgraph-api, beside the one in the locks that `tests/graphs` uses."""

import os
import subprocess
from pathlib import Path

import pytest
from helpers.client_programs import installed

pytestmark = [pytest.mark.slow, pytest.mark.process]

ROOT = Path(__file__).parents[2]
PATHS = ("", "graphs", "personas", "train", "tui", "tests")
TESTS = "tests/graphs/test_langgraph_dev.py"


def test_langgraph_dev_with_the_newest_api() -> None:
    python = installed("langgraph/bin/python")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(ROOT / path) for path in PATHS),
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
