"""The user's settings.

A command's option takes precedence over the environment variable `ROLELLM_…`, which takes precedence over
`config.toml`. The defaults are in this module.
"""

import os
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from rolellm_agents.config.paths import close_home_to_others, user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.toml import read_toml, write_toml
from rolellm_agents.plugins import plugin_names
from rolellm_agents.text import did_you_mean, replace_surrogates

DEFAULT_MODEL = "llamacpp:rolesmol"
DEFAULT_STRATEGY = "few-shot-dialogue"
"""The strategy for models that have none of their own."""
DEFAULT_USER = "User"
DEFAULT_THEME = "textual-dark"
_VARIABLES = "ROLELLM_"
_COMPLAINTS = {
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
}
"""Messages for invalid values, by pydantic's type of the error."""


NoticeKind = Literal["off", "bell", "notice"]
"""Nothing, the terminal's bell, or a notice of the desktop."""
TextWidth = int | Literal["full"]
"""Columns of a text, or as many as there are."""
_NARROWEST, _WIDEST = 40, 500
_RECALL_METHODS = ("bm25", "chroma", "hybrid")


def _known_recall_method(name: str) -> str:
    if name in _RECALL_METHODS:
        return name
    *others, last = (repr(known) for known in (*_RECALL_METHODS, *plugin_names("rolellm.recall")))
    expected = f"{', '.join(others)} or {last}"
    if repr(name) not in (*others, last):
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": expected})
    return name


def _text_width(value: object) -> object:
    """Columns as a number; text may stand for one."""
    if value == "full":
        return value
    text = str(value).strip()
    if text.isascii() and text.isdigit() and _NARROWEST <= int(text[:9]) <= _WIDEST:
        return int(text)
    expected = f"'full' or a whole number from {_NARROWEST} to {_WIDEST}"
    raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": expected})


class Settings(BaseSettings):
    """The settings of all commands, unless a command's options override them."""

    model_config = SettingsConfigDict(env_prefix=_VARIABLES, extra="forbid", frozen=True)

    model: str = DEFAULT_MODEL
    """A model spec, or a name from `models.toml`."""
    strategy: str | None = None
    """The prompting strategy; the model's own when unset."""
    preset: str | None = None
    """The name of a sampler preset, whose values override `temperature` and `max_tokens`."""
    temperature: float | None = Field(default=None, ge=0, le=5)
    """Sampling temperature; the model's own default when unset."""
    max_tokens: int | None = Field(default=None, ge=1)
    """The longest answer, in tokens; the model's own default when unset."""
    recall_method: Annotated[str, AfterValidator(_known_recall_method)] | None = None
    """How passages are found: a method of ours or of an installed package; the strategy's when unset."""
    recall_k: int = Field(default=5, ge=0, le=100)
    """The most passages in a prompt."""
    recall_tokens: int = Field(default=1_000, ge=0)
    """The most tokens of all passages in a prompt together."""
    recall_floor: float | None = Field(default=None, ge=0, le=1)
    """The closeness below which a passage is left out; the method's own when unset."""
    embeddings: str = "lexical"
    """The embeddings: `lexical`, `minilm`, `huggingface:…` or `openai:…`."""
    chroma_url: str | None = None
    """The URL of a Chroma server; a local folder when unset."""
    remember: bool = False
    """Whether characters recall their other conversations."""
    user_name: str = Field(default=DEFAULT_USER, min_length=1, max_length=80)
    """The user's name, which replaces `{{user}}` in cards."""
    you: str = ""
    """The id of a user persona in `you.toml`; its name overrides `user_name`."""
    theme: str = Field(default=DEFAULT_THEME, min_length=1)
    """The app's colour theme."""
    text_width: Annotated[TextWidth, BeforeValidator(_text_width)] = 100
    """The most columns of a message in the app; beside it, wide screens show the persona."""
    vim_keys: bool = False
    """Whether the prompt has Vim's normal and insert mode."""
    notice: NoticeKind = "off"
    """What the app does when an answer ends while its window is not in front."""
    notice_command: str | None = None
    """The command that shows a notice, such as `notify-send`; the terminal does it when unset."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let explicit values override the environment, and the environment the file."""
        file = TomlConfigSettingsSource(settings_cls, user_paths().settings_file)
        return init_settings, env_settings, file


def load_settings() -> Settings:
    """Read the user's settings.

    Raises:
        SettingsError: `config.toml` is not TOML, or it or a `ROLELLM_…` variable has an invalid value.
    """
    close_home_to_others()
    file = user_paths().settings_file
    try:
        return Settings()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.") from error
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        known = (
            f" (known: {', '.join(Settings.model_fields)})" if first["type"] == "extra_forbidden" else ""
        )
        raise SettingsError(
            f"The setting {name!r} is not usable: {first['msg'].lower()}; correct it in {file} "
            f"or in ROLELLM_{name.upper()}{known}."
        ) from error
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error


def given_by_environment() -> dict[str, str]:
    """The settings that environment variables override, with the variables' names."""
    variables = {variable.upper(): variable for variable in os.environ}
    return {
        name: variables[_VARIABLES + name.upper()]
        for name in Settings.model_fields
        if _VARIABLES + name.upper() in variables
    }


def check_setting(name: str, value: object) -> Any:
    """Convert a value to the type of its setting; text may stand for a number.

    Raises:
        SettingsError: there is no such setting, or the value is invalid.
    """
    field = _field(name)
    accepted: Any = Annotated[field.annotation, field]
    try:
        return TypeAdapter(accepted).validate_python(
            replace_surrogates(value) if isinstance(value, str) else value
        )
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        raise SettingsError(f"The setting {name!r} {_complaint(first)}.") from error


def write_settings(changes: Mapping[str, object]) -> dict[str, object]:
    """Change `config.toml`, atomically and without losing comments or order.

    Args:
        changes: the new value of each setting; None removes it from the file, which restores the default.

    Returns:
        The previous values in the same form; writing them undoes the change.

    Raises:
        SettingsError: there is no such setting, a value is invalid, or the file cannot be read or written.
    """
    checked = {name: _checked(name, value) for name, value in changes.items()}
    file = user_paths().settings_file
    document = read_toml(file, SettingsError)
    before = document.unwrap()
    for name, value in checked.items():
        if value is None:
            document.pop(name, None)
        elif value != before.get(name):
            document[name] = value
    write_toml(file, document, SettingsError)
    return {name: before.get(name) for name in checked}


def _complaint(error: Mapping[str, Any]) -> str:
    known = _COMPLAINTS.get(error["type"])
    return known.format(**error.get("ctx", {})) if known else f"is not usable: {error['msg'].lower()}"


def _checked(name: str, value: object) -> Any:
    _field(name)
    return None if value is None else check_setting(name, value)


def _field(name: str) -> FieldInfo:
    if name not in Settings.model_fields:
        raise SettingsError(
            f"There is no setting {name!r}{did_you_mean(name, Settings.model_fields)}; "
            f"known are {', '.join(Settings.model_fields)}."
        )
    return Settings.model_fields[name]
