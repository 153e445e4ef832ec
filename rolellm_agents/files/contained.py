"""Read files that another file names, such as a persona's portrait; they stay in that file's folder."""

import stat
from pathlib import Path, PurePosixPath

from rolellm_agents.errors import RoleLLMError

PATH_LEVELS = 50
"""The deepest path that is followed, in folders and file."""


def contained_file(folder: Path, named: str, what: str, failure: type[RoleLLMError]) -> Path:
    """The regular file that a file in `folder` names, with symbolic links resolved.

    Args:
        folder: the folder that the file must be in, directly or in a subfolder.
        named: the relative path, as the file gives it.
        what: the beginning of messages, such as `The portrait x.png`.
        failure: the class of errors to raise.

    Raises:
        RoleLLMError: as `failure`, when the path leads out of the folder, by itself or by a link, or there
            is no regular file.
    """
    if len(PurePosixPath(named.replace("\\", "/")).parts) > PATH_LEVELS:
        raise failure(f"{what} is in more than {PATH_LEVELS} folders; move it up.")
    try:
        file = (folder / named).resolve()
        if not file.is_relative_to(folder.resolve()):
            raise failure(f"{what} is outside of the folder {folder}; copy it there.")
        # Opening a pipe waits for a writer, and a device has no end.
        is_regular = stat.S_ISREG(file.stat().st_mode)
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links is a RuntimeError
        reason = getattr(error, "strerror", None) or str(error)
        raise failure(f"{what} cannot be read ({reason}).") from error
    if not is_regular:
        raise failure(f"{what} is not a file.")
    return file


def read_contained(
    folder: Path, named: str, what: str, failure: type[RoleLLMError], *, most_bytes: int
) -> bytes:
    """The content of a file that a file in `folder` names; for the arguments see `contained_file`.

    Raises:
        RoleLLMError: as `failure`, when the path leads out of the folder, or the file is missing, is not a
            regular file, or has more than `most_bytes` bytes.
    """
    file = contained_file(folder, named, what, failure)
    try:
        if file.stat().st_size > most_bytes:
            raise failure(f"{what} is larger than {most_bytes // 2**20} MiB; save it smaller.")
        return file.read_bytes()
    except OSError as error:
        raise failure(f"{what} cannot be read ({error.strerror}).") from error
