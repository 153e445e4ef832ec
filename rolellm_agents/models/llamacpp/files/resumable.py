"""Downloads of large files that go on where they were stopped."""

import hashlib
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

import httpx2

OnProgress = Callable[[int, int], None]
"""Called with the number of received bytes and the total."""
_TIMEOUT: Final = httpx2.Timeout(60.0, connect=20.0)
_PAUSE: Final = 1.0
"""Seconds before a broken connection is tried again."""
_TRIES: Final = 5
"""Tries in a row in which nothing was received."""


def receive(
    address: str, part: Path, on_progress: OnProgress, *, headers: Mapping[str, str] | None = None
) -> str:
    """Download into a file, or the rest of it, also when the connection breaks meanwhile.

    The version of the content (its ETag) is kept beside the file. If it has changed or is unknown, the
    download begins anew.

    Args:
        address: where the content is.
        part: the file; what it has already is kept.
        on_progress: called after each received block.
        headers: further headers of the request, such as a token. Another server, to which this one
            redirects, does not get the token.

    Returns:
        The SHA-256 of the whole file, as hex digits.

    Raises:
        httpx2.HTTPStatusError: the server refuses.
        httpx2.HTTPError: there was no connection in several tries.
        OSError: the file cannot be written; what was received is kept.
    """
    tries = 0
    while True:
        before = size_of(part)
        try:
            return _receive_rest(address, part, on_progress, headers or {})
        except httpx2.TransportError:
            tries = tries + 1 if size_of(part) == before else 1
            if tries >= _TRIES:
                raise
            time.sleep(_PAUSE)


def size_of(part: Path) -> int:
    """The bytes of a download that are here."""
    return part.stat().st_size if part.exists() else 0


def discard(part: Path) -> None:
    """Delete what was downloaded."""
    part.unlink(missing_ok=True)
    forget_version(part)


def forget_version(part: Path) -> None:
    """Delete the version that was kept for a file."""
    _version_file(part).unlink(missing_ok=True)


def _version_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.etag")


def _receive_rest(address: str, part: Path, on_progress: OnProgress, headers: Mapping[str, str]) -> str:
    version = _version_file(part).read_text("utf-8") if _version_file(part).exists() else ""
    here = size_of(part) if version else 0
    resuming = {"Range": f"bytes={here}-", "If-Range": version} if here else {}
    sent = {**headers, "Accept-Encoding": "identity", **resuming}
    with httpx2.stream("GET", address, headers=sent, timeout=_TIMEOUT, follow_redirects=True) as answer:
        ends_here = answer.headers.get("Content-Range") == f"bytes */{here}"
        if answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and ends_here:
            return _digest_of(part).hexdigest()  # it was complete
        answer.raise_for_status()
        here = here if answer.status_code == HTTPStatus.PARTIAL_CONTENT else 0
        digest = _digest_of(part) if here else hashlib.sha256()
        total = here + int(answer.headers.get("Content-Length", 0))
        _version_file(part).write_text(answer.headers.get("ETag", ""), "utf-8")
        with part.open("ab" if here else "wb") as file:
            for block in answer.iter_raw():
                file.write(block)
                digest.update(block)
                here += len(block)
                on_progress(here, max(here, total))
    return digest.hexdigest()


def _digest_of(part: Path) -> "hashlib._Hash":
    with part.open("rb") as file:
        return hashlib.file_digest(file, "sha256")
