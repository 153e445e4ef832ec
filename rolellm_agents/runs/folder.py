"""A run: one command's recorded work in a folder of its own, which resumes where it was stopped.

`config.json` holds the settings, and `items.jsonl` a line for each finished item, flushed as the item ends.
`manifest.json` is written last and says that the run is complete.
"""

import contextlib
import json
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

from rolellm_agents.config.paths import make_folder
from rolellm_agents.errors import StorageError
from rolellm_agents.files.appending import append_durably, cut_torn_line
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.one_writer import lock_in, one_writer
from rolellm_agents.text import one_line

_CONFIG, _ITEMS, _MANIFEST = "config.json", "items.jsonl", "manifest.json"
_RECORDED = ("rolellm-agents", "langgraph", "langchain-core", "llama-cpp-python", "transformers", "torch")


class Run:
    """An open run, as `open_run` returns it."""

    def __init__(self, folder: Path, items: dict[str, Any] | None = None) -> None:
        """Use a folder whose lock the caller holds.

        `items` are the finished items by their keys; None when they stay on disk.
        """
        self.folder = folder
        self.items = {} if items is None else items
        """The finished items by their keys; empty when they stay on disk."""
        self._in_memory = items is not None
        self._reader: BinaryIO | None = None

    def append(self, key: str, value: Any) -> int:
        """Record a finished item; it is on disk when this returns.

        Returns:
            The item's offset in bytes, for `read`.

        Raises:
            StorageError: the disk is full or read-only.
        """
        line = json.dumps({"key": key, "value": value}, ensure_ascii=False) + "\n"
        with _storage_errors(self.folder):
            offset = append_durably(self.folder / _ITEMS, line.encode())
        if self._in_memory:
            self.items[key] = value
        return offset

    def stored(self) -> Iterator[tuple[int, str, Any]]:
        """Offset, key and value of every item on disk, in the order of recording.

        An item that was recorded twice occurs twice.

        Raises:
            StorageError: a line is damaged.
        """
        return _read_lines(self.folder / _ITEMS)

    def read(self, offset: int) -> Any:
        """The item at an offset.

        Raises:
            StorageError: the file cannot be read.
        """
        with _storage_errors(self.folder):
            if self._reader is None:
                self._reader = (self.folder / _ITEMS).open("rb")
            self._reader.seek(offset)
            return json.loads(self._reader.readline())["value"]

    def finish(self, results: Mapping[str, Any]) -> None:
        """Write the manifest, which marks the run as complete.

        Raises:
            StorageError: the disk is full or read-only.
        """
        count = {"items": len(self.items)} if self._in_memory else {}
        with _storage_errors(self.folder):
            _write_json(self.folder / _MANIFEST, {"finished": _now(), **count, **results})

    def reopen(self) -> None:
        """Remove the manifest of a run that has new items to compute.

        Raises:
            StorageError: the folder is read-only.
        """
        with _storage_errors(self.folder):
            (self.folder / _MANIFEST).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file that `read` opened."""
        if self._reader is not None:
            self._reader.close()


@contextlib.contextmanager
def open_run(folder: Path, config: Mapping[str, Any], *, in_memory: bool = True) -> Iterator[Run]:
    """Start a run in `folder`, or resume the one that is there.

    Args:
        folder: created when it does not exist.
        config: everything that the items depend on, as JSON values; it must be the same on resuming.
        in_memory: load the finished items; False leaves them on disk.

    Raises:
        StorageError: the folder cannot be used, another process uses it, or its run has another config.
    """
    with _locked(folder, config):
        with _storage_errors(folder):
            cut_torn_line(folder / _ITEMS)
        stored = _read_lines(folder / _ITEMS)
        run = Run(folder, {key: value for _, key, value in stored} if in_memory else None)
        try:
            yield run
        finally:
            run.close()


@contextlib.contextmanager
def _locked(folder: Path, config: Mapping[str, Any]) -> Iterator[None]:
    """Lock the folder, and check or write its config."""
    make_folder(folder)
    way_out = "wait for it, or use another folder"
    with one_writer(lock_in(folder), folder, StorageError, way_out):
        with _storage_errors(folder):
            _check_config(folder, config)
        yield


def _check_config(folder: Path, config: Mapping[str, Any]) -> None:
    given = json.loads(json.dumps(config))
    file = folder / _CONFIG
    if not file.exists():
        _write_json(file, {"begun": _now(), "versions": _versions(), "config": given})
        return
    try:
        recorded = json.loads(file.read_text(encoding="utf-8"))["config"]
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{file} is damaged; remove {folder} to start the run again.") from error
    if recorded != given:
        other = next(key for key in {**recorded, **given} if recorded.get(key) != given.get(key))
        was, now = (
            one_line(json.dumps(values.get(other), ensure_ascii=False), 60) for values in (recorded, given)
        )
        raise StorageError(
            f"The run in {folder} was started with another {other} ({was}, now {now}); "
            "use the same value, or another folder."
        )


def _read_lines(file: Path) -> Iterator[tuple[int, str, Any]]:
    """Offset, key and value of the items on disk."""
    if not file.exists():
        return
    offset = 0
    with _storage_errors(file.parent), file.open("rb") as lines:
        for line in lines:
            key, value = _item(line, file)
            yield offset, key, value
            offset += len(line)


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


def _write_json(file: Path, value: Any) -> None:
    write_atomically(file, json.dumps(value, ensure_ascii=False, indent=2) + "\n", StorageError)


@contextlib.contextmanager
def _storage_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"The run's folder {folder} cannot be written ({error.strerror}); check permissions and "
            "free space, or name another."
        ) from error


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _RECORDED:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
