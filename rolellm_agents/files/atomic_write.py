"""Write a text file whole or not at all: a kill or a full disk leaves what was there before."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rolellm_agents.errors import RoleLLMError


def write_atomically(path: Path, text: str, failure: type[RoleLLMError]) -> None:
    """Write `text` as UTF-8; folders on the way are made.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be written.
    """
    with writing_atomically(path, failure) as file:
        file.write(text)


@contextlib.contextmanager
def writing_atomically(path: Path, failure: type[RoleLLMError]) -> Iterator[IO[str]]:
    """Give a file to write UTF-8 to, piece by piece, which takes its place when the block ends well.

    Folders on the way are made. When the block ends with an error, nothing stays of what was written, nor
    of the folders.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be written.
    """
    part: Path | None = None
    made: list[Path] = []
    try:
        made += [folder for folder in path.parents if not folder.exists()]
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
        with contextlib.suppress(OSError):  # another one may have put something there
            for folder in made:
                folder.rmdir()
        if isinstance(error, OSError):
            raise failure(
                f"{path} cannot be written ({error.strerror}); free it, or name another file."
            ) from error
        raise
