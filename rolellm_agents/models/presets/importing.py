"""Add presets of other files to the user's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolellm_agents.config.paths import user_paths
from rolellm_agents.editing.yaml_document import free_path
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.yaml import read_text
from rolellm_agents.files.yaml_edits import edited_yaml
from rolellm_agents.models.presets.files import FoundPreset, read_preset
from rolellm_agents.models.presets.preset import Preset
from rolellm_agents.models.presets.sillytavern import is_sillytavern_preset, read_sillytavern_preset
from rolellm_agents.persona import id_of


@dataclass(frozen=True)
class AddedPreset:
    """A preset that was added to the user's own."""

    found: FoundPreset
    notes: tuple[str, ...]
    """One sentence for each value that was left out."""


def preset_files(source: Path) -> list[Path]:
    """The presets of SillyTavern in a folder and its subfolders; for a file, the file if it is one."""
    files = sorted(source.rglob("*.json")) if source.is_dir() else [source]
    return [file for file in files if file.is_file() and is_sillytavern_preset(file)]


def add_preset(source: Path, *, force: bool = False) -> AddedPreset:
    """Add a preset of SillyTavern (JSON) or of ours (YAML) to the user's own.

    Args:
        source: the file.
        force: replace a preset of the same name; else the new one gets a number.

    Raises:
        SettingsError: the file is no preset, or the user's folder cannot be written.
    """
    if source.suffix.lower() in (".yaml", ".yml"):
        preset, text = read_preset(source), read_text(source, SettingsError)
        return AddedPreset(_written(preset, text, force=force), ())
    imported = read_sillytavern_preset(source)
    return AddedPreset(_written(imported.preset, preset_text(imported.preset), force=force), imported.notes)


def preset_text(preset: Preset) -> str:
    """A preset as the text of its file: what it sets, in the order of the samplers."""
    about = {"about": preset.about} if preset.about else {}
    values = {name: _short(value) for name, value in preset.values.items()}
    return edited_yaml("name: preset\n", {"name": preset.name, **about, **values})


def _short(value: Any) -> Any:
    """A whole number without a point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def keep_preset(preset: Preset, *, force: bool = False) -> FoundPreset:
    """Write a preset to the user's folder, under the name of its file that its own name gives.

    Raises:
        SettingsError: the user's folder cannot be written.
    """
    return _written(preset, preset_text(preset), force=force)


def _written(preset: Preset, text: str, *, force: bool) -> FoundPreset:
    folder, stem = user_paths().presets, id_of(preset.name)
    path = folder / f"{stem}.yaml" if force else free_path(folder, stem)
    write_atomically(path, text, SettingsError)
    return FoundPreset(preset, path)
