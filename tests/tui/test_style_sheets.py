"""Style sheets name files and widgets by strings, which no type checker sees."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from textual import command, containers, screen, widgets
from textual.widgets import _footer, _select, _tabbed_content, _toast

import rolellm_tui

PACKAGE = Path(rolellm_tui.__file__).parent
SOURCES = [*PACKAGE.rglob("*.py")]
SHEETS = [*PACKAGE.rglob("*.tcss")]
TEXTUALS = (command, containers, screen, widgets, _footer, _select, _tabbed_content, _toast)
"""The modules whose widgets our sheets restyle."""


def _exists(name: str) -> bool:
    return name in _classes() or any(hasattr(module, name) for module in TEXTUALS)


@cache
def _classes() -> frozenset[str]:
    trees = [ast.parse(source.read_text(encoding="utf-8")) for source in SOURCES]
    return frozenset(
        node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_style_sheet_of_a_screen_exists(source: Path) -> None:
    for name in re.findall(r'CSS_PATH = "([^"]+)"', source.read_text(encoding="utf-8")):
        assert (source.parent / name).is_file(), name


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.name)
def test_every_widget_that_a_style_sheet_names_exists(sheet: Path) -> None:
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
    named = {
        name
        for selector in re.findall(r"([^{};]+)\{", rules)
        for name in re.findall(r"(?<![\w.#$:-])([A-Z]\w+)", selector)
    }
    assert [name for name in named if not _exists(name)] == []


@pytest.mark.parametrize("sheet", [*(PACKAGE / "screens").glob("*.tcss")], ids=lambda path: path.name)
def test_a_rule_for_an_id_applies_to_no_other_screen(sheet: Path) -> None:
    """Textual applies the sheet of a screen to the whole app."""
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
    everywhere = {
        name
        for selectors in re.findall(r"^(\S[^{};]*)\{", rules, flags=re.MULTILINE)
        for selector in selectors.split(",")
        for name in re.findall(r"^#([\w-]+)", selector.strip())
    }
    others = [file for file in (PACKAGE / "screens").glob("*.py") if file.stem != sheet.stem]
    assert everywhere & {name for file in others for name in _widget_ids(file)} == set()


def _widget_ids(file: Path) -> Iterator[str]:
    """The ids of the widgets that a screen composes; key bindings have ids of their own."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") != "Binding":
            for keyword in node.keywords:
                if keyword.arg == "id" and isinstance(keyword.value, ast.Constant):
                    yield str(keyword.value.value)
