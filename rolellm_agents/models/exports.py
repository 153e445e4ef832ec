"""Folders that `rolellm export` wrote, found by the model's name."""

from pathlib import Path
from typing import Final

from rolellm_agents.errors import ModelError
from rolellm_agents.models.names import named_models

_REPORT: Final = "parity.json"
"""The file that each export has."""


def export_files(name: str) -> dict[str, Path]:
    """The files of an export by their names, the model card first.

    Args:
        name: a name in `models.toml` whose model was exported, or the folder of an export.

    Raises:
        ModelError: there is no such model or folder, or it was not exported.
        SettingsError: `models.toml` cannot be used.
    """
    named = named_models().get(name)
    # The spec of an exported adapter is “llamacpp:BASE+ADAPTER”.
    file = named.spec.partition(":")[2].rpartition("+")[2] if named else ""
    folder = Path(file).parent if named else Path(name).expanduser()
    if not (folder / _REPORT).is_file():
        raise ModelError(
            f"{name} is no export of a model; name one that “rolellm export” wrote, or its folder."
        )
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    return {file.name: file for file in sorted(files, key=lambda file: file.name != "README.md")}
