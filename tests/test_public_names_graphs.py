"""What other programs may import: it is there, it is explained, it is typed, and it costs little."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

PACKAGES = (
    "rolellm_agents",
    "rolellm_agents.cards",
    "rolellm_agents.recall",
    "rolellm_agents.transcript",
    "rolellm_graphs",
)
DISTRIBUTED = ("rolellm_agents", "rolellm_graphs", "rolellm_personas", "rolellm_train", "rolellm_tui")
HEAVY = ("chromadb", "llama_cpp", "numpy", "openai", "torch", "transformers")
NAMES = [(package, name) for package in PACKAGES for name in import_module(package).__all__]


def home_of(package: str, name: str) -> str:
    """The module that a package takes a name from."""
    tree = ast.parse(Path(str(import_module(package).__file__)).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return str(node.module)
    return package


def explained(module: str) -> Iterator[str]:
    """The module's own constants and type aliases that a string follows."""
    tree = ast.parse(Path(str(import_module(module).__file__)).read_text(encoding="utf-8"))
    for node, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id
            if isinstance(node, ast.Assign):
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def docstring(found: Any, name: str) -> str:
    """Its own, as somebody wrote it: dataclasses and named tuples make one of their fields."""
    own = found.__dict__.get("__doc__") if inspect.isclass(found) else found.__doc__
    return "" if own is None or own.startswith(f"{name}(") else own.strip()


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_every_public_name_is_there_and_explained(package: str, name: str) -> None:
    found = getattr(import_module(package), name)
    if inspect.isclass(found) or inspect.isfunction(found):
        assert docstring(found, name)
    else:
        home = home_of(package, name)
        while (further := home_of(home, name)) != home:
            home = further
        assert name in set(explained(home))


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_is_explained_and_names_nothing_twice(package: str) -> None:
    names = import_module(package).__all__
    assert len(set(names)) == len(names)
    assert import_module(package).__doc__


@pytest.mark.parametrize("package", DISTRIBUTED)
def test_every_package_is_typed(package: str) -> None:
    assert (files(package) / "py.typed").is_file()


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_loads_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}; print([name for name in {HEAVY} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
