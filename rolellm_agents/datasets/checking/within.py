"""Checks of a whole file, and of several files together."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from rolellm_agents.datasets.checking.files import ScannedFile
from rolellm_agents.datasets.checking.finding import Findings
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.sources import BASELINE


def check_repeats(file: ScannedFile, findings: Findings) -> None:
    """Find rows that repeat a question to the same role."""
    first: dict[tuple[str, str], int] = {}
    for row in file.rows:
        before = first.setdefault((row.role, row.question), row.line)
        if before != row.line:
            findings.add("repeated-row", file.name, row.line, row.question, f"{file.name}:{before}")


def check_numbers(file: ScannedFile, findings: Findings) -> None:
    """Find general rows with fewer answers than most, and roles with fewer test questions than most."""
    if file.source.part == BASELINE:
        return
    general = [row for row in file.rows if row.kind == "general"]
    usual = _most(Counter(row.number for row in general))
    for row in general:
        if 0 < row.number < usual:
            shown = f"{row.number}, most have {usual}: {row.question}"
            findings.add("fewer-answers", file.name, row.line, shown)
    if file.source.part != "test":
        return
    asked = Counter(row.role for row in file.rows if row.kind == "role_specific")
    usual = _most(Counter(asked.values()))
    for role, number in asked.items():
        if number < usual:
            findings.add("uneven-roles", file.name, None, f"{role}: {number}, most have {usual}")


def check_types(files: Sequence[ScannedFile], findings: Findings) -> None:
    """Find role-specific rows whose `type` has another form than in most rows."""
    forms: Counter[str] = Counter()
    for file in files:
        if file.source.part != BASELINE:
            forms.update(row.type_form for row in file.rows if row.kind == "role_specific")
    if len(forms) < 2:
        return
    usual = forms.most_common(1)[0][0]
    for file in files:
        for row in file.rows:
            if row.kind == "role_specific" and row.type_form != usual and file.source.part != BASELINE:
                shown = f"a {row.type_form}, in most rows a {usual}: {row.question}"
                findings.add("mixed-type", file.name, row.line, shown)


def check_roles(files: Sequence[ScannedFile], profiles: Collection[str], findings: Findings) -> None:
    """Find roles without a profile or persona, and roles that are spelled in several ways.

    `profiles` has the keys of the role names that have a profile or a persona.
    """
    written: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for role in {row.role for row in file.rows}:
            written[role_key(role)].add(role)
    for file in files:
        for role in sorted({row.role for row in file.rows}):
            if role_key(role) not in profiles:
                findings.add("role-without-profile", file.name, None, role)
            if others := sorted(written[role_key(role)] - {role}):
                findings.add("role-spelling", file.name, None, f"{role}, elsewhere {', '.join(others)}")


def check_copies(files: Sequence[ScannedFile], findings: Findings) -> None:
    """Find files with the same lines."""
    first: dict[bytes, str] = {}
    for file in files:
        before = first.setdefault(file.content, file.name)
        if before != file.name:
            findings.add("copied-file", file.name, None, "every line is the same", before)


def check_baselines(files: Sequence[ScannedFile], findings: Findings) -> None:
    """Find test questions without RoleGPT's answer, and RoleGPT's answers without a test question."""
    baselines = {file.source.path.parent: file for file in files if file.source.part == BASELINE}
    for test in files:
        baseline = baselines.get(test.source.path.parent)
        if test.source.part != "test" or baseline is None:
            continue
        asked = {(row.role, row.question) for row in test.rows}
        answered = {(row.role, row.question) for row in baseline.rows}
        for rule, file, known in (
            ("test-without-baseline", test, answered),
            ("baseline-without-test", baseline, asked),
        ):
            for row in file.rows:
                if (row.role, row.question) not in known:
                    findings.add(rule, file.name, row.line, f"{row.role}: {row.question}")


def _most(numbers: Counter[int]) -> int:
    """The number that more than half of the items have; 0 when there is none."""
    if not numbers:
        return 0
    number, times = numbers.most_common(1)[0]
    return number if 2 * times > numbers.total() else 0
