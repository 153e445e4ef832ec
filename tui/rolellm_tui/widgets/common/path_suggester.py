"""Suggestions for a path that is being typed."""

import asyncio
import os
from pathlib import Path

from textual.suggester import Suggester


class PathSuggester(Suggester):
    """Suggests folders and files with given suffixes; the right arrow key accepts."""

    def __init__(self, endings: tuple[str, ...]) -> None:
        """Create a suggester for suffixes such as `.json`."""
        super().__init__(use_cache=False, case_sensitive=True)
        self._endings = endings

    async def get_suggestion(self, value: str) -> str | None:
        """The first path by name that starts with the typed text."""
        return await asyncio.to_thread(_first, value, self._endings)


def _first(value: str, endings: tuple[str, ...]) -> str | None:
    folder, stem = os.path.split(value)
    if not stem:
        return None
    try:
        with os.scandir(Path(folder or ".").expanduser()) as entries:
            names = [
                f"{entry.name}{os.sep}" if entry.is_dir() else entry.name
                for entry in entries
                if entry.name.startswith(stem) and (entry.is_dir() or entry.name.endswith(endings))
            ]
    except (OSError, ValueError):
        return None
    return os.path.join(folder, min(names)) if names else None  # noqa: PTH118 - as it was typed, with its ~
