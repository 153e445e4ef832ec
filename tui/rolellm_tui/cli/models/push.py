"""`rolellm models push`: upload an exported model to the Hugging Face Hub."""

from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_table, print_text


def push(
    name: Annotated[
        str, typer.Argument(help="Name of a model in models.toml, or the folder of an export.")
    ],
    repository: Annotated[str, typer.Argument(help="The repository on the hub, OWNER/NAME.")],
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    message: Annotated[
        str, typer.Option("--message", help="Message of the commit.")
    ] = "Upload by rolellm models push",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the files.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Upload a model that “rolellm export” wrote: its GGUF files, model card, parity report and Modelfile.

    All files go into one commit. The repository is created if it does not exist. Log in first with “hf auth
    login”, or set HF_TOKEN.

    \b
    Examples:
      rolellm models push rolesmol ada/rolesmol --private
      rolellm models push runs/rolesmol/export ada/rolesmol --dry-run
    """
    from rolellm_agents.files.hub import push_to_hub
    from rolellm_agents.models.exports import export_files

    files = export_files(name)
    if dry_run:
        print_table(
            ("FILE", "MB"), ((one, f"{path.stat().st_size / 1e6:,.1f}") for one, path in files.items())
        )
        return
    where = push_to_hub(repository, "model", files, message=message, private=private)
    if as_json:
        print_json({"repository": where, "files": [*files]})
        return
    print_text(f"{len(files)} files are in {where}")
