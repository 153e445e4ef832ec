"""GGUF files from any address: downloaded into the user's models, and resumed after an interruption."""

import hashlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

import httpx2
from filelock import FileLock

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.llamacpp.files.gguf import check_gguf
from rolellm_agents.models.llamacpp.files.gguf_header import check_header
from rolellm_agents.text import one_line

_TIMEOUT: Final = httpx2.Timeout(60.0, connect=20.0)


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


def download_from(address: str, on_progress: Callable[[int, int], None]) -> Path:
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
                _receive(address, part, on_progress)
                check_gguf(part)
                check_header(part)
                part.replace(target)
                _version_file(part).unlink(missing_ok=True)
    except ModelError:
        part.unlink(missing_ok=True)
        raise
    except OSError as error:
        raise StorageError(
            f"{target} cannot be written ({error.strerror or error}); run the command again, it goes on "
            "where it was."
        ) from error
    return target


def _version_file(part: Path) -> Path:
    """The file with the version (ETag) of the address's content, without which nothing is resumed."""
    return part.with_name(f"{part.name}.etag")


def _receive(address: str, part: Path, on_progress: Callable[[int, int], None]) -> None:
    version = _version_file(part).read_text("utf-8") if _version_file(part).exists() else ""
    here = part.stat().st_size if part.exists() and version else 0
    headers = {"Accept-Encoding": "identity"}
    if here:
        headers |= {"Range": f"bytes={here}-", "If-Range": version}
    try:
        with httpx2.stream(
            "GET", address, headers=headers, timeout=_TIMEOUT, follow_redirects=True
        ) as answer:
            if answer.status_code == 416 and answer.headers.get("Content-Range") == f"bytes */{here}":
                return  # it was complete
            answer.raise_for_status()
            here = here if answer.status_code == 206 else 0
            total = here + int(answer.headers.get("Content-Length", 0))
            _version_file(part).write_text(answer.headers.get("ETag", ""), "utf-8")
            with part.open("ab" if here else "wb") as file:
                for block in answer.iter_bytes():
                    file.write(block)
                    here += len(block)
                    on_progress(here, max(here, total))
    except httpx2.HTTPStatusError as error:
        status = error.response.status_code
        raise ModelError(f"{address} is refused by its server ({status}); check the address.") from error
    except httpx2.HTTPError as error:
        raise StorageError(
            f"{address} could not be downloaded ({one_line(str(error), 120) or type(error).__name__}); run "
            "the command again, it goes on where it was."
        ) from error
