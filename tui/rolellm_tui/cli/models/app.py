"""`rolellm models`: the models that can play a persona."""

from dataclasses import asdict
from typing import Any, Final

import typer

from rolellm_tui.cli.models import pull, push
from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_table

app = typer.Typer(
    name="models",
    help="List, download, remove and upload models.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.command("pull")(pull.pull)
app.command("show")(pull.show)
app.command("remove")(pull.remove)
app.command("push")(push.push)

_EXAMPLES: Final = {"llamacpp": "llamacpp:/path/model.gguf"}
"""Examples for this list, where the provider's own example is an existing model."""


@app.callback()
def main(context: typer.Context) -> None:
    """List, download, remove and upload models. Without a command, list them."""
    if context.invoked_subcommand is None:
        list_(as_json=False)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List installed models, models of servers on this machine, and models that we recommend for it.

    First come the names of your models.toml, the bundled models and downloaded ones. Then come the models
    of servers on this machine (Ollama, LM Studio, llama-server, vLLM, KoboldCpp), which are named
    local:NAME. “rolellm models pull NAME” downloads a recommended one. The end shows an example of each
    provider.

    \b
    Examples:
      rolellm models list
      rolellm models list --json
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import PROVIDERS
    from rolellm_agents.models.inventory import known_models

    default = load_settings().model
    rows: list[dict[str, Any]] = [asdict(one) for one in known_models()]
    for provider in PROVIDERS.values():
        spec = _EXAMPLES.get(provider.name, provider.example)
        rows.append({"name": spec, "spec": spec, "kind": "example", "help": provider.help})
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
