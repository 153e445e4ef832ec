"""A short run of the kills; docs/design/transcript.md says how to run long ones."""

import subprocess
import sys
from pathlib import Path

KILLS = 40


def test_commands_that_are_killed_at_random_moments_lose_nothing() -> None:
    script = Path(__file__).with_name("kill_commands.py")
    ran = subprocess.run(
        (sys.executable, str(script), "--seed", "7", "--count", str(KILLS)),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert f"{KILLS} kills" in ran.stdout
