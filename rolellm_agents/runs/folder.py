"""A run: one long command's recorded work, in a folder of its own, that goes on where it was stopped.

`config.json` holds the settings it was begun with, `items.jsonl` a line for each finished item, written and
flushed as it ends, and `manifest.json`, written last, says that the run is complete. `open_run` holds the
items in memory; `open_long_run` leaves them on disk, for a hundred thousand.
"""

import contextlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from rolellm_agents.config.paths import make_folder
from rolellm_agents.errors import StorageError
from rolellm_agents.text import one_line

_CONFIG, _ITEMS, _MANIFEST, _LOCK = "config.json", "items.jsonl", "manifest.json", ".lock"
_BLOCK = 65_536
_RECORDED = ("rolellm-agents", "langgraph", "langchain-core", "llama-cpp-python", "transformers", "torch")


class Run:
    """An open run; `open_run` gives one."""

    def __init__(self, folder: Path, items: dict[str, Any]) -> None:
        """Hold a folder whose lock the caller has."""
        self.folder = folder
        self.items = items
        """The finished items by their keys."""

    def append(self, key: str, value: Any) -> None:
        """Record a finished item; it is on disk when this returns.

        Raises:
            StorageError: the disk is full or read-only.
        """
        _append_line(self.folder, key, value)
        self.items[key] = value

    def finish(self, results: Mapping[str, Any]) -> None:
        """Write the manifest: the run is complete.

        Raises:
            StorageError: the disk is full or read-only.
        """
        _write_manifest(self.folder, {"items": len(self.items), **results})


class LongRun:
    """An open run of so many items that they stay on disk; `open_long_run` gives one."""

    def __init__(self, folder: Path) -> None:
        """Hold a folder whose lock the caller has."""
        self.folder = folder
        self._reader: BinaryIO | None = None

    def append(self, key: str, value: Any) -> int:
        """Record a finished item; it is on disk when this returns.

        Returns:
            Where it stands, for `read`.

        Raises:
            StorageError: the disk is full or read-only.
        """
        return _append_line(self.folder, key, value)

    def items(self) -> Iterator[tuple[int, str, Any]]:
        """Every item on disk, with where it stands and its key, in the order of their ends.

        An item that was recorded again comes again.

        Raises:
            StorageError: a line is damaged.
        """
        yield from _read_lines(self.folder / _ITEMS)

    def read(self, place: int) -> Any:
        """The item that stands at a place.

        Raises:
            StorageError: it cannot be read.
        """
        with _told(self.folder):
            if self._reader is None:
                self._reader = (self.folder / _ITEMS).open("rb")
            self._reader.seek(place)
            return json.loads(self._reader.readline())["value"]

    def finish(self, results: Mapping[str, Any]) -> None:
        """Write the manifest: the run is complete.

        Raises:
            StorageError: the disk is full or read-only.
        """
        _write_manifest(self.folder, results)

    def reopen(self) -> None:
        """Take the manifest away: there is more to do than when it was written.

        Raises:
            StorageError: the folder is read-only.
        """
        with _told(self.folder):
            (self.folder / _MANIFEST).unlink(missing_ok=True)

    def close(self) -> None:
        """Close what was opened for reading."""
        if self._reader is not None:
            self._reader.close()


@contextlib.contextmanager
def open_run(folder: Path, config: Mapping[str, Any]) -> Iterator[Run]:
    """Begin a run in `folder`, or go on with the one that is there.

    Args:
        folder: made when it does not exist.
        config: everything the items depend on, as JSON values; a run goes on only with the same.

    Raises:
        StorageError: the folder cannot be used, another process is at it, or its run has another config.
    """
    with _locked(folder, config):
        with _told(folder):
            _cut_torn_line(folder / _ITEMS)
            items = {key: value for _, key, value in _read_lines(folder / _ITEMS)}
        yield Run(folder, items)


