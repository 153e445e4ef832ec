"""Published data that lies beside the project and is no part of it."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"


def shared_data(name: str) -> Path:
    """The path of a file or folder, by its path within the data; without it the test is skipped."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not here")
    return path
