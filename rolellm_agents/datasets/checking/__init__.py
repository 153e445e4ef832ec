"""Check a data set: its form, its answers, and whether its test is known from training."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolellm_agents.datasets.checking.files import see_file
from rolellm_agents.datasets.checking.finding import DatasetFinding, Findings
from rolellm_agents.datasets.checking.leaks import check_leaks
from rolellm_agents.datasets.checking.within import (
    check_baselines,
    check_copies,
    check_numbers,
    check_repeats,
    check_roles,
    check_types,
)
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.profiles import profile_names
from rolellm_agents.datasets.sources import source_files
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text.language import Language

__all__ = ["DatasetFinding", "DatasetReport", "check_source"]


@dataclass(frozen=True)
class DatasetReport:
    """What was checked, and what was found."""

    files: Mapping[str, int]
    """The rows that could be read, by file."""
    findings: tuple[DatasetFinding, ...]

    @property
    def is_usable(self) -> bool:
        """Nothing leaks, and every row can be read."""
        return not any(finding.severity in ("leak", "schema") for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """For programs, with everything that was found."""
        return {
            "usable": self.is_usable,
            "files": dict(self.files),
            "findings": [finding.as_json() for finding in self.findings],
        }


def check_source(source: Path, cast: Mapping[str, Language]) -> DatasetReport:
    """Check a file, a folder in RoleBench's layout or a run's.

    Args:
        source: what is checked.
        cast: the personas there are, by name, with the language they speak; roles may also have a profile
            beside the data (`profiles-*/desc.json`).

    Raises:
        RoleBenchError: the source cannot be read, or holds no row that could be.
    """
    findings = Findings()
    known = {role_key(name): language for name, language in cast.items()}
    files = [see_file(file, known, findings) for file in source_files(source)]
    if not any(file.rows for file in files):
        raise RoleBenchError(f"{source} holds no samples; name a JSONL file of RoleBench.")
    for file in files:
        check_repeats(file, findings)
        check_numbers(file, findings)
    check_types(files, findings)
    check_roles(files, {*known, *map(role_key, profile_names(source))}, findings)
    check_copies(files, findings)
    check_baselines(files, findings)
    check_leaks(files, findings)
    return DatasetReport({file.name: len(file.rows) for file in files}, tuple(findings))
