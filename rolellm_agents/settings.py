"""The user's defaults: a command's flag, then `ROLELLM_…`, then `config.toml`, then the values here."""

import tomllib
from typing import Any

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from rolellm_agents.errors import SettingsError
from rolellm_agents.paths import user_paths

DEFAULT_MODEL = "llamacpp:smollm2"
DEFAULT_STRATEGY = "few-shot-dialogue"
DEFAULT_USER = "User"


class Settings(BaseSettings):
    """What is used when a command is not told otherwise."""

    model_config = SettingsConfigDict(env_prefix="ROLELLM_", extra="forbid", frozen=True)

    model: str = DEFAULT_MODEL
    """A model spec, or a name from `models.toml`."""
    strategy: str = DEFAULT_STRATEGY
    """How a persona reaches the model."""
    temperature: float | None = Field(default=None, ge=0, le=5)
    """Sampling temperature; the model's own default when unset."""
    max_tokens: int | None = Field(default=None, ge=1)
    """The longest answer, in tokens; the model's own default when unset."""
    user_name: str = Field(default=DEFAULT_USER, min_length=1, max_length=80)
    """What characters call you: `{{user}}` in cards."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Explicit values first, then the environment, then the file."""
        file = TomlConfigSettingsSource(settings_cls, user_paths().settings_file)
        return init_settings, env_settings, file


def load_settings() -> Settings:
    """Read the user's defaults.

    Raises:
        SettingsError: `config.toml` is no TOML, or it or a `ROLELLM_…` variable has a wrong value.
    """
    file = user_paths().settings_file
    try:
        return Settings()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.") from error
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"The setting {name!r} is not usable: {first['msg'].lower()}; correct it in {file} "
            f"or in ROLELLM_{name.upper()} (known: {', '.join(Settings.model_fields)})."
        ) from error
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error
