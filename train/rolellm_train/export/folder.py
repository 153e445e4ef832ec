"""The export folder: written atomically, by one process at a time."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rolellm_agents.config.paths import make_folder
from rolellm_agents.errors import StorageError
from rolellm_agents.files.one_writer import lock_beside, one_writer

_RESERVE: Final = 200_000_000
"""Bytes that must stay free on the disk."""


@contextlib.contextmanager
def writing_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target` when the block succeeds.

    It is in the same folder as the target and is removed after an error. The next export to the same target
    removes what a killed process left behind.

    Raises:
        StorageError: the target exists already, another process writes it, or the disk is full.
    """
    if target.exists() and not replace:
        raise StorageError(f"{target} exists already; name another folder with --to, or use --force.")
    make_folder(target.parent)
    way_out = "wait for it, or name another folder with --to"
    try:
        with one_writer(lock_beside(target), target, StorageError, way_out):
            for left in target.parent.glob(f".{target.name}.*.part"):
                shutil.rmtree(left, ignore_errors=True)
            part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
            try:
                yield part
                _put(part, target)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"The export to {target} cannot be written ({error.strerror or error}); free the disk, or name "
            "another folder with --to."
        ) from error


def check_room(folder: Path, needed: int) -> None:
    """Check that there is enough free disk space.

    Args:
        folder: the folder that will be written.
        needed: the needed space in bytes.

    Raises:
        StorageError: there is too little free space.
    """
    free = shutil.disk_usage(folder).free - _RESERVE
    if needed > free:
        raise StorageError(
            f"The export takes {needed / 1e9:.1f} GB temporarily, and {max(free, 0) / 1e9:.1f} GB are free "
            f"in {folder}; make room, or name a folder on another disk with --to."
        )


def _put(part: Path, target: Path) -> None:
    """Move the folder to the target, and then remove the old one."""
    part.chmod(0o755)
    if not target.exists():
        part.rename(target)
        return
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", suffix=".part", dir=target.parent) as place:
        old = Path(place) / "old"
        target.rename(old)
        try:
            part.rename(target)
        except OSError:
            old.rename(target)
            raise
