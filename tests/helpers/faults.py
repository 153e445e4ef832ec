"""Faults of the disk: an action is repeated once for each of its file operations, which then fails.

The operations are those of Python; SQLite's own are made to fail by strace, in `helpers.faults_of_sqlite`.
"""

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from rolellm_agents.errors import RoleLLMError

ERRORS: Final = (errno.EIO, errno.ENOSPC)
_CALLS: Final = ("open", "write", "fsync", "replace", "rename", "link", "mkdir", "sendfile", "truncate")
"""Functions of `os`; `unlink` and `rmdir` are left alone, because an action cleans up with them."""


@dataclass
class Disk:
    """Counts the operations of an action, and lets one of them fail."""

    failing: int = -1
    """The number of the operation that fails; -1 for none."""
    error: int = errno.EIO
    short: bool = False
    """Whether a write that fails writes its first half."""
    done: list[str] = field(default_factory=list)
    """The operations so far."""

    def meet(self, what: str) -> None:
        """Count an operation, and raise if it is the one that fails."""
        self.done.append(what)
        if len(self.done) - 1 == self.failing:
            raise OSError(self.error, os.strerror(self.error))


class _FaultyFile(io.FileIO):
    disk: Disk

    def write(self, content: Any, /) -> int:
        if self.disk.short and len(self.disk.done) == self.disk.failing and len(content) > 1:
            # The disk takes a half; the program tries the rest, which fails.
            self.disk.failing += 1
            self.disk.done.append("short write")
            return super().write(memoryview(content)[: len(content) // 2])
        self.disk.meet("write")
        return super().write(content)

    def truncate(self, size: int | None = None, /) -> int:
        self.disk.meet("truncate")
        return super().truncate(size)


@contextmanager
def on(disk: Disk) -> Iterator[None]:
    """Let the file operations of this process go through `disk`."""
    usual_open = io.open

    def opened(file: Any, mode: str = "r", buffering: int = -1, *others: Any, **options: Any) -> Any:
        if not set(mode) & set("wax+"):
            return usual_open(file, mode, buffering, *others, **options)
        if not isinstance(file, int):
            disk.meet("open")
        raw = _FaultyFile(file, mode.replace("b", "").replace("t", ""))
        raw.disk = disk
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        names = ("encoding", "errors", "newline")
        return io.TextIOWrapper(buffered, **{**dict(zip(names, others, strict=False)), **options})

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(io, "open", opened)
        patched.setattr(builtins, "open", opened)
        for name in _CALLS:
            patched.setattr(os, name, _counted(disk, name, getattr(os, name)))
        yield


def _counted(disk: Disk, name: str, usual: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        if name != "open" or arguments[1] & (os.O_WRONLY | os.O_RDWR):
            disk.meet(name)
        return usual(*arguments, **options)

    return call


@dataclass
class Outcome:
    """How an action ended with a fault."""

    folder: Path
    succeeded: bool
    """Whether it ended without an error; the fault then was in something that is allowed to fail."""
    operation: str


def each_fault(
    place: Path, prepare: Callable[[Path], None], act: Callable[[Path], None]
) -> Iterator[Outcome]:
    """Do an action in a prepared folder, and again with each fault at each of its operations.

    Any error but a sentence of ours fails the test.
    """
    place.mkdir(exist_ok=True)
    counted = Disk()
    _prepared(place / "none", prepare)
    with on(counted):
        act(place / "none")
    assert counted.done, "the action has done nothing; the test would show nothing"
    for error, short in ((errno.EIO, False), (errno.ENOSPC, False), (errno.ENOSPC, True)):
        for number, operation in enumerate(counted.done):
            if short and operation != "write":
                continue
            folder = place / f"{error}-{short}-{number}"
            _prepared(folder, prepare)
            disk = Disk(number, error, short)
            succeeded = True
            try:
                with on(disk):
                    act(folder)
            except RoleLLMError as told:
                succeeded = False
                sentence = str(told)
                assert "\n" not in sentence, sentence
                assert sentence.endswith("."), sentence
                assert sentence[0].isupper() or sentence[0] == "/", sentence
            yield Outcome(folder, succeeded, operation)


def _prepared(folder: Path, prepare: Callable[[Path], None]) -> None:
    folder.mkdir()
    prepare(folder)
