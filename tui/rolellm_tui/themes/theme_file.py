"""Theme files: the fields of Textual's `Theme`, in YAML."""

import re
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError
from textual.color import Color, ColorParseError
from textual.css.constants import VALID_STYLE_FLAGS
from textual.theme import BUILTIN_THEMES, Theme

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.text import did_you_mean, one_line

_SUFFIX = ".yaml"
_WITH_STRENGTH = re.compile(r"(?P<colour>.+?)\s+\d{1,3}(\.\d+)?%")
"""A colour and its opacity, as in `#ff0000 60%`; `auto` is black or white, whichever can be read."""
_EXAMPLES = "for example '#1e90ff' (in quotes), 'rgb(30,144,255)' or 'dodgerblue'"
_STYLES = ("-style", "-style-hover")
"""What the names of variables for text styles end with; the others are colours."""


class FoundThemes(NamedTuple):
    """The themes of ours and of the user."""

    themes: tuple[Theme, ...]
    notes: tuple[str, ...]
    """One sentence for each file that is no theme."""


def _written(value: object) -> object:
    if value is None:
        raise PydanticCustomError("colour", "there is no value; a colour that begins with # needs quotes")
    return value


def _colour(value: str) -> str:
    if not _is_colour(value):
        raise PydanticCustomError(
            "colour",
            "{value} is no colour; write {examples}",
            {"value": _short(value), "examples": _EXAMPLES},
        )
    return value


def _is_colour(value: str) -> bool:
    try:
        Color.parse(value)
    except ColorParseError:
        return False
    return True


def _short(value: str) -> str:
    return repr(one_line(value, 40))


def _variable(name: str) -> str:
    if name not in _known_variables():
        hint = did_you_mean(name, _known_variables())
        raise PydanticCustomError("variable", "there is no such variable{hint}", {"hint": hint})
    return name


def _variable_value(value: str) -> str:
    strong = _WITH_STRENGTH.fullmatch(value)
    colour = strong["colour"] if strong else value
    if not (colour in ("auto", "initial") or _is_colour(colour) or _is_style(value)):
        raise PydanticCustomError(
            "colour",
            "{value} is neither a colour nor a text style; write {examples}, or for a style 'bold'",
            {"value": _short(value), "examples": _EXAMPLES},
        )
    return value


def _is_style(value: str) -> bool:
    words = value.split()
    return bool(words) and all(word in VALID_STYLE_FLAGS for word in words)


@cache
def _known_variables() -> frozenset[str]:
    return frozenset(Theme(name="", primary="#000000").to_color_system().generate())


_Colour = Annotated[str, BeforeValidator(_written), AfterValidator(_colour)]
_ColourOrOurs = Annotated[_Colour | None, BeforeValidator(_written)]
_VariableName = Annotated[str, AfterValidator(_variable)]
_VariableValue = Annotated[str, BeforeValidator(_written), AfterValidator(_variable_value)]
_Share = Annotated[float, Field(ge=0, le=1)]


class ThemeFile(BaseModel):
    """What a theme file may have; only `primary` is required."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = Field(default=None, min_length=1, max_length=40, pattern=r"^\w[\w .-]*$")
    """The name in the settings; the file's name when absent."""
    primary: _Colour
    secondary: _ColourOrOurs = None
    accent: _ColourOrOurs = None
    warning: _ColourOrOurs = None
    error: _ColourOrOurs = None
    success: _ColourOrOurs = None
    foreground: _ColourOrOurs = None
    background: _ColourOrOurs = None
    surface: _ColourOrOurs = None
    panel: _ColourOrOurs = None
    boost: _ColourOrOurs = None
    dark: bool = True
    luminosity_spread: _Share = 0.15
    text_alpha: _Share = 0.95
    ansi: bool = False
    variables: dict[_VariableName, _VariableValue] = Field(default_factory=dict)
    """Single values of Textual's style sheets, such as `footer-key-foreground`."""

    @field_validator("variables")
    @classmethod
    def _check_kinds(cls, variables: dict[str, str]) -> dict[str, str]:
        for name, value in variables.items():
            if name.endswith(_STYLES) != _is_style(value):
                wanted = "text style, such as 'bold' or 'none'" if name.endswith(_STYLES) else "colour"
                raise PydanticCustomError(
                    "kind", "{name} must be a {wanted}", {"name": repr(name), "wanted": wanted}
                )
        return variables

    def theme(self, name: str) -> Theme:
        """The theme, with this name unless the file has one."""
        return Theme(**{**self.model_dump(exclude={"name"}), "name": self.name or name})


def read_theme(file: Path) -> Theme:
    """Read a theme file.

    Raises:
        SettingsError: the file is no theme, in one sentence with its line and the field.
    """
    theme = read_yaml(file, ThemeFile, SettingsError).theme(file.stem)
    if theme.name in BUILTIN_THEMES:
        raise SettingsError(f"{file}: {theme.name!r} is the name of a built-in theme; choose another name.")
    return theme


def find_themes() -> FoundThemes:
    """The themes of ours, and those of the files in the user's folder of themes.

    A file of the user's with the name of a theme of ours replaces it.
    """
    with as_file(files("rolellm_tui.themes")) as ours:
        found = {theme.name: theme for theme in map(read_theme, sorted(ours.glob(f"*{_SUFFIX}")))}
    notes: list[str] = []
    for file in sorted(user_paths().themes.glob("*.y*ml")):
        try:
            theme = read_theme(file)
        except SettingsError as error:
            notes.append(str(error))
        else:
            found[theme.name] = theme
    return FoundThemes(tuple(found.values()), tuple(notes))
