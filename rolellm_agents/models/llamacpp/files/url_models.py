"""GGUF files from any address: downloaded into the user's models, and resumed after an interruption."""

import hashlib
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import httpx2
from filelock import FileLock

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.llamacpp.files.gguf import check_gguf
from rolellm_agents.models.llamacpp.files.gguf_header import check_header
from rolellm_agents.models.llamacpp.files.resumable import OnProgress, discard, forget_version, receive
from rolellm_agents.text import one_line


def is_address(name: str) -> bool:
    """Whether a name is the address of a file."""
    return name.startswith(("https://", "http://"))


def models_folder() -> Path:
    """The folder of files that were downloaded from addresses."""
    return user_paths().data / "models"


def place_of(address: str) -> Path:
    """Where the file of an address is kept; files of the same name from other addresses lie elsewhere.

    Raises:
        ModelError: the address is invalid or does not end in `.gguf`.
    """
    try:
        name = PurePosixPath(unquote(urlsplit(address).path)).name
    except ValueError as error:
        raise ModelError(f"{address} is not a valid address: {error}.") from error
    if not name.lower().endswith(".gguf"):
        raise ModelError(f"{address} does not end in .gguf; name the address of the file itself.")
    return models_folder() / hashlib.sha256(address.encode()).hexdigest()[:8] / name


def download_from(address: str, on_progress: OnProgress) -> Path:
    """Download a GGUF file, or the rest of it.

    Args:
        address: an address that ends in `.gguf`.
        on_progress: called with the number of received bytes and the total after each block.

    Raises:
        ModelError: the address cannot be used, or the file is no GGUF file.
        StorageError: the download was interrupted, or the file cannot be written.
    """
    target = place_of(address)
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{part}.lock"):
            if not target.exists():
                receive(address, part, on_progress)
                check_gguf(part)
                check_header(part)
                part.replace(target)
                forget_version(part)
    except ModelError:
        discard(part)
        raise
    except httpx2.HTTPStatusError as error:
        status = error.response.status_code
        raise ModelError(f"{address} is refused by its server ({status}); check the address.") from error
    except httpx2.HTTPError as error:
        raise StorageError(
            f"{address} could not be downloaded ({one_line(str(error), 120) or type(error).__name__}); run "
            "the command again, it goes on where it was."
        ) from error
    except OSError as error:
        raise StorageError(
            f"{target} cannot be written ({error.strerror or error}); run the command again, it goes on "
            "where it was."
        ) from error
    return target
