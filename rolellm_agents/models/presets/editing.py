"""A preset's file that is being edited: its form, and how it is opened, removed and saved."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import load_settings, write_settings
from rolellm_agents.editing.drafts import discard_draft
from rolellm_agents.editing.form import Data, FormField, FormRow, Kind
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.editing.yaml_document import (
    YamlDocument,
    edited_text,
    named,
    new_yaml,
    open_yaml,
    save_yaml,
)
from rolellm_agents.errors import SettingsError, StorageError
from rolellm_agents.files.yaml import parse_yaml, plain_data, read_text
from rolellm_agents.files.yaml_edits import edited_yaml
from rolellm_agents.models.presets.files import FoundPreset
from rolellm_agents.models.presets.importing import preset_text
from rolellm_agents.models.presets.preset import SAMPLERS, Preset
from rolellm_agents.persona import id_of

_ROWS: Mapping[str, tuple[str, ...]] = {
    "Temperature": ("temperature", "dynatemp_range", "dynatemp_exponent"),
    "Choice of tokens": ("top_k", "top_p", "min_p", "typical_p", "top_n_sigma"),
    "XTC": ("xtc_probability", "xtc_threshold"),
    "Repetition": ("repeat_penalty", "repeat_last_n", "frequency_penalty", "presence_penalty"),
    "DRY": ("dry_multiplier", "dry_base", "dry_allowed_length"),
    "Contrast": ("contrast", "contrast_floor"),
    "Length": ("max_tokens", "stop"),
}


def preset_rows(data: Data) -> list[FormRow]:
    """The rows of a preset's form, from top to bottom."""
    about = (
        FormField(("name",), "Name", "line", data.get("name")),
        FormField(("about",), "What it is for", "text", data.get("about")),
    )
    return [
        FormRow(("name",), "About", about),
        *(
            FormRow((names[0],), title, tuple(_field(name, data) for name in names))
            for title, names in _ROWS.items()
        ),
    ]


def _field(name: str, data: Data) -> FormField:
    kind: Kind = "words" if name == "stop" else "number"
    return FormField((name,), f"{SAMPLERS[name]} ({name})", kind, data.get(name))


def open_preset(found: FoundPreset) -> YamlDocument:
    """Open a preset's file.

    Raises:
        SettingsError: the file cannot be read.
        StorageError: the file cannot be read.
    """
    return open_yaml(found.path, SettingsError)


def new_preset(values: Preset) -> YamlDocument:
    """A new preset without a name, with the values of another one.

    Raises:
        StorageError: the folder of presets cannot be written.
    """
    text = preset_text(values)
    nameless = edited_yaml(text, {**plain_data(text), "name": ""})
    return new_yaml(user_paths().presets, "new-preset", nameless)


def edited_preset(document: YamlDocument, data: Mapping[str, Any]) -> Preset:
    """The preset that changed data hold.

    Raises:
        SettingsError: the data are no valid preset, or cannot be written; the message names key and line.
    """
    text = edited_text(document, data, SettingsError)
    return parse_yaml(text, document.path, Preset, SettingsError)


def save_preset(
    document: YamlDocument, data: Mapping[str, Any], *, warned: ChangedOnDiskError | None = None
) -> YamlDocument:
    """Save changed data, and return the document as it is then.

    Args:
        document: the document that was opened.
        data: the preset's data.
        warned: the error of which the user knows; the file is replaced if it is still as it was then.

    Raises:
        ChangedOnDiskError: the file was changed on disk since it was read, or since the user was warned.
        SettingsError: the data are no valid preset, or the file cannot be written.
        StorageError: the file cannot be read, or another process writes it.
    """
    preset = edited_preset(document, data)
    target = named(document, id_of(preset.name)) if document.is_new else document
    saved = save_yaml(target, data, SettingsError, warned=warned)
    discard_draft(document)
    return saved


def remove_preset(found: FoundPreset) -> str:
    """Remove a preset's file, and its name from the settings.

    Returns:
        The text of the file, with which it can be restored.

    Raises:
        SettingsError: a file cannot be read or written.
        StorageError: the file cannot be removed.
    """
    text = read_text(found.path, SettingsError)
    # The settings first, so that they never name a missing preset.
    if names_preset(load_settings().preset, found):
        write_settings({"preset": None})
    try:
        found.path.unlink()
    except OSError as error:
        raise StorageError(f"{found.path} cannot be removed: {error.strerror}.") from error
    return text


def names_preset(reference: str | None, found: FoundPreset) -> bool:
    """Whether a name in the settings, or a path, is that of a preset."""
    if reference is None:
        return False
    is_path = reference.endswith((".yaml", ".yml")) and Path(reference).expanduser() == found.path
    return is_path or reference.casefold() in (found.id.casefold(), found.preset.name.casefold())
