"""Look the packages of locks up in the advisories, and say so if the advisories cannot be reached.

    python .ci/audit.py PIP_AUDIT LOCK…

Exits with 1 only if a package has a known vulnerability.
"""

import json
import subprocess
import sys
from typing import Any


def main(pip_audit: str, locks: list[str]) -> int:
    """Audit the locks, and return the exit status."""
    wanted = [part for lock in locks for part in ("--requirement", lock)]
    options = [
        "--disable-pip",
        "--no-deps",
        "--progress-spinner",
        "off",
        "--format",
        "json",
        "--timeout",
        "15",
    ]
    done = subprocess.run([pip_audit, *options, *wanted], capture_output=True, text=True, check=False)
    lines, vulnerable = report(done.stdout, done.stderr)
    print("\n".join(lines))
    return int(vulnerable)


def report(output: str, errors: str) -> tuple[list[str], bool]:
    """What pip-audit found, as lines, and whether a package is vulnerable.

    Args:
        output: its JSON.
        errors: what it wrote besides.
    """
    try:
        packages: list[dict[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = (errors.strip().splitlines() or ["no output"])[-1]
        return [f"Not audited: pip-audit reached no advisories ({reason[:200]}). This is no pass."], False
    lines = []
    for package in packages:
        for found in package.get("vulns", ()):
            fixed = ", ".join(found.get("fix_versions") or ()) or "no version yet"
            lines.append(f"{package['name']} {package['version']}: {found['id']}, fixed in {fixed}")
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    audited = len(packages) - len(skipped)
    vulnerable = bool(lines)
    lines.append(f"Audited {audited} of {len(packages)} packages.")
    if skipped:
        names = ", ".join(skipped[:5]) + (", …" if len(skipped) > 5 else "")
        lines.append(f"Not audited, which is no pass: {names}.")
    return lines, vulnerable


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
