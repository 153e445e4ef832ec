"""`--help` of everything, and what it may not load."""

import importlib.metadata
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from helpers.commands import rolellm
from typer.main import get_command

from rolellm_tui.cli.main import app

HEAVY = ("torch", "transformers", "chromadb", "llama_cpp", "textual", "langgraph", "pydantic")
TYPERS_OWN = "pydantic"
"""Typer itself imports it to read the types of a command's parameters."""

ASK_ALL = f"""
import io, json, sys
from contextlib import redirect_stdout
import rolellm_agents
from rolellm_tui.cli.main import app

told = {{}}
loaded = {{}}
for command in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as shown:
        try:
            app([*command.split(), "--help"], prog_name="rolellm")
        except SystemExit as end:
            told[command] = (end.code, shown.getvalue())
    loaded[command] = [name for name in {HEAVY!r} if name in sys.modules]
print(json.dumps((told, loaded)))
"""
"""A program that asks each command for its help, and tells which heavy packages are loaded after it."""

# Click's own classes are private in Typer; what is used of them here is the same in both.
ROOT: Any = get_command(app)


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command and group below `group`, itself included, by what is typed for it."""
    yield " ".join(path), group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


ALL = dict(commands(ROOT))
LEAVES = [name for name, command in ALL.items() if not hasattr(command, "commands") and not command.hidden]


@cache
def asked() -> tuple[dict[str, tuple[int, str]], dict[str, list[str]]]:
    """What all of them answer, and what that loaded, in one fresh process."""
    told = subprocess.run(
        (sys.executable, "-c", ASK_ALL, json.dumps(list(ALL))),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    helps, loaded = json.loads(told.stdout)
    return helps, loaded


def examples(text: str) -> list[str]:
    """The command lines under “Example:” or “Examples:”."""
    found: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip() in ("Example:", "Examples:"):
            for example in lines:
                if not example.strip():
                    break
                found.append(example.strip())
    return found


def test_the_commands_are_those_that_the_readme_of_a_user_needs() -> None:
    assert set(LEAVES) >= {
        *("chat", "say", "doctor", "persona list", "persona show", "models list"),
        *("history list", "history show", "bench start", "bench turn"),
    }


def test_no_help_loads_anything_heavy() -> None:
    _, loaded = asked()

    assert list(loaded) == list(ALL)
    assert loaded.pop("") == []
    assert set().union(*loaded.values()) <= {TYPERS_OWN}


@pytest.mark.core
@pytest.mark.parametrize("name", ALL)
def test_every_help_says_how_it_is_used_and_lists_its_options(name: str) -> None:
    code, text = asked()[0][name]

    assert code == 0
    assert text.startswith(" ".join(("Usage: rolellm", name)).rstrip())
    assert "-h, --help" in text
    for sub, command in getattr(ALL[name], "commands", {}).items():
        assert command.hidden or f"\n  {sub}" in text
    for parameter in ALL[name].params:
        shown = parameter.opts[0] if parameter.param_type_name == "option" else f"  {parameter.name} "
        assert shown in text or f"  {parameter.name}... " in text


@pytest.mark.core
@pytest.mark.parametrize("name", ["", *LEAVES])
def test_every_command_has_examples_that_it_understands(name: str) -> None:
    shown = examples(asked()[0][name][1])

    assert shown
    for example in shown:
        words = shlex.split(example.rpartition("|")[2])
        assert words[0] == "rolellm"
        assert " ".join(words[1:]).startswith(name)
        # Parsing ends with an error on an unknown command, option or value.
        context = ROOT.make_context("rolellm", words[1:])
        while hasattr(context.command, "commands"):
            sub, command, rest = context.command.resolve_command(
                context, [*context._protected_args, *context.args]
            )
            context = command.make_context(sub, rest, parent=context)


@pytest.mark.core
def test_the_version_is_the_installed_one() -> None:
    said = rolellm("--version")

    assert (said.returncode, said.stdout, said.stderr) == (
        0,
        importlib.metadata.version("rolellm-agents") + "\n",
        "",
    )


@pytest.mark.core
def test_the_command_alone_shows_its_help_and_counts_as_wrong_usage() -> None:
    alone = rolellm()

    assert (alone.returncode, alone.stdout) == (2, "")
    assert alone.stderr.splitlines()[1:] == rolellm("-h").stdout.splitlines()[1:]
