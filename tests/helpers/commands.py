"""Run the `rolellm` command as its user would: in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping

COMMAND = (sys.executable, "-c", "from rolellm_tui.cli.main import main; main()")


def rolellm(
    *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run it to its end; `ROLELLM_HOME` is the test's, from the environment."""
    return subprocess.run(
        (*COMMAND, *arguments),
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **(env or {})},
        timeout=timeout,
        check=False,
    )
