"""A persona's file that is being edited: how it is opened and saved, and kept as a draft."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.contained import read_contained
from rolellm_agents.files.one_writer import lock_beside, one_writer
from rolellm_agents.files.yaml import parse_yaml, plain_data, read_text
from rolellm_agents.files.yaml_edits import edited_yaml
from rolellm_agents.persona.data import Persona, id_of
from rolellm_agents.persona.library import FoundPersona
from rolellm_agents.persona.portrait import PORTRAIT_BYTES

_NEW = "id: new-persona\nname: ''\ndescription: ''\n"


class ChangedOnDiskError(PersonaError):
    """The file was changed by another program since it was read."""


@dataclass(frozen=True)
class PersonaDocument:
    """A persona's file with the text that was read."""

    path: Path
    """The file that is saved."""
    text: str
    """The text on which edits are based, with line feeds."""
    stored: bytes | None
    """What the file held when it was read; None if it does not exist yet."""
    origin: Path | None = None
    """The file of a bundled or pack persona, of which this is a copy."""
    is_new: bool = False
    """Whether the id and the file's name are taken from the persona's name when it is saved."""

    @property
    def data(self) -> dict[str, Any]:
        """The data of the text."""
        data = plain_data(self.text)
        return data if isinstance(data, dict) else {}


def open_document(found: FoundPersona) -> PersonaDocument:
    """Open a persona's file; a bundled or pack persona is opened as a copy in the user's folder.

    Raises:
        PersonaError: the file cannot be read.
    """
    text = read_text(found.path, PersonaError)
    if found.origin in ("user", "path"):
        return PersonaDocument(found.path, text, _stored(found.path))
    return PersonaDocument(_free_path(found.persona.id), text, None, origin=found.path)


def new_document() -> PersonaDocument:
    """An empty persona."""
    return PersonaDocument(user_paths().personas / "new-persona.yaml", _NEW, None, is_new=True)


class EditedPersona(NamedTuple):
    """A document's text after changes, and the persona that it holds."""

    text: str
    persona: Persona


def edited_persona(document: PersonaDocument, data: Mapping[str, Any]) -> EditedPersona:
    """The document's text with changed data, read as a persona.

    Raises:
        PersonaError: the data are no valid persona, or cannot be written.
    """
    try:
        text = edited_yaml(document.text, data)
    except ValueError as error:
        raise PersonaError(
            f"{document.path} cannot hold a text with control characters; remove them."
        ) from error
    return EditedPersona(text, parse_yaml(text, document.path, Persona, PersonaError))


def save_document(
    document: PersonaDocument, data: Mapping[str, Any], *, overwrite: bool = False
) -> PersonaDocument:
    """Save changed data, and return the document as it is then.

    Args:
        document: the document that was opened.
        data: the persona's data.
        overwrite: replace a file that was changed on disk meanwhile.

    Raises:
        ChangedOnDiskError: the file was changed on disk meanwhile.
        PersonaError: the data are no valid persona, or the file cannot be written.
    """
    drafted = document
    if document.is_new:
        data = {**data, "id": id_of(str(data.get("name", "")))}
        document = replace(document, path=_free_path(data["id"]), is_new=False)
        if document.path.stem != data["id"]:
            data = {**data, "id": document.path.stem}
    text = edited_persona(document, data).text
    content = _encoded(text, document.stored)
    _make_folder(document.path.parent)
    lock = lock_beside(document.path)
    with one_writer(lock, document.path, PersonaError, "save again when it is done", seconds=2):
        if not overwrite and _stored(document.path) != document.stored:
            raise ChangedOnDiskError(
                f"{document.path} was changed by another program since you opened it; save again to "
                "replace it, or leave without saving."
            )
        if document.origin is not None and document.stored is None:
            _copy_portrait(document.origin, document.path, data.get("portrait"))
        write_atomically(document.path, content, PersonaError)
    discard_draft(drafted)
    return replace(document, text=text, stored=content.encode())


class Draft(NamedTuple):
    """Unsaved data of an earlier session."""

    data: dict[str, Any]
    is_of_other_text: bool
    """Whether the file was changed since the draft was begun."""


def keep_draft(document: PersonaDocument, data: Mapping[str, Any]) -> None:
    """Write unsaved data beside the file.

    Raises:
        PersonaError: the draft cannot be written.
    """
    kept = json.dumps({"of": _digest(document), "data": data})
    write_atomically(_draft(document), kept, PersonaError, private=True)


def read_draft(document: PersonaDocument) -> Draft | None:
    """The unsaved data of an earlier session; None if there are none, or they equal the file."""
    try:
        kept = json.loads(_draft(document).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    data = kept.get("data") if isinstance(kept, dict) else None
    if not isinstance(data, dict) or data == document.data:
        return None
    return Draft(data, kept.get("of") != _digest(document))


def _digest(document: PersonaDocument) -> str:
    return hashlib.sha256(document.text.encode()).hexdigest()


def discard_draft(document: PersonaDocument) -> None:
    """Remove the draft.

    Raises:
        PersonaError: the draft cannot be removed.
    """
    try:
        _draft(document).unlink(missing_ok=True)
    except OSError as error:
        raise PersonaError(f"{_draft(document)} cannot be removed: {error.strerror}.") from error


def _draft(document: PersonaDocument) -> Path:
    return document.path.with_name(f".{document.path.name}.draft")


def _stored(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PersonaError(f"{path} cannot be read: {error.strerror}.") from error


def _encoded(text: str, stored: bytes | None) -> str:
    """The text with the byte order mark and the line breaks of the file."""
    if stored is None:
        return text
    mark = "\ufeff" if stored.startswith(b"\xef\xbb\xbf") else ""
    return mark + (text.replace("\n", "\r\n") if b"\r\n" in stored else text)


def _free_path(persona_id: str) -> Path:
    """A file in the user's folder that does not exist."""
    folder, number = user_paths().personas, 1
    while True:
        path = folder / (f"{persona_id}.yaml" if number == 1 else f"{persona_id}-{number}.yaml")
        if not path.exists():
            return path
        number += 1


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PersonaError(f"{folder} cannot be created: {error.strerror}.") from error


def _copy_portrait(origin: Path, path: Path, portrait: Any) -> None:
    if not isinstance(portrait, str) or not portrait:
        return
    target = path.parent / portrait
    if target.exists() or not (origin.parent / portrait).exists():
        return
    content = read_contained(
        origin.parent, portrait, f"The portrait {portrait}", PersonaError, most_bytes=PORTRAIT_BYTES
    )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:
        raise PersonaError(f"{target} cannot be written: {error.strerror}.") from error
