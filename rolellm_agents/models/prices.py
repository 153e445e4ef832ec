"""The user's price list, `prices.toml`, per million tokens in one currency.

```toml
["openai:gpt-4o-mini"]
read = 0.15
written = 0.60
cached = 0.075
```
"""

import tomllib
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rolellm_agents.cards.values import integer, mapping
from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.names import named_models
from rolellm_agents.runs.budget import Prices, Tokens

_Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(BaseModel):
    """One model's entry in the list."""

    model_config = ConfigDict(extra="forbid")

    read: _Price
    written: _Price
    cached: _Price | None = None


def prices_of(model_name: str) -> Prices | None:
    """The prices of a model, listed under its name or its spec; None if they are not listed.

    Raises:
        SettingsError: `prices.toml` or `models.toml` cannot be used.
    """
    listed = listed_prices()
    if not listed:
        return None
    named = named_models().get(model_name)
    entry = listed.get(model_name) or listed.get(named.spec if named else "")
    return None if entry is None else Prices(entry.read, entry.written, entry.cached)


def cost_of(usage: Mapping[str, Any], prices: Prices) -> float:
    """The cost of an answer, by its usage in LangChain's form."""
    tokens = Tokens(integer(usage.get("input_tokens")), integer(usage.get("output_tokens")))
    cached = integer(mapping(usage.get("input_token_details")).get("cache_read"))
    return prices.cost(tokens, cached=min(cached, tokens.read))


def listed_prices() -> dict[str, Price]:
    """All entries, by the model's name or spec; empty without the file.

    Raises:
        SettingsError: `prices.toml` cannot be used.
    """
    file = user_paths().prices_file
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.") from error
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error
    entries: dict[str, Price] = {}
    for name, table in tables.items():
        try:
            entries[name] = Price.model_validate(table)
        except ValidationError as error:
            # A misspelt name is also a missing one; it says more.
            found: list[Any] = [*error.errors(include_url=False)]
            first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
            where = ".".join(str(part) for part in first["loc"])
            raise SettingsError(
                f'{file}: ["{name}"] {where}: {first["msg"]}; write read = 0.15 and written = 0.60, prices '
                "of a million tokens."
            ) from error
    return entries
