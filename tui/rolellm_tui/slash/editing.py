"""The user's own commands that are being edited: the form, and how `commands.yaml` is opened and saved."""

import copy
from collections.abc import Mapping
from typing import Any

from rolellm_agents.config.paths import user_paths
from rolellm_agents.editing.drafts import discard_draft
from rolellm_agents.editing.form import Data, FormField, FormRow, ItemList, Path, value_at, with_value
from rolellm_agents.editing.storing import ChangedOnDiskError, stored_bytes
from rolellm_agents.editing.yaml_document import YamlDocument, edited_text, save_yaml
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.yaml import read_text
from rolellm_tui.slash.own import OwnCommand, has_content, parse_own_commands

_SPARE = 2
"""Empty fields below the steps, for further ones."""


def open_commands() -> YamlDocument:
    """Open `commands.yaml`, which need not exist yet.

    Raises:
        SettingsError: the file cannot be read, or has a mistake; the message names its line.
        StorageError: the file cannot be read.
    """
    path = user_paths().commands_file
    stored = stored_bytes(path)
    text = "" if stored is None else read_text(path, SettingsError)
    parse_own_commands(text, path)
    begun = text if has_content(text) else f"{text.rstrip()}\ncommands: []\n".lstrip("\n")
    return YamlDocument(path, begun, stored)


def command_rows(data: Data) -> list[FormRow]:
    """The rows of the form: one for each command."""
    return [*ItemList(("commands",), "Commands", _fields, lambda _: {"name": ""}).rows(data)]


def _fields(command: Any) -> list[FormField]:
    given: Mapping[str, Any] = command if isinstance(command, dict) else {}
    steps = given.get("steps")
    listed = [*steps] if isinstance(steps, list) else []
    return [
        FormField(("name",), "Name, which you type after the slash", "line", given.get("name")),
        FormField(("about",), "What the list says about it", "line", given.get("about")),
        FormField(("button",), "A button above the prompt", "flag", given.get("button"), written=_button),
        *(
            FormField(
                ("steps", number),
                f"Step {number + 1}: a line to send, or a command such as /again",
                "text",
                step,
                written=_with_step,
            )
            for number, step in enumerate([*listed, *[""] * _SPARE])
        ),
        FormField(("put",), "Instead of steps: a text for the prompt", "text", given.get("put")),
    ]


def _button(data: Data, path: Path, value: Any) -> Data:
    return with_value(data, path, value or None)


def _with_step(data: Data, path: Path, value: Any) -> Data:
    """The data with another step; empty steps at the end are no steps."""
    *holder, _, number = path
    changed = copy.deepcopy(data)
    command = value_at(changed, holder)
    steps = [*(command.get("steps") or []), *[""] * (int(number) + 1)]
    steps[int(number)] = value
    while steps and not str(steps[-1] or "").strip():
        steps.pop()
    if steps:
        command["steps"] = steps
    else:
        command.pop("steps", None)
    return changed


def edited_commands(document: YamlDocument, data: Mapping[str, Any]) -> tuple[OwnCommand, ...]:
    """The commands that changed data hold.

    Raises:
        SettingsError: they are not valid, or cannot be written; the message names key and line.
    """
    return parse_own_commands(edited_text(document, _whole(data), SettingsError), document.path)


def save_commands(
    document: YamlDocument, data: Mapping[str, Any], *, warned: ChangedOnDiskError | None = None
) -> YamlDocument:
    """Save changed data, and return the document as it is then.

    Args:
        document: the document that was opened.
        data: the data of `commands.yaml`.
        warned: the error of which the user knows; the file is replaced if it is still as it was then.

    Raises:
        ChangedOnDiskError: the file was changed on disk since it was read, or since the user was warned.
        SettingsError: the data are not valid, or the file cannot be written.
        StorageError: the file cannot be read, or another process writes it.
    """
    edited_commands(document, data)
    saved = save_yaml(document, _whole(data), SettingsError, warned=warned)
    discard_draft(document)
    return saved


def _whole(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data with the list of commands, without which a file would lose its comments."""
    return {"commands": [], **data}
