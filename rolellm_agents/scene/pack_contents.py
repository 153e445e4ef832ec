"""What the files of a pack name outside themselves: models, and paths of other files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rolellm_agents.errors import PersonaError, SceneError
from rolellm_agents.persona import read_persona
from rolellm_agents.persona.packs import Pack
from rolellm_agents.scene.file_models import file_models
from rolellm_agents.scene.loading import names_file, read_scene


@dataclass(frozen=True)
class NamedInPack:
    """A model or a path that a file of a pack names."""

    file: str
    """The file, relative to the pack's folder."""
    place: str
    """The seat, `the director`, `the narrator`, `all seats` or `portrait`."""
    named: str
    """The model spec or the path."""
    reach: str
    """What it does, as a predicate."""


def named_in_pack(pack: Pack) -> list[NamedInPack]:
    """What the files of a pack name; files that cannot be read are left out.

    Raises:
        SettingsError: `models.toml` cannot be used.
    """
    return [*_named_by_personas(pack), *_named_by_scenes(pack)]


def _named_by_personas(pack: Pack) -> Iterator[NamedInPack]:
    for path in pack.personas:
        try:
            portrait = read_persona(path).portrait
        except PersonaError:
            continue
        if portrait:
            yield NamedInPack(_inside(pack, path), "portrait", portrait, "is its picture")


def _named_by_scenes(pack: Pack) -> Iterator[NamedInPack]:
    for path in pack.scenes:
        try:
            scene = read_scene(path)
        except SceneError:
            continue
        file = _inside(pack, path)
        for model in file_models(scene):
            yield NamedInPack(file, model.place, model.spec, model.reach)
        for seat in scene.cast:
            if names_file(seat.persona or ""):
                yield NamedInPack(file, seat.id or seat.name, str(seat.persona), "is its persona's file")


def _inside(pack: Pack, path: Path) -> str:
    return path.relative_to(pack.folder).as_posix()
