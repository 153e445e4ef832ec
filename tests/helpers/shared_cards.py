"""Other people's cards, which lie beside the project and are no part of it."""

from pathlib import Path

import pytest

from helpers.cards import SHARED


def shared_card(name: str) -> Path:
    """The file's path, by its path within the folder of cards; without it the test is skipped."""
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"{name} is not here")
    return path
