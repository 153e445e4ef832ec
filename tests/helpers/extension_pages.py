"""The code of a page in docs/extending, and a package that is made of it."""

import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).parents[2] / "docs" / "extending"


class Page:
    """A page's code: what a reader writes, how it is used, further uses, and how it is given a name."""

    def __init__(self, name: str) -> None:
        text = (DOCS / f"{name}.md").read_text()
        self.module, self.use, *self.further = _blocks(text, "python")
        (toml,) = _blocks(text, "toml")
        self.groups: dict[str, dict[str, str]] = tomllib.loads(toml)["project"]["entry-points"]

    def run(self, *further: str) -> dict[str, Any]:
        """The names that the page's code leaves behind, run as one program.

        Args:
            further: code that follows what the page defines, in place of its first use.
        """
        module = ModuleType("my_package")
        exec(compile(self.module, "my_package.py", "exec"), module.__dict__)  # noqa: S102 - the page's code
        for code in further or (self.use,):
            exec(compile(code, "use.py", "exec"), module.__dict__)  # noqa: S102
        return vars(module)


def install(
    folder: Path, module: str, groups: dict[str, dict[str, str]], *, package: str = "my-package"
) -> None:
    """Write `my_package` into a folder as pip would, with its entry points."""
    folder.mkdir(exist_ok=True)
    (folder / "my_package.py").write_text(module)
    info = folder / f"{package.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    lines = [
        line
        for group, names in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in names.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