@contextlib.contextmanager
def open_long_run(folder: Path, config: Mapping[str, Any]) -> Iterator[LongRun]:
    """Like `open_run`, with the items left on disk.

    Raises:
        StorageError: the folder cannot be used, another process is at it, or its run has another config.
    """
    with _locked(folder, config):
        with _told(folder):
            _cut_torn_line(folder / _ITEMS)
        run = LongRun(folder)
        try:
            yield run
        finally:
            run.close()


@contextlib.contextmanager
def _locked(folder: Path, config: Mapping[str, Any]) -> Iterator[None]:
    """The folder for one process alone, with this config or none yet."""
    make_folder(folder)
    lock = FileLock(folder / _LOCK)
    with _told(folder):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise StorageError(f"Another process works on the run in {folder}; wait for it.") from None
    try:
        with _told(folder):
            _check_config(folder, config)
        yield
    finally:
        lock.release()


def _check_config(folder: Path, config: Mapping[str, Any]) -> None:
    wanted = json.loads(json.dumps(config))
    file = folder / _CONFIG
    if not file.exists():
        _write_json(file, {"begun": _now(), "versions": _versions(), "config": wanted})
        return
    try:
        begun = json.loads(file.read_text(encoding="utf-8"))["config"]
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{file} is damaged; remove {folder} to begin the run anew.") from error
    if begun != wanted:
        other = next(key for key in {**begun, **wanted} if begun.get(key) != wanted.get(key))
        was, now = (
            one_line(json.dumps(held.get(other), ensure_ascii=False), 60) for held in (begun, wanted)
        )
        raise StorageError(
            f"The run in {folder} was begun with another {other} ({was}, now {now}); "
            "use the same, or another folder."
        )


def _append_line(folder: Path, key: str, value: Any) -> int:
    """Write an item behind the others, whole or not at all; gives where it begins."""
    line = (json.dumps({"key": key, "value": value}, ensure_ascii=False) + "\n").encode()
    # Without a buffer, which would write on when the file is closed after a failure.
    with _told(folder), (folder / _ITEMS).open("ab", buffering=0) as file:
        place = file.tell()
        try:
            left = memoryview(line)
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError:
            # What follows must not be glued to half a line.
            with contextlib.suppress(OSError):
                os.ftruncate(file.fileno(), place)
            raise
    return place


def _cut_torn_line(file: Path) -> None:
    """Remove a last line that was cut off by a kill."""
    if not file.exists():
        return
    with file.open("rb+") as items:
        end = items.seek(0, os.SEEK_END)
        whole = end
        while whole > 0:
            begin = max(0, whole - _BLOCK)
            items.seek(begin)
            newline = items.read(whole - begin).rfind(b"\n")
            if newline >= 0:
                whole = begin + newline + 1
                break
            whole = begin
        if whole != end:
            items.truncate(whole)


def _read_lines(file: Path) -> Iterator[tuple[int, str, Any]]:
    """The items on disk, each with its place and its key."""
    if not file.exists():
        return
    place = 0
    with _told(file.parent), file.open("rb") as lines:
        for line in lines:
            key, value = _item(line, file)
            yield place, key, value
            place += len(line)


def _item(line: bytes, file: Path) -> tuple[str, Any]:
    try:
        item = json.loads(line)
        key, value = item["key"], item["value"]
        if not isinstance(key, str):
            raise TypeError(key)
    except (ValueError, KeyError, TypeError) as error:
        shown = one_line(line.decode("utf-8", "replace"), 40)
        raise StorageError(f"{file} is damaged ({shown!r}); remove that line.") from error
    return key, value


def _write_manifest(folder: Path, results: Mapping[str, Any]) -> None:
    with _told(folder):
        _write_json(folder / _MANIFEST, {"finished": _now(), **results})


def _write_json(file: Path, value: Any) -> None:
    """Whole or not at all."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    part.replace(file)


@contextlib.contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"The run's folder {folder} cannot be written ({error.strerror}); free it, or name another."
        ) from error


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _RECORDED:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
