"""Install a wheel without extras into a fresh environment outside the checkout, and use it as newcomers do.

    python .ci/try_wheel.py WHEEL

pip looks for the dependencies where it is configured to. Exits with 1 if a step fails.
"""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

LARGEST_WHEEL = 25_000_000
"""Bytes: the two models in the wheel are 17 million, all else is less than two."""
PRINTED = "import rolellm_agents, rolellm_graphs; print(rolellm_agents.__file__)"


def main(wheel: Path) -> int:
    """Check the wheel and use it, and return the exit status."""
    found = unwanted(wheel)
    if found:
        print("\n".join(found))
        return 1
    with TemporaryDirectory(prefix="rolellm-wheel-") as folder:
        tried = Path(folder)
        venv.create(tried / "venv", with_pip=True)
        programs = tried / "venv" / "bin"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment = {**inherited, "ROLELLM_HOME": str(tried / "home")}
        for step in (
            (programs / "python", "-m", "pip", "install", "--quiet", wheel.resolve()),
            (programs / "rolellm", "--version"),
            (programs / "rolellm", "say", "sherlock-holmes", "Good evening.", "--max-tokens", "20"),
            (programs / "python", "-W", "error", "-c", PRINTED),
            (programs / "python", "-m", "pip", "check"),
        ):
            print("$", *(part.name if isinstance(part, Path) else part for part in step), flush=True)
            status = subprocess.run(step, cwd=tried, env=environment, check=False).returncode
            if status:
                return 1
    return 0


def unwanted(wheel: Path) -> list[str]:
    """What a wheel has and should not have, a sentence each."""
    size, found = wheel.stat().st_size, []
    if size > LARGEST_WHEEL:
        found.append(f"{wheel.name} has {size:,} bytes, more than {LARGEST_WHEEL:,}.")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = Path(name)
            if "tests" in path.parts or path.name.startswith("test_") or path.name == "conftest.py":
                found.append(f"{wheel.name} has a test: {name}.")
    return found


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
