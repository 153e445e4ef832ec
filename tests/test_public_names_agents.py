"""What `import rolellm_agents` offers, and what it does not load."""

import ast
import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rolellm_agents
from rolellm_agents import errors

HEAVY = (
    "torch",
    "transformers",
    "chromadb",
    "llama_cpp",
    "textual",
    "langgraph",
    "langchain_core",
    "pydantic",
    "numpy",
)

SOURCE = ast.parse(Path(rolellm_agents.__file__).read_text(encoding="utf-8"))


def names_for_type_checkers() -> dict[str, str]:
    """Each name that `if TYPE_CHECKING:` imports, with its module."""
    found: dict[str, str] = {}
    for node in ast.walk(SOURCE):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rolellm_agents."):
            found |= {alias.asname or alias.name: node.module for alias in node.names}
    return found


def loaded_by(program: str) -> set[str]:
    """The top-level modules that a fresh Python has after running this."""
    code = f"{program}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def isort_style(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each by the alphabet."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_the_public_names_are_these_each_once_and_sorted() -> None:
    names = list(rolellm_agents.__all__)
    assert names == sorted(set(names), key=isort_style)
    assert not [name for name in names if name.startswith("_")]


def test_type_checkers_see_exactly_the_public_names() -> None:
    assert set(names_for_type_checkers()) == set(rolellm_agents.__all__)


@pytest.mark.parametrize("name", rolellm_agents.__all__)
def test_a_public_name_is_what_type_checkers_take_it_for(name: str) -> None:
    home = import_module(names_for_type_checkers()[name])
    assert getattr(rolellm_agents, name) is getattr(home, name)
    documented = getattr(rolellm_agents, name)
    assert not callable(documented) or inspect.getdoc(documented)


def test_all_names_come_with_a_star() -> None:
    names: dict[str, object] = {}
    exec("from rolellm_agents import *", names)  # noqa: S102  # a star may not stand in a function
    assert set(names) - {"__builtins__"} == set(rolellm_agents.__all__)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'rolellm_agents' has no attribute 'get_modle'"):
        rolellm_agents.get_modle  # noqa: B018
    assert not hasattr(rolellm_agents, "find_persona")


@pytest.mark.core
def test_importing_the_package_loads_nothing_heavy() -> None:
    before = loaded_by("pass")
    loaded = loaded_by("import rolellm_agents") - before
    assert "rolellm_agents" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_reading_a_persona_and_settings_loads_no_model_and_no_screen() -> None:
    loaded = loaded_by(
        "from rolellm_agents import load_persona, list_personas\n"
        "from rolellm_agents.config.settings import load_settings\n"
        "load_persona('sherlock-holmes'); list_personas(); load_settings()"
    )
    assert "pydantic" in loaded
    assert loaded.isdisjoint(set(HEAVY) - {"pydantic"})


def test_every_error_of_ours_can_be_caught_as_one() -> None:
    ours = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if kind.__module__ == errors.__name__
    ]
    assert len(ours) > 1
    assert all(
        issubclass(kind, rolellm_agents.RoleLLMError) and kind.__name__.endswith("Error") for kind in ours
    )
