"""Check a data set: its schema, its answers, and leaks of its test into training."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolellm_agents.datasets.checking.files import scan_file
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
from rolellm_agents.datasets.paraphrases import Paraphrases
from rolellm_agents.datasets.profiles import profile_names
from rolellm_agents.datasets.sources import source_files
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text.language import Language

__all__ = ["DatasetFinding", "DatasetReport", "check_source"]


@dataclass(frozen=True)
class DatasetReport:
    """The result of a check."""

    files: Mapping[str, int]
    """Readable rows by file."""
    findings: tuple[DatasetFinding, ...]

    @property
    def is_usable(self) -> bool:
        """Whether there are no findings of severity `leak` or `schema`."""
        return not any(finding.severity in ("leak", "schema") for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "usable": self.is_usable,
            "files": dict(self.files),
            "findings": [finding.as_json() for finding in self.findings],
        }


def check_source(
    source: Path, cast: Mapping[str, Language], *, paraphrases: Paraphrases | None = None
) -> DatasetReport:
    """Check a file, a folder in RoleBench's layout or the folder of a run.

    Args:
        source: the file or folder.
        cast: the language of each known persona, by name. A role without a persona may have a profile
            beside the data (`profiles-*/desc.json`).
        paraphrases: finds test questions that training asks in other words; None does not look for them.

    Raises:
        RoleBenchError: the source cannot be read, or has no readable row.
    """
    findings = Findings()
    known = {role_key(name): language for name, language in cast.items()}
    files = [scan_file(file, known, findings) for file in source_files(source)]
    if not any(file.rows for file in files):
        raise RoleBenchError(f"{source} holds no samples; name a JSONL file of RoleBench.")
    for file in files:
        check_repeats(file, findings)
        check_numbers(file, findings)
    check_types(files, findings)
    check_roles(files, {*known, *map(role_key, profile_names(source))}, findings)
    check_copies(files, findings)
    check_baselines(files, findings)
    check_leaks(files, findings, paraphrases)
    return DatasetReport({file.name: len(file.rows) for file in files}, tuple(findings))
