"""Atomic writes of text files: after a kill or on a full disk, the old file remains."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rolellm_agents.errors import RoleLLMError


def write_atomically(path: Path, text: str, failure: type[RoleLLMError]) -> None:
    """Write `text` as UTF-8, and create missing folders.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be written.
    """
    with writing_atomically(path, failure) as file:
        file.write(text)


@contextlib.contextmanager
def writing_atomically(path: Path, failure: type[RoleLLMError]) -> Iterator[IO[str]]:
    """Open a temporary UTF-8 file that replaces `path` when the block ends without an error.

    Missing folders are created. After an error, the temporary file and the new folders are removed.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be written.
    """
    part: Path | None = None
    created: list[Path] = []
    try:
        created += [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False
        ) as file:
            part = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o644)
        part.replace(path)
    except BaseException as error:
        if part is not None:
            part.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # another process may have put a file there
            for folder in created:
                folder.rmdir()
        if isinstance(error, OSError):
            raise failure(
                f"{path} cannot be written ({error.strerror}); check permissions and free space, or "
                "name another file."
            ) from error
        raise
