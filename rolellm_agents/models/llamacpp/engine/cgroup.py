"""What a control group grants this process: containers, systemd units and batch systems set such limits.

Both versions of Linux's control groups are read, from the process's own group up to the root, since the
smallest limit on the way counts (`Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/`). Elsewhere, and
where nothing is limited, the answer is None.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_UNLIMITED = 2**60
"""Bytes; version 1 writes its largest number where nothing is limited."""


class _Groups(NamedTuple):
    """Folders of the process's group and of those above it, the nearest first."""

    unified: list[Path]
    """Version 2."""
    cpu: list[Path]
    memory: list[Path]


def processor_quota(root: Path = Path("/")) -> float | None:
    """How many processors' time the process may use, which may be a fraction; None without a limit.

    Args:
        root: where `proc` and `sys` lie.
    """
    groups = _groups(root)
    quotas = [_quota_2(folder) for folder in groups.unified] + [_quota_1(folder) for folder in groups.cpu]
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_left(root: Path = Path("/")) -> int | None:
    """Bytes the process may still take before the kernel ends it; None without a limit.

    File pages that nobody uses count as free: the kernel drops them first.

    Args:
        root: where `proc` and `sys` lie.
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
    """The group's folder and those above it; in a container the mount itself may be the group."""
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
