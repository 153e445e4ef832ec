"""The user's own model names: `models.toml`.

```toml
[models.workstation]
spec = "openai:qwen3-8b"
base_url = "http://127.0.0.1:8080/v1"
temperature = 0.8
```
"""

import tomllib
from dataclasses import dataclass
from typing import Any

from rolellm_agents.errors import SettingsError
from rolellm_agents.paths import user_paths


@dataclass(frozen=True)
class NamedModel:
    """One entry of `models.toml`."""

    name: str
    spec: str
    options: dict[str, Any]


def named_models() -> dict[str, NamedModel]:
    """Read `models.toml`; an absent file holds no names.

    Raises:
        SettingsError: the file cannot be read, is no TOML, or an entry has no `spec`.
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
        options = {key: value for key, value in table.items() if key != "spec"}
        found[name] = NamedModel(name, spec, options)
    return found
