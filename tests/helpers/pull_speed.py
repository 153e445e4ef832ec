"""Pull a file of 1 GB from a hub on loopback, and fetch and hash it with curl and sha256sum, in turn.

`python tests/helpers/pull_speed.py [RUNS]` prints the seconds of each.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.commands import COMMAND
from helpers.model_hub import running_model_hub
from helpers.tiny_gguf import make_tiny_gguf

_REPOSITORY, _FILE = "ada/lamp-GGUF", "lamp-Q4_K_M.gguf"


def main(runs: int) -> None:
    """Print the seconds of each run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        content = make_tiny_gguf(folder / "tiny.gguf", seed=4).read_bytes() + bytes(10**9)
        with running_model_hub({_REPOSITORY: {_FILE: content}}) as hub:
            for _ in range(runs):
                pull = _seconds(lambda: _pull(hub.url, folder))
                other = _seconds(lambda: _curl(hub.url, folder))
                print(f"pull {pull:.2f} s, curl and sha256sum {other:.2f} s")


def _pull(url: str, folder: Path) -> None:
    home = {"HF_HOME": str(folder / "hf"), "ROLELLM_HOME": str(folder / "home")}
    environment = {**os.environ, **home, "HF_ENDPOINT": url, "HF_HUB_OFFLINE": "0"}
    command = [*COMMAND, "models", "pull", f"hf:{_REPOSITORY}"]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder / "hf")


def _curl(url: str, folder: Path) -> None:
    file = folder / "curl.gguf"
    address = f"{url}/elsewhere/{_REPOSITORY}/{_FILE}"
    subprocess.run(["curl", "--silent", "--show-error", "--output", file, address], check=True)
    subprocess.run(["sha256sum", file], check=True, stdout=subprocess.DEVNULL)
    file.unlink()


def _seconds(act: Callable[[], None]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
