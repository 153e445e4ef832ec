"""The role profiles that RoleBench keeps beside its samples."""

import json
from pathlib import Path

from rolellm_agents.errors import RoleBenchError

_ABOVE = 4
"""Folders between a file of samples and RoleBench's root."""


def profile_names(source: Path) -> set[str]:
    """The roles that have a profile in `profiles-*/desc.json`, in `source` or a folder above it.

    Raises:
        RoleBenchError: such a file is damaged.
    """
    place = source.resolve()
    names: set[str] = set()
    for folder in (place, *place.parents[:_ABOVE]):
        for file in sorted(folder.glob("profiles-*/desc.json")):
            names |= _names_in(file)
    return names


def _names_in(file: Path) -> set[str]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RoleBenchError(f"{file} is damaged; put it right, or remove it.") from error
    return set(content) if isinstance(content, dict) else set()
