"""Style sheets name files and widgets by strings, which no type checker sees."""

import ast
import re
from pathlib import Path

import pytest

import rolellm_tui

PACKAGE = Path(rolellm_tui.__file__).parent
SOURCES = [*PACKAGE.rglob("*.py")]
SHEETS = [*PACKAGE.rglob("*.tcss")]
# Textual's own widgets that our sheets restyle.
_TEXTUAL = set(
    [
        "Button",
        "Center",
        "CommandPalette",
        "Container",
        "Footer",
        "FooterKey",
        "Grid",
        "Horizontal",
        "HorizontalGroup",
        "Input",
        "Label",
        "ListView",
        "Middle",
        "OptionList",
        "Screen",
        "Select",
        "SelectCurrent",
        "SelectOverlay",
        "Static",
        "Switch",
        "TabPane",
        "Tabs",
        "TabbedContent",
        "TextArea",
        "Toast",
        "ToastRack",
        "Vertical",
        "VerticalGroup",
        "VerticalScroll",
    ]
)


def _classes() -> set[str]:
    trees = [ast.parse(source.read_text(encoding="utf-8")) for source in SOURCES]
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


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
    assert named <= _classes() | _TEXTUAL
