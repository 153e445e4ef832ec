"""`rolellm models`: the models that can play a persona."""

from typing import Any, Final

import typer

from rolellm_tui.cli.models import push
from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_table

app = typer.Typer(
    name="models",
    help="List models, and upload exported ones.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("push")(push.push)

_EXAMPLES: Final = {"llamacpp": "llamacpp:/path/model.gguf"}
"""Examples for this list, where the provider's own example is an existing model."""


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the models of your models.toml, the bundled models, and an example spec of each provider.

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
            _row(
                one.name,
                one.spec,
                "yours",
                _joined(*(f"{key} = {value}" for key, value in one.options.items()), _own(one.strategy)),
            )
            for one in named_models().values()
        ),
        *(
            _row(
                f"llamacpp:{model.name}",
                f"llamacpp:{model.name}",
                "embedded",
                _joined(model.about, _own(model.strategy)),
            )
            for model in BUNDLED.values()
        ),
        *(
            _row(spec, spec, "example", provider.help)
            for provider in PROVIDERS.values()
            for spec in [_EXAMPLES.get(provider.name, provider.example)]
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


def _row(name: str, spec: str, kind: str, text: str) -> dict[str, Any]:
    return {"name": name, "spec": spec, "kind": kind, "help": text}


def _own(strategy: str | None) -> str:
    return f"strategy = {strategy}" if strategy else ""


def _joined(*texts: str) -> str:
    return ", ".join(filter(None, texts))
