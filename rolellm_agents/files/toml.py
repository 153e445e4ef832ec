"""TOML files that users also edit by hand: changes keep comments and order."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.files.atomic_write import write_atomically

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def read_toml(file: Path, failure: type[RoleLLMError]) -> "TOMLDocument":
    """Read a file as a document that can be changed; a missing file is an empty document.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be read or is not TOML.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(file.read_bytes().decode())
    except FileNotFoundError:
        return tomlkit.document()
    except (TOMLKitError, UnicodeDecodeError, RecursionError) as error:
        raise failure(f"{file} is not valid TOML: {error}.") from error
    except OSError as error:
        raise failure(f"{file} cannot be read: {error.strerror}.") from error


def write_toml(file: Path, document: "TOMLDocument", failure: type[RoleLLMError]) -> None:
    """Write a changed document atomically, closed to other users; a symbolic link to the file stays a link.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be written, or its layout prevents the change.
    """
    text = document.as_string()
    if not _reads_as(document, text):
        raise failure(f"{file} cannot be changed in its present layout; start each table on a new line.")
    write_atomically(file.resolve(), text, failure, private=True)


def _reads_as(document: "TOMLDocument", text: str) -> bool:
    """Whether the text has the document's values; tomlkit may nest tables of dotted keys wrongly."""
    try:
        return tomllib.loads(text) == document.unwrap()
    except tomllib.TOMLDecodeError:
        return False
