"""The user's own model names: `models.toml`.

```toml
[models.workstation]
spec = "openai:qwen3-8b"
base_url = "http://127.0.0.1:8080/v1"
temperature = 0.8

[models.mine]
spec = "llamacpp:smollm2+/models/mine.gguf"
strategy = "system"
```
"""

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.toml import read_toml, write_toml
from rolellm_agents.text.masking import masked_option

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}", re.ASCII)


@dataclass(frozen=True)
class NamedModel:
    """One entry of `models.toml`."""

    name: str
    spec: str
    strategy: str | None
    """The default strategy for the model; that of the spec when None."""
    options: dict[str, Any]
    """Options for the provider."""

    @property
    def shown_options(self) -> dict[str, Any]:
        """The options for display, without secrets."""
        return {key: masked_option(key, value) for key, value in self.options.items()}


def named_models() -> dict[str, NamedModel]:
    """Read `models.toml`; a missing file has no names.

    Raises:
        SettingsError: the file cannot be read or is not TOML, or an entry has no `spec`.
    """
    file = user_paths().models_file
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8")).get("models", {})
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.") from error
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error
    if not isinstance(tables, dict):
        raise SettingsError(f"{file} must name its models as tables, as in [models.mine].")
    found: dict[str, NamedModel] = {}
    for name, table in tables.items():
        spec = table.get("spec") if isinstance(table, dict) else None
        if not isinstance(spec, str) or ":" not in spec:
            raise SettingsError(f'{file}: [models.{name}] needs a spec, as in spec = "openai:gpt-4o-mini".')
        strategy = table.get("strategy")
        if not isinstance(strategy, str | None):
            raise SettingsError(
                f'{file}: [models.{name}] has no usable strategy; write one as in "system".'
            )
        options = {key: value for key, value in table.items() if key not in ("spec", "strategy")}
        found[name] = NamedModel(name, spec, strategy, options)
    return found


def check_name(name: str, *, replace: bool) -> None:
    """Raise if a name cannot be used for a new entry.

    Raises:
        SettingsError: the name contains other characters than letters, digits, `.`, `_` and `-`, or exists.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} is not a valid model name; use at most 60 letters, digits, dots, dashes and "
            "underscores."
        )
    if not replace and name in named_models():
        raise SettingsError(
            f"There is a model {name} in {user_paths().models_file} already; "
            "choose another --name, or use --force to replace it."
        )


def forget_name(name: str) -> None:
    """Remove an entry of `models.toml`; the rest of the file stays unchanged.

    Raises:
        SettingsError: the file cannot be read or written.
    """
    file = user_paths().models_file
    document = read_toml(file, SettingsError)
    models = document.get("models", {})
    models.pop(name, None)
    if not models:
        document.pop("models", None)
    write_toml(file, document, SettingsError)


def keep_name(name: str, spec: str, *, strategy: str | None = None, replace: bool) -> None:
    """Write an entry of `models.toml`; the rest of the file stays unchanged.

    The strategy is that of the spec when None. A replaced entry keeps its options; its spec and strategy
    change.

    Raises:
        SettingsError: the name is invalid or exists, or the file cannot be read or written.
    """
    import tomlkit

    check_name(name, replace=replace)
    file = user_paths().models_file
    document = read_toml(file, SettingsError)
    models = document.setdefault("models", tomlkit.table(is_super_table=True))
    table = models.setdefault(name, tomlkit.table())
    table["spec"] = spec
    if strategy is None:
        table.pop("strategy", None)
    else:
        table["strategy"] = strategy
    write_toml(file, document, SettingsError)
