"""Limits of Linux control groups, which containers, systemd units and batch systems set.

This module reads both versions of control groups, from the process's own group up to the root, because the
smallest limit applies (`Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/`). On other systems, and
without limits, the functions return None.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_UNLIMITED = 2**60
"""Bytes from which a limit counts as none; version 1 has a very large number instead of no limit."""


class _Groups(NamedTuple):
    """Folders of the process's group and its ancestors, the nearest first."""

    unified: list[Path]
    """Version 2."""
    cpu: list[Path]
    memory: list[Path]


def processor_quota(root: Path = Path("/")) -> float | None:
    """How many processors the process may use, possibly a fraction; None without a limit.

    Args:
        root: the folder that contains `proc` and `sys`.
    """
    groups = _groups(root)
    quotas = [_quota_2(folder) for folder in groups.unified] + [_quota_1(folder) for folder in groups.cpu]
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_left(root: Path = Path("/")) -> int | None:
    """Bytes that the process may still allocate before the kernel kills it; None without a limit.

    Inactive file pages count as free, because the kernel drops them first.

    Args:
        root: the folder that contains `proc` and `sys`.
    """
    groups = _groups(root)
    left = [
        _left(folder / "memory.max", folder / "memory.current", folder / "memory.stat", "inactive_file")
        for folder in groups.unified
    ] + [
        _left(
            folder / "memory.limit_in_bytes",
            folder / "memory.usage_in_bytes",
            folder / "memory.stat",
            "total_inactive_file",
        )
        for folder in groups.memory
    ]
    return min((bytes_left for bytes_left in left if bytes_left is not None), default=None)


def _groups(root: Path) -> _Groups:
    groups = _Groups([], [], [])
    mounted = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            groups.unified.extend(_upwards(mounted, path))
        if "cpu" in controllers.split(","):
            groups.cpu.extend(_upwards(mounted / "cpu", path))
        if "memory" in controllers.split(","):
            groups.memory.extend(_upwards(mounted / "memory", path))
    return groups


def _upwards(mounted: Path, path: str) -> Iterator[Path]:
    """The folders of the group and its ancestors; in a container the mount may be the group."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for length in range(len(parts), -1, -1):
        yield mounted.joinpath(*parts[:length])


def _quota_2(folder: Path) -> float | None:
    quota, _, period = _read(folder / "cpu.max").strip().partition(" ")
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() else None


def _quota_1(folder: Path) -> float | None:
    quota, period = (_number(folder / name) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
    return quota / period if quota is not None and period else None


def _left(limit: Path, usage: Path, statistics: Path, unused: str) -> int | None:
    most, used = _number(limit), _number(usage)
    if most is None or used is None or most >= _UNLIMITED:
        return None
    for line in _read(statistics).splitlines():
        name, _, value = line.partition(" ")
        if name == unused and value.isdecimal():
            used -= int(value)
    return max(0, most - max(0, used))


def _number(file: Path) -> int | None:
    content = _read(file).strip()
    return int(content) if content.isdecimal() else None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
