"""A persona's file that is being edited: how it is opened and saved."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rolellm_agents.config.paths import user_paths
from rolellm_agents.editing.drafts import discard_draft
from rolellm_agents.editing.storing import ChangedOnDiskError, stored_bytes
from rolellm_agents.editing.yaml_document import (
    YamlDocument,
    edited_text,
    named,
    new_yaml,
    numbered,
    open_copy,
    open_yaml,
    save_yaml,
)
from rolellm_agents.errors import PersonaError
from rolellm_agents.files.contained import read_contained
from rolellm_agents.files.yaml import parse_yaml
from rolellm_agents.persona.data import Persona, id_of
from rolellm_agents.persona.library import FoundPersona
from rolellm_agents.persona.portrait import PORTRAIT_BYTES

_NEW = "id: new-persona\nname: ''\ndescription: ''\n"


def open_document(found: FoundPersona) -> YamlDocument:
    """Open a persona's file; a bundled or pack persona is opened as a copy in the user's folder.

    Raises:
        PersonaError: the file cannot be read.
    """
    if found.origin in ("user", "path"):
        return open_yaml(found.path, PersonaError)
    return open_copy(found.path, user_paths().personas, found.persona.id, PersonaError)


def new_document() -> YamlDocument:
    """An empty persona, with the draft of an earlier session that no other window has open.

    Raises:
        StorageError: the folder of personas cannot be written.
    """
    return new_yaml(user_paths().personas, "new-persona", _NEW)


class EditedPersona(NamedTuple):
    """A document's text after changes, and the persona that it holds."""

    text: str
    persona: Persona


def edited_persona(document: YamlDocument, data: Mapping[str, Any]) -> EditedPersona:
    """The document's text with changed data, read as a persona.

    Raises:
        PersonaError: the data are no valid persona, or cannot be written.
    """
    text = edited_text(document, data, PersonaError)
    return EditedPersona(text, parse_yaml(text, document.path, Persona, PersonaError))


def save_document(
    document: YamlDocument, data: Mapping[str, Any], *, warned: ChangedOnDiskError | None = None
) -> YamlDocument:
    """Save changed data, and return the document as it is then.

    Args:
        document: the document that was opened.
        data: the persona's data.
        warned: the error of which the user knows; the file is replaced if it is still as it was then.

    Raises:
        ChangedOnDiskError: the file was changed on disk since it was read, or since the user was warned.
        PersonaError: the data are no valid persona, or the file cannot be written.
        StorageError: the file cannot be read, or another process writes it.
    """
    drafted = document
    if document.is_new:
        document = named(document, id_of(str(data.get("name", ""))))
        data = {**data, "id": document.path.stem}
    edited_persona(document, data)

    def prepared(given: Mapping[str, Any]) -> Mapping[str, Any]:
        if document.origin is None or document.stored is not None:
            return given
        return _with_portrait(document.origin, document.path.parent, given)

    saved = save_yaml(document, data, PersonaError, warned=warned, prepared=prepared)
    discard_draft(drafted)
    return saved


def _with_portrait(origin: Path, folder: Path, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copy the portrait of the original beside the copy; the data name it, under a free name if needed."""
    portrait = data.get("portrait")
    if not isinstance(portrait, str) or not portrait or not (origin.parent / portrait).exists():
        return data
    content = read_contained(
        origin.parent, portrait, f"The portrait {portrait}", PersonaError, most_bytes=PORTRAIT_BYTES
    )
    wanted, number = folder / portrait, 1
    target = wanted
    while (present := stored_bytes(target)) not in (None, content):
        number += 1
        target = numbered(wanted.parent, wanted.stem, number, wanted.suffix)
    if present is None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            target.unlink(missing_ok=True)  # on a full disk, a part of it
            raise PersonaError(f"{target} cannot be written: {error.strerror}.") from error
    return {**data, "portrait": target.relative_to(folder).as_posix()}
