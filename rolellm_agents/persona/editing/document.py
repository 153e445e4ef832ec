"""A persona's file that is being edited: how it is opened and saved."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.contained import read_contained
from rolellm_agents.files.one_writer import lock_beside
from rolellm_agents.files.yaml import parse_yaml, plain_data, read_text
from rolellm_agents.files.yaml_edits import edited_yaml
from rolellm_agents.persona.data import Persona, id_of
from rolellm_agents.persona.editing.drafts import discard_draft, draft_beside
from rolellm_agents.persona.editing.storing import ChangedOnDiskError, make_folder, stored_bytes, unchanged
from rolellm_agents.persona.library import FoundPersona
from rolellm_agents.persona.portrait import PORTRAIT_BYTES

_NEW = "id: new-persona\nname: ''\ndescription: ''\n"


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
    claim: FileLock | None = field(default=None, compare=False)
    """Held while a new persona is written, so that its draft is not that of another window."""

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
        return PersonaDocument(found.path, text, stored_bytes(found.path))
    return PersonaDocument(_free_path(found.persona.id), text, None, origin=found.path)


def new_document() -> PersonaDocument:
    """An empty persona, with the draft of an earlier session that no other window has open.

    Raises:
        PersonaError: the folder of personas cannot be written.
    """
    folder, number = user_paths().personas, 1
    make_folder(folder)
    while True:
        path = _numbered(folder, "new-persona", number)
        claim = FileLock(lock_beside(draft_beside(path)), thread_local=False)
        try:
            claim.acquire(timeout=0)
        except Timeout:
            number += 1
        except OSError as error:
            raise PersonaError(f"{folder} cannot be written: {error.strerror}.") from error
        else:
            return PersonaDocument(path, _NEW, None, is_new=True, claim=claim)


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
    document: PersonaDocument, data: Mapping[str, Any], *, warned: ChangedOnDiskError | None = None
) -> PersonaDocument:
    """Save changed data, and return the document as it is then.

    Args:
        document: the document that was opened.
        data: the persona's data.
        warned: the error of which the user knows; the file is replaced if it is still as it was then.

    Raises:
        ChangedOnDiskError: the file was changed on disk since it was read, or since the user was warned.
        PersonaError: the data are no valid persona, or the file cannot be written.
    """
    drafted = document
    if document.is_new:
        data = {**data, "id": id_of(str(data.get("name", "")))}
        document = replace(document, path=_free_path(data["id"]), is_new=False, claim=None)
        if document.path.stem != data["id"]:
            data = {**data, "id": document.path.stem}
    edited_persona(document, data)
    make_folder(document.path.parent)
    with unchanged(document.path, document.stored, warned):
        if document.origin is not None and document.stored is None:
            data = _with_portrait(document.origin, document.path.parent, data)
        text = edited_persona(document, data).text
        content = _encoded(text, document.stored)
        write_atomically(document.path, content, PersonaError)
    discard_draft(drafted)
    return replace(document, text=text, stored=content.encode())


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
        path = _numbered(folder, persona_id, number)
        if not path.exists():
            return path
        number += 1


def _numbered(folder: Path, stem: str, number: int, suffix: str = ".yaml") -> Path:
    return folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")


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
        target = _numbered(wanted.parent, wanted.stem, number, wanted.suffix)
    if present is None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            target.unlink(missing_ok=True)  # on a full disk, a part of it
            raise PersonaError(f"{target} cannot be written: {error.strerror}.") from error
    return {**data, "portrait": target.relative_to(folder).as_posix()}
