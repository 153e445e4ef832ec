"""`rolellm models`: what a persona can be played by."""

from typing import Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.output import print_json, print_table

app = typer.Typer(
    name="models", help="List the models there are.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _group() -> None:
    """List the models there are."""


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the embedded model, your own names from models.toml, and what other specs look like.

    \b
    Examples:
      rolellm models list
      rolellm models list --json
    """
    from rolellm_agents.models.catalog import PROVIDERS
    from rolellm_agents.models.names import named_models
    from rolellm_agents.settings import load_settings

    default = load_settings().model
    rows: list[dict[str, Any]] = [
        {"name": name.name, "spec": name.spec, "kind": "yours", "help": _options(name.options)}
        for name in named_models().values()
    ]
    rows += [
        {
            "name": provider.example,
            "spec": provider.example,
            "kind": "embedded" if provider.name == "llamacpp" else "example",
            "help": "SmolLM2-135M tuned to speak in role, in the box; llamacpp:smollm2 is its base; "
            "llamacpp:/path/model.gguf takes other files"
            if provider.name == "llamacpp"
            else provider.help,
        }
        for provider in PROVIDERS.values()
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


def _options(options: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in options.items())
