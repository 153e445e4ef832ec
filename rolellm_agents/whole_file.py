"""Write a text file whole or not at all: a kill or a full disk leaves what was there before."""

import os
import tempfile
from pathlib import Path

from rolellm_agents.errors import RoleLLMError


def write_whole(path: Path, text: str, failure: type[RoleLLMError]) -> None:
    """Write `text` as UTF-8; folders on the way are made.

    Raises:
        RoleLLMError: as `failure`, when the file cannot be written.
    """
    part: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False
        ) as file:
            part = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o644)
        part.replace(path)
    except OSError as error:
        if part is not None:
            part.unlink(missing_ok=True)
        raise failure(
            f"{path} cannot be written ({error.strerror}); free it, or name another file."
        ) from error
