"""Packs: personas and scenes that are distributed together, as a folder or a zip file with a manifest.

    my-pack/
      pack.yaml          name, version, licence, description
      personas/*.yaml
      scenes/*.yaml

`pack_installation` installs and removes them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PackError
from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.text import did_you_mean

MANIFEST = "pack.yaml"
PERSONAS = "personas"
SCENES = "scenes"

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]


class Manifest(BaseModel):
    """The manifest of a pack."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
    version: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]*$", max_length=40)]
    licence: _Text
    description: str = ""


@dataclass(frozen=True)
class Pack:
    """A pack in a folder."""

    manifest: Manifest
    folder: Path
    personas: tuple[Path, ...]
    scenes: tuple[Path, ...]


def read_pack(folder: Path) -> Pack:
    """Read a pack's manifest and list its files, without reading the personas.

    Raises:
        PackError: the folder is not a pack.
    """
    try:
        is_pack = (folder / MANIFEST).is_file()
    except OSError as error:  # the folder may belong to somebody else
        raise PackError(f"{folder} cannot be read ({error.strerror}); check its permissions.") from error
    if not is_pack:
        raise PackError(f"{folder} is not a pack: it has no {MANIFEST} with name, version and licence.")
    manifest = read_yaml(folder / MANIFEST, Manifest, PackError)
    return Pack(
        manifest, folder, tuple(_yaml_files(folder / PERSONAS)), tuple(_yaml_files(folder / SCENES))
    )


def _yaml_files(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        yield from sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])


def bundled_pack() -> Pack:
    """The bundled pack, which has a folder for each language."""
    with as_file(files("rolellm_personas")) as folder:
        manifest = read_yaml(folder / MANIFEST, Manifest, PackError)
        personas = tuple(_yaml_files(folder / "en", folder / "zh"))
        return Pack(manifest, folder, personas, tuple(_yaml_files(folder / SCENES)))


def pack_named(name: str) -> Pack:
    """The installed pack of a name, or the bundled one.

    Raises:
        PackError: there is no such pack.
    """
    by_name = {pack.manifest.name: pack for pack in (bundled_pack(), *installed_packs()[0])}
    if name not in by_name:
        raise PackError(
            f"There is no installed pack {name!r}{did_you_mean(name, by_name)}; "
            "“rolellm persona pack list” shows all."
        )
    return by_name[name]


def installed_packs() -> tuple[list[Pack], dict[Path, str]]:
    """The installed packs by name, and an error message for each invalid folder."""
    packs: list[Pack] = []
    complaints: dict[Path, str] = {}
    for folder in sorted(user_paths().packs.glob("[!.]*")):
        try:
            packs.append(read_pack(folder))
        except PackError as error:
            complaints[folder] = str(error)
    return packs, complaints
