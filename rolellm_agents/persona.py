"""A persona: a character's data, in one YAML file; read it, check it, find it.

The fields follow RoleLLM's role profiles (arXiv 2310.00746, §3.1): a description, catchphrases and
dialogues, here with what the character knows beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from rolellm_agents.errors import PersonaError
from rolellm_agents.paths import user_paths
from rolellm_agents.text import did_you_mean
from rolellm_agents.yaml_file import read_yaml

Language = Literal["en", "zh"]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
PersonaId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Part):
    """The work a character comes from, or is portrayed in."""

    work: Line
    year: int
    """Of the work; negative before the common era."""


class Demonstration(_Part):
    """One user line and the character's answer."""

    user: Line
    reply: Line


class Knowledge(_Part):
    """Something the character knows or lived through, told in the first person."""

    title: Line
    text: Line


class Persona(_Part):
    """A character's data. Nothing in it depends on a model or a strategy."""

    id: PersonaId
    name: Line
    language: Language = "en"
    source: Source | None = None
    category: str = ""
    tags: tuple[Line, ...] = ()
    description: Line
    """Who they are, in the third person, addressed to the model that plays them."""
    catchphrases: tuple[Line, ...] = ()
    greeting: str = ""
    """What the character says first, when a conversation opens."""
    demonstrations: tuple[Demonstration, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    lorebook: Mapping[str, JsonValue] | None = None
    """A character book as its card brought it."""
    portrait: str | None = None
    """A picture's path, relative to the persona's file."""
    extensions: Mapping[str, JsonValue] = Field(default_factory=dict)
    """What a card brought and we do not use, kept whole."""


Origin = Literal["path", "user", "bundled"]


@dataclass(frozen=True)
class FoundPersona:
    """A persona and where it was found."""

    persona: Persona
    path: Path
    origin: Origin


@dataclass(frozen=True)
class Cast:
    """All personas that can be named by id, and what a person should know about them."""

    found: tuple[FoundPersona, ...]
    notes: tuple[str, ...]
    """One sentence for each file that is hidden by another or cannot be used."""


def load_persona(reference: str | Path) -> Persona:
    """Find a persona by path, id or name, and read it.

    Args:
        reference: a path that ends in `.yaml` or `.yml`; or an id or a name, looked up in the user's
            folder and then in the bundled pack.

    Raises:
        PersonaError: there is none, or its file cannot be used.
    """
    return find_persona(reference).persona


def find_persona(reference: str | Path) -> FoundPersona:
    """Like `load_persona`, with the file's place.

    Raises:
        PersonaError: there is none, or its file cannot be used.
    """
    if isinstance(reference, Path) or reference.endswith((".yaml", ".yml")):
        path = Path(reference).expanduser()
        return FoundPersona(read_persona(path), path, "path")
    for folder, origin in _folders():
        path = folder / f"{reference}.yaml"
        if _is_plain_name(reference) and path.is_file():
            persona = read_persona(path)
            if persona.id == reference:
                return FoundPersona(persona, path, origin)
    cast = list_personas()
    wanted = reference.casefold().strip()
    for found in cast.found:
        if wanted in (found.persona.id, found.persona.name.casefold()):
            return found
    known = [name for found in cast.found for name in (found.persona.id, found.persona.name)]
    raise PersonaError(
        f"There is no persona {reference!r}{did_you_mean(reference, known) or ';'} "
        "“rolellm persona list” shows all."
    )


def read_persona(path: Path) -> Persona:
    """Read one persona file.

    Raises:
        PersonaError: the file cannot be read or is not a persona, with the key and the line.
    """
    return read_yaml(path, Persona, PersonaError)


def list_personas() -> Cast:
    """Read every persona of the user's folder and of the bundled pack; the user's win."""
    by_id: dict[str, FoundPersona] = {}
    notes: list[str] = []
    for folder, origin in _folders():
        for path in _persona_files(folder):
            try:
                found = FoundPersona(read_persona(path), path, origin)
            except PersonaError as error:
                notes.append(str(error))
                continue
            first = by_id.setdefault(found.persona.id, found)
            if first is not found:
                notes.append(f"{first.path} hides {path}: both have the id {found.persona.id!r}.")
    return Cast(tuple(sorted(by_id.values(), key=_by_language_and_name)), tuple(notes))


def filter_personas(
    found: Sequence[FoundPersona], *, language: str | None = None, category: str | None = None
) -> Iterator[FoundPersona]:
    """Those in a language, or of a category, or both."""
    for one in found:
        if language in (None, one.persona.language) and category in (None, one.persona.category):
            yield one


def _by_language_and_name(found: FoundPersona) -> tuple[str, str]:
    return found.persona.language, found.persona.name


def _is_plain_name(reference: str) -> bool:
    return reference.replace("-", "").isalnum()


def _folders() -> tuple[tuple[Path, Origin], ...]:
    with as_file(files("rolellm_personas")) as pack:
        return (
            (user_paths().personas, "user"),
            (pack / "en", "bundled"),
            (pack / "zh", "bundled"),
        )


def _persona_files(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
