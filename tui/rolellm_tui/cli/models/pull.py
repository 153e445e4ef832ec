"""`rolellm models pull`, `show` and `remove`: models on this machine's disk."""

from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import download_progress, print_json, print_table, print_text


def pull(
    name: Annotated[
        str,
        typer.Argument(
            help="A recommended model (see “models list”), hf:ORG/REPO, hf:ORG/REPO:QUANT, or the address "
            "of a GGUF file.",
        ),
    ],
    keep_as: Annotated[
        str | None,
        typer.Option("--name", "-n", help="Name in models.toml. Default: derived from the model's name."),
    ] = None,
    use: Annotated[
        bool, typer.Option("--use", help="Make it the default model for chats, scenes and the server.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another model of this name in models.toml.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Download a model, and give it a name in models.toml.

    Files of the Hugging Face Hub go into its cache, which other programs share. A download that was stopped
    goes on where it was, and a file is checked before it is used. HF_TOKEN and HF_ENDPOINT apply.

    \b
    Examples:
      rolellm models pull qwen3-4b --use
      rolellm models pull hf:bartowski/google_gemma-3-4b-it-GGUF
      rolellm models pull hf:bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q5_K_M --name llama
      rolellm models pull https://example.org/tiny.gguf
    """
    from rolellm_agents.config.settings import write_settings
    from rolellm_agents.models.pulling import planned_pull, pulled

    pull_ = planned_pull(name, name=keep_as)
    with download_progress(f"Downloading {pull_.name}") as progress:
        files = pulled(pull_, progress, replace=force)
    if use:
        write_settings({"model": pull_.name})
    if as_json:
        print_json({"name": pull_.name, "spec": pull_.spec, "files": [str(file) for file in files]})
        return
    print_text(f"{pull_.name} is here: {files[0]}")
    if not use:
        print_text(f"Try it:  rolellm chat sherlock-holmes --model {pull_.name}")


def show(
    name: Annotated[str, typer.Argument(help="A name, a spec, or a recommended model.")],
    as_json: JsonOption = False,
) -> None:
    """Show what is known about a model: its source, files, size, licence and what it is good for.

    \b
    Examples:
      rolellm models show qwen3-4b
      rolellm models show hf:bartowski/google_gemma-3-4b-it-GGUF:Q4_K_M --json
    """
    from rolellm_agents.models.inventory import described_model

    about = described_model(name)
    if as_json:
        print_json(about)
    else:
        print_table(("WHAT", ""), ((key.replace("_", " "), _shown(value)) for key, value in about.items()))


def remove(
    name: Annotated[str, typer.Argument(help="A name in models.toml, or hf:ORG/REPO:QUANT.")],
) -> None:
    """Delete a downloaded model and its name in models.toml.

    The files of other models stay, and so do models that were not downloaded.

    \b
    Examples:
      rolellm models remove qwen3-4b
      rolellm models remove hf:bartowski/google_gemma-3-4b-it-GGUF:Q4_K_M
    """
    from rolellm_agents.models.inventory import removed_model

    freed = removed_model(name)
    print_text(f"{name} is removed; {freed / 1e9:.1f} GB are free again.")


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
