"""SHA-256 digests of large files, computed only when a file may have changed.

A digest is kept with what the file system tells of the file: its size, inode and times. Programs cannot set
the time of the last change (`ctime`), so every change is noticed. The digests are among the user's data and
not in the cache, which other machines may share.
"""

import contextlib
import hashlib
import json
import os
from pathlib import Path

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import StorageError
from rolellm_agents.files.atomic_write import write_atomically


def has_sha256(file: Path, sha256: str) -> bool:
    """Whether a file has a hexadecimal SHA-256; reads it if it may have changed since it was last read.

    Raises:
        OSError: the file cannot be read.
    """
    state = _state(file)
    if _kept(file) == {"sha256": sha256, "state": state}:
        return True
    if sha256_of(file) != sha256:
        return False
    _keep(file, sha256, state)
    return True


def sha256_of(file: Path) -> str:
    """The hexadecimal SHA-256 of a file.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def keep_sha256(file: Path, sha256: str) -> None:
    """Keep the digest of a file that this program has written.

    Raises:
        OSError: the file cannot be read.
    """
    _keep(file, sha256, _state(file))


def kept_sha256(file: Path) -> str | None:
    """The digest that was kept for a path, whatever is there now."""
    sha256 = _kept(file).get("sha256")
    return sha256 if isinstance(sha256, str) else None


def _keep(file: Path, sha256: str, state: str) -> None:
    # Without it, the file is only read again the next time.
    with contextlib.suppress(StorageError):
        write_atomically(_place(file), json.dumps({"sha256": sha256, "state": state}), StorageError)


def _kept(file: Path) -> dict[str, object]:
    try:
        kept = json.loads(_place(file).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _place(file: Path) -> Path:
    name = hashlib.sha256(os.fsencode(file.absolute())).hexdigest()[:32]
    return user_paths().data / "checked" / f"{name}.json"


def _state(file: Path) -> str:
    status = file.stat()
    told = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_dev, status.st_ino)
    return ":".join(map(str, told))
