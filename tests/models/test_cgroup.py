"""Limits of control groups, from files as Linux writes them."""

from pathlib import Path

import pytest

from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.engine import cgroup

GIB = 2**30


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="ascii")
    return root


def test_nothing_is_limited_where_there_are_no_groups(tmp_path: Path) -> None:
    assert cgroup.processor_quota(tmp_path) is None
    assert cgroup.memory_left(tmp_path) is None


def test_the_smallest_limit_on_the_way_up_counts(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user.slice/app.service\n",
            "sys/fs/cgroup/user.slice/app.service/cpu.max": "max 100000\n",
            "sys/fs/cgroup/user.slice/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/user.slice/app.service/memory.max": f"{2 * GIB}\n",
            "sys/fs/cgroup/user.slice/app.service/memory.current": f"{GIB}\n",
            "sys/fs/cgroup/user.slice/app.service/memory.stat": f"anon 5\ninactive_file {GIB // 2}\n",
            "sys/fs/cgroup/user.slice/memory.max": "max\n",
            "sys/fs/cgroup/user.slice/memory.current": f"{GIB}\n",
        },
    )
    assert cgroup.processor_quota(root) == 1.5
    assert cgroup.memory_left(root) == 2 * GIB - GIB // 2


def test_a_container_sees_its_own_group_as_the_root(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.max": "50000 100000\n",
            "sys/fs/cgroup/memory.max": f"{GIB}\n",
            "sys/fs/cgroup/memory.current": f"{3 * GIB}\n",
        },
    )
    assert cgroup.processor_quota(root) == 0.5
    assert cgroup.memory_left(root) == 0


def test_version_1_has_a_folder_for_each_controller(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/box\n2:cpu,cpuacct:/box\n0::/\n",
            "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "300000\n",
            "sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/box/memory.limit_in_bytes": f"{GIB}\n",
            "sys/fs/cgroup/memory/box/memory.usage_in_bytes": f"{GIB // 4}\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
        },
    )
    assert cgroup.processor_quota(root) == 3
    assert cgroup.memory_left(root) == GIB - GIB // 4


@pytest.mark.parametrize(("quota", "processors"), [(0.5, 1), (1.9, 1), (2.0, 2), (None, 8), (64.0, 8)])
def test_a_quota_bounds_the_processors(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, processors: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(cgroup, "processor_quota", lambda: quota)
    assert library.processors() == processors
