"""Drafts: unsaved data of a document, kept beside its file."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rolellm_agents.errors import StorageError
from rolellm_agents.files.atomic_write import write_atomically


class DraftedDocument(Protocol):
    """A document that is edited."""

    @property
    def path(self) -> Path:
        """The file that is saved."""

    @property
    def text(self) -> str:
        """The text on which edits are based."""

    @property
    def data(self) -> dict[str, Any]:
        """The data of the text."""


class Draft(NamedTuple):
    """Unsaved data of an earlier session."""

    data: dict[str, Any]
    is_of_other_text: bool
    """Whether the file was changed since the draft was begun."""


def keep_draft(document: DraftedDocument, data: Mapping[str, Any]) -> None:
    """Write unsaved data beside the file.

    Raises:
        StorageError: the draft cannot be written.
    """
    kept = json.dumps({"of": _digest(document), "data": data})
    write_atomically(_draft(document), kept, StorageError, private=True)


def read_draft(document: DraftedDocument) -> Draft | None:
    """The unsaved data of an earlier session; None if there are none, or they equal the file."""
    try:
        kept = json.loads(_draft(document).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    data = kept.get("data") if isinstance(kept, dict) else None
    if not isinstance(data, dict) or data == document.data:
        return None
    return Draft(data, kept.get("of") != _digest(document))


def _digest(document: DraftedDocument) -> str:
    return hashlib.sha256(document.text.encode()).hexdigest()


def discard_draft(document: DraftedDocument) -> None:
    """Remove the draft.

    Raises:
        StorageError: the draft cannot be removed.
    """
    try:
        _draft(document).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{_draft(document)} cannot be removed: {error.strerror}.") from error


def _draft(document: DraftedDocument) -> Path:
    return draft_beside(document.path)


def draft_beside(path: Path) -> Path:
    """The draft of a file."""
    return path.with_name(f".{path.name}.draft")
