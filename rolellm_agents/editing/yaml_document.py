"""A YAML file that is being edited: how it is opened and saved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from rolellm_agents.editing.drafts import discard_draft, draft_beside
from rolellm_agents.editing.storing import ChangedOnDiskError, make_folder, stored_bytes, unchanged
from rolellm_agents.errors import RoleLLMError, StorageError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.one_writer import lock_beside
from rolellm_agents.files.yaml import plain_data, read_text
from rolellm_agents.files.yaml_edits import edited_yaml


@dataclass(frozen=True)
class YamlDocument:
    """A YAML file with the text that was read."""

    path: Path
    """The file that is saved."""
    text: str
    """The text on which edits are based, with line feeds."""
    stored: bytes | None
    """What the file held when it was read; None if it does not exist yet."""
    origin: Path | None = None
    """The bundled file or the file of a pack, of which this is a copy."""
    is_new: bool = False
    """Whether the file's name is taken from its content when it is saved."""
    claim: FileLock | None = field(default=None, compare=False)
    """Held while a new file is written, so that its draft is not that of another window."""

    @property
    def data(self) -> dict[str, Any]:
        """The data of the text."""
        data = plain_data(self.text)
        return data if isinstance(data, dict) else {}

    def let_go(self) -> None:
        """Let another window have the draft of the new file."""
        if self.claim is not None:
            self.claim.release()


def open_yaml(path: Path, failure: type[RoleLLMError]) -> YamlDocument:
    """Open a file of the user.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be read.
    """
    return YamlDocument(path, read_text(path, failure), stored_bytes(path))


def open_copy(path: Path, folder: Path, stem: str, failure: type[RoleLLMError]) -> YamlDocument:
    """Open a copy of a file that is not the user's, under a free name in a folder of the user.

    Args:
        path: the original.
        folder: where the copy is saved.
        stem: the copy's name without the suffix, if no file has it.
        failure: the class of errors to raise.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be read.
    """
    return YamlDocument(free_path(folder, stem), read_text(path, failure), None, origin=path)


def new_yaml(folder: Path, stem: str, text: str) -> YamlDocument:
    """A new file, with the draft of an earlier session that no other window has open.

    Args:
        folder: where the file will be.
        stem: the name of the draft; the file itself is named when it is saved.
        text: the first content.

    Raises:
        StorageError: the folder cannot be written.
    """
    number = 1
    make_folder(folder)
    while True:
        path = numbered(folder, stem, number)
        if path.exists():
            number += 1
            continue
        claim = FileLock(lock_beside(draft_beside(path)), thread_local=False)
        try:
            claim.acquire(timeout=0)
        except Timeout:
            number += 1
        except OSError as error:
            raise StorageError(f"{folder} cannot be written: {error.strerror}.") from error
        else:
            return YamlDocument(path, text, None, is_new=True, claim=claim)


def edited_text(document: YamlDocument, data: Mapping[str, Any], failure: type[RoleLLMError]) -> str:
    """The document's text with changed data.

    Raises:
        RoleLLMError: as `failure`, when the data cannot be written.
    """
    try:
        return edited_yaml(document.text, data)
    except ValueError as error:
        raise failure(
            f"{document.path} cannot hold a text with control characters; remove them."
        ) from error


def named(document: YamlDocument, stem: str) -> YamlDocument:
    """A new document under a free name in its folder."""
    return replace(document, path=free_path(document.path.parent, stem), is_new=False, claim=None)


def save_yaml(
    document: YamlDocument,
    data: Mapping[str, Any],
    failure: type[RoleLLMError],
    *,
    warned: ChangedOnDiskError | None = None,
    prepared: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda data: data,
) -> YamlDocument:
    """Save changed data, and return the document as it is then.

    Args:
        document: the document that was opened, which has its name.
        data: valid data.
        failure: the class of errors of the data and of writing.
        warned: the error of which the user knows; the file is replaced if it is still as it was then.
        prepared: makes ready what the data name, while the file is locked, and gives the data to write.

    Raises:
        ChangedOnDiskError: the file was changed on disk since it was read, or since the user was warned.
        StorageError: the file cannot be read, or another process writes it.
        RoleLLMError: as `failure`, when the file cannot be written.
    """
    make_folder(document.path.parent)
    with unchanged(document.path, document.stored, warned):
        text = edited_text(document, prepared(data), failure)
        content = _encoded(text, document.stored)
        write_atomically(document.path, content, failure)
    discard_draft(document)
    return replace(document, text=text, stored=content.encode())


def _encoded(text: str, stored: bytes | None) -> str:
    """The text with the byte order mark and the line breaks of the file."""
    if stored is None:
        return text
    mark = "\ufeff" if stored.startswith(b"\xef\xbb\xbf") else ""
    return mark + (text.replace("\n", "\r\n") if b"\r\n" in stored else text)


def free_path(folder: Path, stem: str) -> Path:
    """A YAML file that does not exist."""
    number = 1
    while (path := numbered(folder, stem, number)).exists():
        number += 1
    return path


def numbered(folder: Path, stem: str, number: int, suffix: str = ".yaml") -> Path:
    """The file with a number in its name, which the first one has not."""
    return folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
