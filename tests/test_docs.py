"""What the documentation shows works as it stands there, and what it names exists."""

import ast
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import Settings
from rolellm_agents.models.catalog import PROVIDERS
from rolellm_agents.models.names import named_models
from rolellm_agents.persona import load_persona
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.scene import load_scene
from rolellm_tui.cli.main import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [page for page in PAGES if page.parent.name not in {"reports", "site"}]
SOURCES = ("", "docs", "rolellm_agents", "graphs/rolellm_graphs", "train/rolellm_train", "tui/rolellm_tui")


def blocks(page: Path, *languages: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for kind, code in found if kind in languages]


def guide(name: str) -> Path:
    return DOCS / "guides" / f"{name}.md"


GUIDES_PYTHON = [
    pytest.param(code, id=f"{page.stem}-{number}")
    for page in sorted((DOCS / "guides").glob("*.md"))
    for number, code in enumerate(blocks(page, "python"))
]


@pytest.mark.parametrize("code", GUIDES_PYTHON)
def test_each_python_example_of_the_guides_runs_and_prints(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(code, "guide.md", "exec"), {"__name__": "guide"})  # noqa: S102
    assert capsys.readouterr().out.strip()


def test_the_guides_have_seven_python_examples() -> None:
    assert len(GUIDES_PYTHON) == 7


def python_blocks() -> list[Any]:
    return [
        pytest.param(code, id=f"{page.relative_to(ROOT)}-{number}")
        for page in PAGES
        for number, code in enumerate(blocks(page, "python"))
    ]


@pytest.mark.parametrize("code", python_blocks())
def test_each_python_block_compiles_and_its_imports_exist(code: str) -> None:
    for statement in ast.walk(ast.parse(code)):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("rolellm"):
            module = import_module(statement.module or "")
            assert all(hasattr(module, name.name) for name in statement.names)


def test_the_models_toml_example_is_read() -> None:
    file = user_paths().models_file
    file.parent.mkdir(parents=True)
    file.write_text(blocks(guide("models"), "toml")[0], encoding="utf-8")
    assert named_models()["workstation"].options["temperature"] == 0.8


def first_cells(name: str) -> set[str]:
    return set(re.findall(r"^\| `([^`]+)`", guide(name).read_text(encoding="utf-8"), re.MULTILINE))


def test_every_strategy_is_explained() -> None:
    assert set(STRATEGIES) <= first_cells("embedding")


def test_every_provider_is_explained() -> None:
    named = {spec.partition(":")[0] for spec in first_cells("models") if ":" in spec}
    assert set(PROVIDERS) - {"scripted"} <= named


def test_every_setting_is_explained() -> None:
    assert set(Settings.model_fields) <= first_cells("command-line")


def test_the_scene_example_is_a_scene(tmp_path: Path) -> None:
    file = tmp_path / "the-letter.yaml"
    file.write_text(blocks(guide("scenes"), "yaml")[0], encoding="utf-8")
    assert set(load_scene(file).seats) == {"sherlock-holmes", "james-bond", "visitor"}


def test_the_persona_example_is_a_persona(tmp_path: Path) -> None:
    file = tmp_path / "ada-crane.yaml"
    file.write_text(blocks(guide("personas"), "yaml")[0], encoding="utf-8")
    persona = load_persona(file)
    assert persona.name == "Ada Crane"
    keys = set(re.findall(r"`(\w+)`", " ".join(first_column("personas"))))
    assert set(yaml.safe_load(file.read_text(encoding="utf-8"))) <= keys == set(type(persona).model_fields)


def first_column(name: str) -> list[str]:
    lines = guide(name).read_text(encoding="utf-8").splitlines()
    return [line.split("|")[1] for line in lines if line.startswith("| `")]


COMMANDS: Any = typer.main.get_command(app)


def commands_shown() -> list[Any]:
    """Each line of the pages' shell blocks that calls `rolellm`, with its page.

    `experiments.md` is left out: it records what was run, options that have gone since included.
    """
    found = []
    for page in PAGES:
        lines = "\n".join(blocks(page, "sh", "bash")).replace("\\\n", " ").splitlines()
        for line in lines if page.name != "experiments.md" else ():
            command = re.search(r"(?:^|[ )/])rolellm (.*)$", line)
            if command and not line.lstrip().startswith("#"):
                found.append(pytest.param(command[1], id=f"{page.stem}: {command[1][:50]}"))
    return found


@pytest.mark.parametrize("line", commands_shown())
def test_each_command_shown_exists_with_its_options(line: str) -> None:
    words = shlex.split(line, comments=True)
    command: Any = COMMANDS
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    is_group = hasattr(command, "commands") and not command.invoke_without_command
    assert not is_group, f"{line!r} names no command"
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert given <= known | {"--help"}


MODULE = re.compile(r"(?<![/\w])rolellm_(?:agents|graphs|train|tui|speed)(?:\.\w+)+")
FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|yaml|tcss|css|sh))`")


USERS_OWN = {"commands.yaml"}
"""Files that only a user's folder has."""


def design_pages() -> list[Any]:
    pages = [DOCS / "glossary.md", *sorted((DOCS / "design").glob("*.md")), ROOT / "CONTRIBUTING.md"]
    return [pytest.param(page, id=page.name) for page in pages]


@pytest.mark.parametrize("page", design_pages())
def test_every_file_named_on_a_design_page_exists(page: Path) -> None:
    named = set(FILE.findall(page.read_text(encoding="utf-8"))) - USERS_OWN
    missing = [name for name in sorted(named) if not is_file(name)]
    assert not missing


def is_file(name: str) -> bool:
    """Whether a path, or a file name or the end of a path inside a package, exists."""
    if any((ROOT / source / name).is_file() for source in SOURCES):
        return True
    return any(path.as_posix().endswith("/" + name) for path in source_files())


_FILES: list[Path] = []


def source_files() -> list[Path]:
    if not _FILES:
        folders = ("rolellm_agents", "graphs", "train", "tui", "personas", "tests", "docs")
        _FILES.extend(file for folder in folders for file in (ROOT / folder).rglob("*.*"))
    return _FILES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not [name for name in set(MODULE.findall(text)) if not exists(name)]


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    module, _, attribute = name.rpartition(".")
    try:
        import_module(name)
    except ModuleNotFoundError:
        try:
            return hasattr(import_module(module), attribute)
        except ModuleNotFoundError:
            return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]
