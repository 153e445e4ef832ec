"""Who uses a transcript: each process that has one open holds a shared lock on its folder.

`rolellm history restore` needs the folder for itself. The operating system releases the locks of a process
that ends, however it ends.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rolellm_agents.errors import StorageError
from rolellm_agents.files.one_writer import holders

if sys.platform != "win32":  # Windows does not let a file be replaced that a process has open
    import fcntl

_SECONDS_TO_WAIT_FOR_A_RESTORE = 10.0


class Presence:
    """A process's lock on the folder of a transcript, until it is closed."""

    def __init__(self, file: Path) -> None:
        """Wait until no transcript is being restored in the folder of this file.

        Raises:
            StorageError: a restore takes too long.
        """
        self._descriptor = _opened(file.parent)
        deadline = time.monotonic() + _SECONDS_TO_WAIT_FOR_A_RESTORE
        while not _locked(self._descriptor, alone=False):
            if time.monotonic() > deadline:
                self.close()
                raise StorageError(f"{file} is being restored by another process; try again later.")
            time.sleep(0.01)

    def close(self) -> None:
        """Release the lock; further calls do nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@contextlib.contextmanager
def alone(file: Path) -> Iterator[None]:
    """Keep all other processes from opening the transcripts in the folder of this file.

    Raises:
        StorageError: a process has one open.
    """
    descriptor = _opened(file.parent)
    try:
        if not _locked(descriptor, alone=True):
            raise StorageError(
                f"{file} is open in another program{holders(file.parent)}; close the chats, and try again."
            )
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _opened(folder: Path) -> int | None:
    if sys.platform == "win32":
        return None
    with contextlib.suppress(OSError):
        return os.open(folder, os.O_RDONLY)
    return None


def _locked(descriptor: int | None, *, alone: bool) -> bool:
    """Try to lock; a file system that cannot lock counts as one that nobody else uses."""
    if sys.platform == "win32" or descriptor is None:
        return True
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
