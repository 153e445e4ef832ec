"""Books and plays that lie beside the project and are no part of it."""

from pathlib import Path

import pytest

TEXTS = Path(__file__).parents[3] / "shared" / "data" / "texts"


def shared_text(name: str) -> Path:
    """The file's path; without it the test is skipped."""
    path = TEXTS / name
    if not path.is_file():
        pytest.skip(f"{name} is not here")
    return path
