"""The role profiles of RoleBench (`profiles-*/desc.json`)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rolellm_agents.datasets.reading import read_json_object
from rolellm_agents.text import replace_surrogates
from rolellm_agents.text.language import Language

_ABOVE = 4
"""Number of folders between a file of samples and RoleBench's root."""
_FOLDERS: Final[Mapping[Language, str]] = {"en": "profiles-eng", "zh": "profiles-zh"}


def profile_names(source: Path) -> set[str]:
    """The roles that have a profile in `profiles-*/desc.json`, in `source` or a folder above it.

    Raises:
        RoleBenchError: such a file is damaged.
    """
    return {name for profiles in _profiles(source, "profiles-*") for name in profiles}


def profile_descriptions(source: Path, language: Language) -> dict[str, str]:
    """The profile of each role in `profiles-*/desc.json`: description and catchphrases in one text.

    The nearest folder wins. Empty profiles are left out.

    The folders above the source are searched too.

    Raises:
        RoleBenchError: such a file is damaged.
    """
    found: dict[str, str] = {}
    for profiles in _profiles(source, _FOLDERS[language]):
        for name, described in profiles.items():
            if isinstance(described, str) and described.strip() and name.strip():
                found.setdefault(replace_surrogates(name).strip(), replace_surrogates(described).strip())
    return found


def _profiles(source: Path, folders: str) -> Iterator[dict[str, Any]]:
    """The contents of the files, nearest first."""
    place = source.resolve()
    for folder in (place, *place.parents[:_ABOVE]):
        for file in sorted(folder.glob(f"{folders}/desc.json")):
            yield read_json_object(file)
