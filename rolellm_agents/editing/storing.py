"""Save a file only if it still is what was read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rolellm_agents.errors import StorageError
from rolellm_agents.files.one_writer import lock_beside, one_writer


class ChangedOnDiskError(StorageError):
    """The file was changed by another program since it was read."""

    def __init__(self, sentence: str, stored: bytes | None) -> None:
        """Create the error; `stored` is what the file holds now, None if it is gone."""
        super().__init__(sentence)
        self.stored = stored


@contextmanager
def unchanged(path: Path, stored: bytes | None, warned: ChangedOnDiskError | None) -> Iterator[None]:
    """Hold the lock of a file that is as it was read, or as it was when the user was warned.

    Args:
        path: the file.
        stored: what it held when it was read; None if it did not exist.
        warned: the error of which the user knows.

    Raises:
        ChangedOnDiskError: the file has other content.
        StorageError: the file cannot be read, or another process holds the lock.
    """
    with one_writer(lock_beside(path), path, StorageError, "save again when it is done", seconds=2):
        now = stored_bytes(path)
        if now != stored and (warned is None or now != warned.stored):
            raise ChangedOnDiskError(
                f"{path} was changed by another program since you opened it; save again to replace it, or "
                "leave without saving.",
                now,
            )
        yield


def stored_bytes(path: Path) -> bytes | None:
    """What a file holds; None if it does not exist.

    Raises:
        StorageError: the file cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from error


def make_folder(folder: Path) -> None:
    """Create a folder if it does not exist.

    Raises:
        StorageError: it cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder} cannot be created: {error.strerror}.") from error
