"""README and documentation: the Python code passes `mypy --strict` without a plugin, as readers run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("", "graphs", "personas", "train", "tui")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def programs(page: Path) -> list[str]:
    """The code of a page: one program on a page about an extension, else one for each block."""
    found = CODE.findall(page.read_text(encoding="utf-8"))
    return ["\n\n".join(found)] if found and page.parent.name == "extending" else found


@pytest.mark.slow
@pytest.mark.timeout(1200)  # mypy reads all of LangChain the first time
def test_the_code_of_the_pages_passes_mypy(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    count = 0
    for page in PAGES:
        stem = re.sub(r"\W", "_", page.relative_to(ROOT).with_suffix("").as_posix())
        for number, code in enumerate(programs(page)):
            (tmp_path / f"{stem}_{number}.py").write_text(code, encoding="utf-8")
            count += 1
    assert count >= 14
    checked = subprocess.run(
        (
            *(sys.executable, "-m", "mypy", "--config-file=", "--strict", "--hide-error-context"),
            # As for an installed package, errors inside our own are none of the reader's.
            *("--follow-imports=silent", f"--cache-dir={ROOT / '.mypy_cache' / 'pages'}", tmp_path),
        ),
        env={**os.environ, "MYPYPATH": os.pathsep.join(str(ROOT / source) for source in SOURCES)},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
