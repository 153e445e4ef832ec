"""Find personas by path, id or name: in the user's folder, installed packs and the bundled pack."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError
from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.persona.data import Persona
from rolellm_agents.persona.packs import installed_packs
from rolellm_agents.text import did_you_mean

_ID = re.compile(r"(?=.{1,80}$)[a-z0-9]+(-[a-z0-9]+)*")

Origin = Literal["path", "user", "pack", "bundled"]


@dataclass(frozen=True)
class FoundPersona:
    """A persona and where it was found."""

    persona: Persona
    path: Path
    origin: Origin


@dataclass(frozen=True)
class Cast:
    """All personas that can be named by id."""

    found: tuple[FoundPersona, ...]
    notes: tuple[str, ...]
    """One sentence for each file that is hidden by another or invalid."""


def load_persona(reference: str | Path) -> Persona:
    """Find a persona by path, id or name, and read it.

    Args:
        reference: a path that ends in `.yaml` or `.yml`; or an id or a name, looked up in the user's
            folder, then in the installed packs and then in the bundled one.

    Raises:
        PersonaError: there is no such persona, or its file is invalid.
    """
    return find_persona(reference).persona


def find_persona(reference: str | Path) -> FoundPersona:
    """Like `load_persona`, with the file's path and origin.

    Raises:
        PersonaError: there is no such persona, or its file is invalid.
    """
    if isinstance(reference, Path) or reference.endswith((".yaml", ".yml")):
        path = _expanded(Path(reference))
        return FoundPersona(read_persona(path), path, "path")
    for found, complaints in (_read_folder(user_paths().personas, "user"), _read_packs()):
        for candidate in found:
            if candidate.persona.id == reference:
                return candidate
        for path, complaint in complaints.items():
            if path.stem == reference:
                raise PersonaError(complaint)
    if _ID.fullmatch(reference):
        # Each bundled file is named after its persona's id, so the others need not be read.
        for folder in _bundled_folders():
            path = folder / f"{reference}.yaml"
            if path.is_file():
                return FoundPersona(read_persona(path), path, "bundled")
    return _find_by_name(reference)


def _find_by_name(reference: str) -> FoundPersona:
    cast = list_personas()
    name = reference.casefold().strip()
    for found in cast.found:
        if name in (found.persona.id, found.persona.name.casefold()):
            return found
    known = [name for found in cast.found for name in (found.persona.id, found.persona.name)]
    raise PersonaError(
        f"There is no persona {reference!r}{did_you_mean(reference, known)}; "
        "“rolellm persona list” shows all."
    )


def read_persona(path: Path) -> Persona:
    """Read one persona file.

    Raises:
        PersonaError: the file cannot be read or is invalid; the message names key and line.
    """
    return read_yaml(path, Persona, PersonaError)


def list_personas() -> Cast:
    """Read all personas of the user's folder, the installed packs and the bundled pack, in this order.

    A persona hides later ones with the same id.
    """
    by_id: dict[str, FoundPersona] = {}
    notes: list[str] = []
    bundled = (_read_folder(folder, "bundled") for folder in _bundled_folders())
    for personas, complaints in (_read_folder(user_paths().personas, "user"), _read_packs(), *bundled):
        notes += complaints.values()
        for found in personas:
            first = by_id.setdefault(found.persona.id, found)
            if first is not found:
                notes.append(f"{first.path} hides {found.path}: both have the id {found.persona.id!r}.")
    return Cast(tuple(sorted(by_id.values(), key=_by_language_and_name)), tuple(notes))


def filter_personas(
    found: Sequence[FoundPersona], *, language: str | None = None, category: str | None = None
) -> Iterator[FoundPersona]:
    """The personas of a language and a category; None accepts any."""
    for candidate in found:
        persona = candidate.persona
        if language in (None, persona.language) and category in (None, persona.category):
            yield candidate


def _by_language_and_name(found: FoundPersona) -> tuple[str, str]:
    return found.persona.language, found.persona.name


def _read_folder(folder: Path, origin: Origin) -> tuple[list[FoundPersona], dict[Path, str]]:
    """A folder's personas in the order of their files, and an error message for each invalid file."""
    return _read_files(sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]), origin)


def _read_packs() -> tuple[list[FoundPersona], dict[Path, str]]:
    """The same for all installed packs, ordered by name."""
    packs, complaints = installed_packs()
    personas, more = _read_files([path for pack in packs for path in pack.personas], "pack")
    return personas, {**complaints, **more}


def _read_files(paths: Sequence[Path], origin: Origin) -> tuple[list[FoundPersona], dict[Path, str]]:
    personas: list[FoundPersona] = []
    complaints: dict[Path, str] = {}
    for path in paths:
        try:
            personas.append(FoundPersona(read_persona(path), path, origin))
        except PersonaError as error:
            complaints[path] = str(error)
    return personas, complaints


def _bundled_folders() -> tuple[Path, ...]:
    with as_file(files("rolellm_personas")) as pack:
        return (pack / "en", pack / "zh")


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except (RuntimeError, ValueError) as error:
        raise PersonaError(f"{path} cannot be read: {error}") from error
