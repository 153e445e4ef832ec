"""Files of lines that grow: a line is complete and on the disk, or not there at all."""

import contextlib
import json
import os
from pathlib import Path

_BLOCK = 65_536


def append_durably(file: Path, lines: bytes) -> int:
    """Append complete lines; they are on the disk when this returns. If that fails, nothing is appended.

    Returns:
        The offset of the first line.

    Raises:
        OSError: the file cannot be written.
    """
    # Unbuffered, because a buffer would be written when the file is closed after a failure.
    with file.open("ab", buffering=0) as opened:
        place = opened.tell()
        try:
            left = memoryview(lines)
            while left:
                left = left[opened.write(left) :]
            os.fsync(opened.fileno())
        except OSError:
            # The next line must not continue half a line.
            with contextlib.suppress(OSError):
                os.ftruncate(opened.fileno(), place)
            raise
    return place


def cut_torn_line(file: Path) -> None:
    """Remove a last line without a line break, which a kill or a power failure cut off.

    Raises:
        OSError: the file cannot be read or written.
    """
    if not file.exists():
        return
    with file.open("rb+") as opened:
        size = opened.seek(0, os.SEEK_END)
        complete = size
        while complete > 0:
            begin = max(0, complete - _BLOCK)
            opened.seek(begin)
            newline = opened.read(complete - begin).rfind(b"\n")
            if newline >= 0:
                complete = begin + newline + 1
                break
            complete = begin
        if complete != size:
            opened.truncate(complete)


def mend_last_line(file: Path) -> None:
    """End a last line of JSON that lacks its line break, as an editor leaves it; remove a torn one.

    Raises:
        OSError: the file cannot be read or written.
    """
    if not file.exists():
        return
    content = file.read_bytes()
    last = content[content.rfind(b"\n") + 1 :]
    if not last.strip():
        return
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        cut_torn_line(file)
    else:
        append_durably(file, b"\n")
