"""A run: one long command's recorded work, in a folder of its own, that goes on where it was stopped.

`config.json` holds the settings it was begun with, `items.jsonl` a line for each finished item, written and
flushed as it ends, and `manifest.json`, written last, says that the run is complete.
"""

import contextlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from rolellm_agents.errors import StorageError
from rolellm_agents.paths import make_folder
from rolellm_agents.text import one_line

_CONFIG, _ITEMS, _MANIFEST, _LOCK = "config.json", "items.jsonl", "manifest.json", ".lock"
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
        line = json.dumps({"key": key, "value": value}, ensure_ascii=False)
        with _told(self.folder), (self.folder / _ITEMS).open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.items[key] = value

    def finish(self, results: Mapping[str, Any]) -> None:
        """Write the manifest: the run is complete.

        Raises:
            StorageError: the disk is full or read-only.
        """
        about = {"finished": _now(), "items": len(self.items), **results}
        with _told(self.folder):
            _write_json(self.folder / _MANIFEST, about)


@contextlib.contextmanager
def open_run(folder: Path, config: Mapping[str, Any]) -> Iterator[Run]:
    """Begin a run in `folder`, or go on with the one that is there.

    Args:
        folder: made when it does not exist.
        config: everything the items depend on, as JSON values; a run goes on only with the same.

    Raises:
        StorageError: the folder cannot be used, another process is at it, or its run has another config.
    """
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
            items = _read_items(folder / _ITEMS)
        yield Run(folder, items)
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


def _read_items(file: Path) -> dict[str, Any]:
    """The items on disk; a last line that was cut off by a kill is removed."""
    if not file.exists():
        return {}
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with file.open("rb+") as cut:
            cut.truncate(len(whole))
    items = {}
    for line in whole.decode("utf-8").split("\n")[:-1]:
        try:
            item = json.loads(line)
            items[item["key"]] = item["value"]
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{file} is damaged ({one_line(line, 40)!r}); remove that line.") from error
    return items


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
