"""`rolellm models`: what a persona can be played by."""

from collections.abc import Mapping
from typing import Any, Final

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_table

app = typer.Typer(
    name="models", help="List the models there are.", no_args_is_help=True, rich_markup_mode=None
)

_EXAMPLES: Final = {"llamacpp": "llamacpp:/path/model.gguf"}
"""Where what a provider shows elsewhere is a model that there is."""


@app.callback()
def _group() -> None:
    """List the models there are."""


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List your own names from models.toml, the models that come along, and what other specs look like.

    \b
    Examples:
      rolellm models list
      rolellm models list --json
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import PROVIDERS
    from rolellm_agents.models.llamacpp.files.bundled import BUNDLED
    from rolellm_agents.models.names import named_models

    default = load_settings().model
    rows = [
        *(
            _row(one.name, one.spec, "yours", _joined(_options(one.options), _own(one.strategy)))
            for one in named_models().values()
        ),
        *(
            _known(f"llamacpp:{model.name}", "embedded", _joined(model.about, _own(model.strategy)))
            for model in BUNDLED.values()
        ),
        *(
            _known(_EXAMPLES.get(provider.name, provider.example), "example", provider.help)
            for provider in PROVIDERS.values()
        ),
    ]
    for row in rows:
        row["default"] = row["name"] == default
    if as_json:
        print_json(rows)
        return
    print_table(
        ("NAME", "KIND", ""),
        (
            (f"{row['name']}{' (default)' if row['default'] else ''}", row["kind"], row["help"])
            for row in rows
        ),
    )


def _row(name: str, spec: str, kind: str, told: str) -> dict[str, Any]:
    return {"name": name, "spec": spec, "kind": kind, "help": told}


def _known(spec: str, kind: str, told: str) -> dict[str, Any]:
    """A model that goes by its spec."""
    return _row(spec, spec, kind, told)


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in options.items())


def _own(strategy: str | None) -> str:
    return f"strategy = {strategy}" if strategy else ""


def _joined(*told: str) -> str:
    return ", ".join(filter(None, told))
