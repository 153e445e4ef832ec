"""A lorebook's own file that is being edited: how it is opened and saved."""

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rolellm_agents.cards import CardError, Lorebook, read_lorebook, read_lorebook_file
from rolellm_agents.cards.json_text import read_json
from rolellm_agents.cards.lore.lorebook import lorebook_format, lorebook_place
from rolellm_agents.cards.values import mapping
from rolellm_agents.config.paths import user_paths
from rolellm_agents.editing.drafts import discard_draft
from rolellm_agents.editing.form import Data, FormRow, value_at
from rolellm_agents.editing.form import Path as FormPath
from rolellm_agents.editing.storing import ChangedOnDiskError, make_folder, stored_bytes, unchanged
from rolellm_agents.errors import PersonaError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.persona.editing.lore_form import book_list

_NEW = {"name": "", "entries": {}}


@dataclass(frozen=True)
class LorebookDocument:
    """A lorebook's JSON file, with the text that was read."""

    path: Path
    """The file that is saved."""
    content: bytes
    """The JSON on which edits are based."""
    stored: bytes | None
    """What the file held when it was read; None if it does not exist yet."""
    place: FormPath = ()
    """The keys that lead to the lorebook."""

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode(errors="replace")

    @property
    def data(self) -> dict[str, Any]:
        """The data of the content."""
        return read_json(self.content, self.path.name)


def open_lorebook(reference: str) -> LorebookDocument:
    """Open a lorebook by file, or by the name under which it was imported; or begin a new file.

    Args:
        reference: a path, or a name. A path with the ending `.json` that does not exist is a new lorebook.

    Raises:
        PersonaError: there is no such file, or it has a format that cannot be edited.
        StorageError: the file cannot be read.
    """
    path = Path(reference).expanduser()
    imported = user_paths().lorebooks / f"{reference}.json"
    if not path.exists() and imported.is_file():
        path = imported
    stored = stored_bytes(path) if path.is_file() else None
    if stored is None:
        if path.suffix != ".json" or path.exists():
            raise PersonaError(
                f"There is no lorebook {reference!r}; name a file, or a new one with the ending .json."
            )
        return LorebookDocument(path, json.dumps(_NEW, indent=2).encode() + b"\n", None)
    try:
        read_lorebook_file(path)
        data = read_json(stored, path.name)
        place = lorebook_place(data)
        kind = lorebook_format(mapping(value_at(data, place)))
    except CardError as error:
        raise PersonaError(f"{path} cannot be edited: {error}") from error
    if kind not in ("card", "world"):
        raise PersonaError(
            f"{path} has a format of another program ({kind}) that is read but cannot be edited; edit the "
            "lorebook there, or a copy that SillyTavern has exported."
        )
    return LorebookDocument(path, stored, stored, place)


def lorebook_rows(document: LorebookDocument, data: Data) -> list[FormRow]:
    """The rows of the lorebook's form."""
    items = book_list(data, document.place)
    return [*items.rows(data)] if items else []


def edited_lorebook(data: Mapping[str, Any]) -> Lorebook:
    """The lorebook that changed data hold.

    Raises:
        PersonaError: the data are no valid lorebook.
    """
    try:
        return read_lorebook(copy.deepcopy(dict(data)))
    except CardError as error:
        raise PersonaError(str(error)) from error


def save_lorebook(
    document: LorebookDocument, data: Mapping[str, Any], *, warned: ChangedOnDiskError | None = None
) -> LorebookDocument:
    """Save changed data with the indentation of the file, and return the document as it is then.

    Args:
        document: the document that was opened.
        data: the file's data.
        warned: the error of which the user knows; the file is replaced if it is still as it was then.

    Raises:
        ChangedOnDiskError: the file was changed on disk since it was read, or since the user was warned.
        PersonaError: the data are no valid lorebook, or the file cannot be written.
        StorageError: the file cannot be read, or another process writes it.
    """
    edited_lorebook(data)
    text = _written(document.text, data)
    make_folder(document.path.parent)
    with unchanged(document.path, document.stored, warned):
        write_atomically(document.path, text, PersonaError)
    discard_draft(document)
    return replace(document, content=text.encode(), stored=text.encode())


def _written(before: str, data: Mapping[str, Any]) -> str:
    """JSON in the style of the text before: its indentation, escapes and line breaks."""
    indent = re.match(r"\ufeff?\s*\{[ \t]*\r?\n([ \t]+)\"", before)
    is_compact = not indent and not re.search(r"\"\s*:\s", before)
    escapes = before.isascii() and "\\u" in before
    text = json.dumps(
        data,
        ensure_ascii=escapes,
        indent=indent[1] if indent else None,
        separators=(",", ":") if is_compact else None,
    )
    text = re.sub(r"[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)
    text = (
        ("\ufeff" if before.startswith("\ufeff") else "") + text + ("\n" if before.endswith("\n") else "")
    )
    return text.replace("\n", "\r\n") if "\r\n" in before else text
