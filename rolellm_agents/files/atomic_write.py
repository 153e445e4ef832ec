"""Atomic writes of text files: after a kill or on a full disk, the old file remains."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rolellm_agents.errors import RoleLLMError


def write_atomically(path: Path, text: str, failure: type[RoleLLMError], *, private: bool = False) -> None:
    """Write `text` as UTF-8, and create missing folders; a private file is closed to other users.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be written.
    """
    with writing_atomically(path, failure, private=private) as file:
        file.write(text)


@contextlib.contextmanager
def writing_atomically(
    path: Path, failure: type[RoleLLMError], *, private: bool = False
) -> Iterator[IO[str]]:
    """Open a temporary UTF-8 file that replaces `path` when the block ends without an error.

    Missing folders are created. After an error, the temporary file and the new folders are removed. The
    file keeps the permissions of the one that it replaces, unless it is private.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be written.
    """
    part: Path | None = None
    created: list[Path] = []
    try:
        created += [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        name = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        part = name
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if not private and path.is_file():
                part.chmod(stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            if part is not None:
                part.unlink(missing_ok=True)
        for folder in created:
            with contextlib.suppress(OSError):  # not made yet, or another process has put a file there
                folder.rmdir()
        if isinstance(error, OSError):
            raise failure(
                f"{path} cannot be written ({error.strerror}); check permissions and free space, or "
                "name another file."
            ) from error
        raise
