"""One writer at a time for a run folder, or a file that is written over time.

The operating system releases the lock of a process that ends, however it ends. A lock file that is left
behind therefore blocks nobody.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from rolellm_agents.errors import RoleLLMError

_LOCKS = Path("/proc/locks")
"""Linux's list of locks: kind, mode, process, device and inode of the file."""


@contextlib.contextmanager
def one_writer(
    lock: Path, target: Path, failure: type[RoleLLMError], way_out: str, *, seconds: float = 0
) -> Iterator[None]:
    """Hold a lock while a folder or a file is written.

    Args:
        lock: the lock file, as `lock_in` or `lock_beside` names it. It stays, because removing it would let
            two processes hold two locks of the same name.
        target: what is written.
        failure: the class of the errors.
        way_out: what to do if another process writes it, as the end of the sentence.
        seconds: how long to wait for the other process.

    Raises:
        RoleLLMError: as `failure`, when another process holds the lock, or it cannot be created.
    """
    file_lock = FileLock(lock)
    try:
        file_lock.acquire(timeout=seconds)
    except Timeout:
        raise failure(f"Another process works on {target}{holders(lock)}; {way_out}.") from None
    except OSError as error:
        raise failure(
            f"{target} cannot be written ({error.strerror}); check permissions and free space, or "
            "name another."
        ) from error
    try:
        yield
    finally:
        file_lock.release()


def lock_in(folder: Path) -> Path:
    """The lock file of a folder in which a process works."""
    return folder / ".lock"


def lock_beside(target: Path) -> Path:
    """The lock file of a file that is written, or of a folder that is replaced."""
    return target.with_name(f".{target.name}.lock")


def holders(file: Path) -> str:
    """The processes that hold a lock on a file, as “ (process 123)”; empty if the system does not say."""
    try:
        about = file.stat()
        listed = _LOCKS.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
    inode = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    rows = [line.split() for line in listed.splitlines() if "->" not in line]
    found = sorted({int(row[4]) for row in rows if inode in row and int(row[4]) > 0})
    if not found:
        return ""
    return f" (process{'es' if len(found) > 1 else ''} {', '.join(map(str, found))})"
