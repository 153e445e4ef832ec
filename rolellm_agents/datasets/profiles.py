"""The role profiles that RoleBench keeps beside its samples."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text import whole
from rolellm_agents.text.language import Language

_ABOVE = 4
"""Folders between a file of samples and RoleBench's root."""
_FOLDERS: Final[Mapping[Language, str]] = {"en": "profiles-eng", "zh": "profiles-zh"}


def profile_names(source: Path) -> set[str]:
    """The roles that have a profile in `profiles-*/desc.json`, in `source` or a folder above it.

    Raises:
        RoleBenchError: such a file is damaged.
    """
    return {name for profiles in _profiles(source, "profiles-*") for name in profiles}


def profile_descriptions(source: Path, language: Language) -> dict[str, str]:
    """What `profiles-*/desc.json` says of each role: who they are and their catchphrases, in one text.

    The nearest folder wins. What is no text, or an empty one, is left out.

    Args:
        source: where to look, and in the folders above it.
        language: of the profiles.

    Raises:
        RoleBenchError: such a file is damaged.
    """
    found: dict[str, str] = {}
    for profiles in _profiles(source, _FOLDERS[language]):
        for name, described in profiles.items():
            if isinstance(described, str) and described.strip() and name.strip():
                found.setdefault(whole(name).strip(), whole(described).strip())
    return found


def _profiles(source: Path, folders: str) -> Iterator[dict[str, Any]]:
    """The contents of the files, the nearest first."""
    place = source.resolve()
    for folder in (place, *place.parents[:_ABOVE]):
        for file in sorted(folder.glob(f"{folders}/desc.json")):
            yield _content(file)


def _content(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RoleBenchError(f"{file} is damaged; put it right, or remove it.") from error
    return content if isinstance(content, dict) else {}
