"""New files beside a transcript: under a free name, and complete or not there at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rolellm_agents.config.paths import make_folder
from rolellm_agents.errors import StorageError

COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite appends to a database's name for the files beside it."""


def dated_file(file: Path, what: str) -> Path:
    """A free name beside `file`, with a word and the current date (UTC).

    A name is not free if a log with it was left behind: SQLite would apply the log to the new file.
    """
    name = f"{file.stem}-{what}-{datetime.now(UTC).date().isoformat()}"
    free = file.with_name(f"{name}{file.suffix}")
    number = 2
    while any(free.with_name(free.name + end).exists() for end in ("", *COMPANIONS)):
        free = file.with_name(f"{name}-{number}{file.suffix}")
        number += 1
    return free


def copies_beside(file: Path) -> list[Path]:
    """The copies of a transcript that this program has made beside it."""
    beside = (one for one in file.parent.glob(f"{file.stem}-*{file.suffix}") if one.is_file())
    backups = (one for one in (file.parent / "backups").glob("*") if one.is_file())
    return sorted([*beside, *backups])


class NameTakenError(StorageError):
    """There is a file of this name already."""


@contextlib.contextmanager
def new_file(target: Path) -> Iterator[tuple[Path, Path]]:
    """Yield an empty private file to write, and the name that it gets when the block ends without an error.

    Raises:
        NameTakenError: there is a file of this name already.
        StorageError: the file cannot be written.
    """
    if target.exists():
        raise NameTakenError(f"{target} exists already; name another file.")
    make_folder(target.parent)
    try:
        part = _empty_file(target)
        try:
            yield part, target
            put_on_disk(part)
            # Unlike a rename, a link does not replace a file that another process has put there.
            target.hardlink_to(part)
            try:
                put_on_disk(target.parent)
            except OSError:
                target.unlink(missing_ok=True)
                raise
        finally:
            for left in (part, *(part.with_name(part.name + end) for end in COMPANIONS)):
                left.unlink(missing_ok=True)
    except FileExistsError as error:
        raise NameTakenError(f"{target} exists already; name another file.") from error
    except OSError as error:
        raise StorageError(
            f"{target} cannot be written ({error.strerror}); make room, or name another file."
        ) from error


def _empty_file(target: Path) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(descriptor)
    return Path(name)


def put_on_disk(place: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
