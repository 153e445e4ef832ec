"""The files of presets: the user's own in one folder, and others by path."""

from dataclasses import dataclass
from pathlib import Path

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import Settings
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.models.presets.preset import Preset
from rolellm_agents.text import did_you_mean


@dataclass(frozen=True)
class FoundPreset:
    """A preset that was read from a file."""

    preset: Preset
    path: Path

    @property
    def id(self) -> str:
        """What names it in settings and commands: its file's name without the suffix."""
        return self.path.stem


def list_presets() -> tuple[list[FoundPreset], list[str]]:
    """The user's presets by name, and an error message for each invalid file."""
    found: list[FoundPreset] = []
    notes: list[str] = []
    folder = user_paths().presets
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        try:
            found.append(FoundPreset(read_preset(path), path))
        except SettingsError as error:
            notes.append(str(error))
    return sorted(found, key=lambda one: one.preset.name.casefold()), notes


def find_preset(reference: str) -> FoundPreset:
    """Find a preset by its file's name, by its own name, or by path.

    Args:
        reference: a name, or a path that ends in `.yaml` or `.yml`.

    Raises:
        SettingsError: there is no such preset, or its file is invalid.
    """
    if reference.endswith((".yaml", ".yml")):
        path = Path(reference).expanduser()
        return FoundPreset(read_preset(path), path)
    for suffix in (".yaml", ".yml"):
        path = user_paths().presets / f"{reference}{suffix}"
        if path.parent == user_paths().presets and path.is_file():
            return FoundPreset(read_preset(path), path)
    known = list_presets()[0]
    wanted = reference.casefold()
    named = next((one for one in known if one.preset.name.casefold() == wanted), None)
    if named is None:
        near = did_you_mean(reference, [one.id for one in known])
        raise SettingsError(
            f"There is no preset {reference!r}{near}; “rolellm preset list” shows yours, and a file is "
            "named with its ending .yaml."
        )
    return named


def read_preset(path: Path) -> Preset:
    """Read one preset's file.

    Raises:
        SettingsError: the file cannot be read or is invalid; the message names key and line.
    """
    return read_yaml(path, Preset, SettingsError)


def chosen_preset(settings: Settings, given: str | None = None) -> Preset | None:
    """The preset that is named, else that of the settings; None if neither names one.

    Raises:
        SettingsError: there is no such preset, or its file is invalid.
    """
    name = given or settings.preset
    return find_preset(name).preset if name else None


def set_by_preset(name: object) -> dict[str, tuple[str, object]]:
    """The settings that the preset of a name overrides: each with the preset's name and its value.

    Raises:
        SettingsError: there is no such preset, or its file is invalid.
    """
    if not name:
        return {}
    found = find_preset(str(name)).preset
    return {
        one: (found.name, found.values[one]) for one in ("temperature", "max_tokens") if one in found.values
    }
