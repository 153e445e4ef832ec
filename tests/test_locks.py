"""The locks have the pinned versions, with hashes, and everything that the project needs."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "locks").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
UNLOCKED = {"torch"}
"""Comes in several builds of one version (docs/design/dependencies.md)."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", text, re.MULTILINE)
    return {normal(name): version for name, version in found}


def locked(name: str) -> dict[str, str]:
    return pins((ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8"))


def named(requirements: list[str | dict[str, str]]) -> set[str]:
    # A group that includes another has a table in its list; the other is looked at by itself.
    names = (re.match(r"[A-Za-z0-9._-]+", one) for one in requirements if isinstance(one, str))
    return {normal(name.group()) for name in names if name} - {"rolellm-agents"} - UNLOCKED


CONSTRAINED = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_each_package_has_hashes_and_nothing_says_where_it_comes_from(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
    entries = re.split(r"\n(?=\S)", text.strip())
    assert entries
    for entry in entries:
        first, *hashes = (line.rstrip(" \\") for line in entry.splitlines())
        assert re.fullmatch(r"[a-z0-9._-]+==[^\s;]+( ; .+)?", first)
        assert hashes
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", one) for one in hashes)


@pytest.mark.parametrize(
    "lock", [one for one in LOCKS if one.stem != "fuzz-server"], ids=lambda lock: lock.stem
)
def test_the_versions_are_those_of_the_constraints(lock: Path) -> None:
    versions = pins(lock.read_text(encoding="utf-8"))
    others = {
        name: version for name, version in versions.items() if CONSTRAINED.get(name, version) != version
    }
    assert others == {}


def test_each_package_of_the_project_is_locked() -> None:
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    extras = project["optional-dependencies"]
    base = named(project["dependencies"])
    assert base <= locked("base").keys()
    assert (
        base
        | named([*extras["hf"], *extras["serve"], *groups["test-graphs"], *groups["test"], *groups["lint"]])
        <= locked("dev").keys()
    )
    for group in groups.keys() - {"test-graphs", "test", "lint"}:
        assert named(groups[group]) <= locked(group).keys()


def test_torch_is_installed_by_its_pinned_version_and_is_in_no_lock() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"torch=={CONSTRAINED['torch']}" in makefile
    for lock in LOCKS:
        assert "torch" not in pins(lock.read_text(encoding="utf-8"))


@pytest.fixture
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("output", ["", "no JSON", "[]", "{}"])
def test_an_audit_without_advisories_is_told_and_is_no_failure(audit: ModuleType, output: str) -> None:
    lines, vulnerable = audit.report(output, "warning\nConnection refused\n")
    assert lines == ["Not audited: pip-audit reached no advisories (Connection refused). This is no pass."]
    assert not vulnerable


def test_an_audit_tells_what_is_vulnerable_and_what_was_skipped(audit: ModuleType) -> None:
    output = (
        '{"dependencies": [{"name": "a", "version": "1", "vulns": '
        '[{"id": "CVE-1", "fix_versions": ["2"]}]},'
        ' {"name": "b", "version": "1", "vulns": []}, {"name": "c", "skip_reason": "not found"}]}'
    )
    lines, vulnerable = audit.report(output, "")
    assert lines == [
        "a 1: CVE-1, fixed in 2",
        "Audited 2 of 3 packages.",
        "Not audited, which is no pass: c.",
    ]
    assert vulnerable
