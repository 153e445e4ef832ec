"""`rolellm data push`: upload a data set with its card to the Hugging Face Hub."""

from pathlib import Path
from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_text


def push(
    source: Annotated[Path, typer.Argument(help="A JSONL file, a folder of RoleBench, or a run.")],
    repository: Annotated[str, typer.Argument(help="The repository on the hub, OWNER/NAME.")],
    licence: Annotated[
        str, typer.Option("--licence", help="Licence identifier on the hub, such as cc-by-4.0.")
    ] = "other",
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    message: Annotated[
        str, typer.Option("--message", help="Message of the commit.")
    ] = "Upload by rolellm data push",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the files and print the card.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Upload a data set to the Hugging Face Hub, with the card that “data card” writes as its README.md.

    All files go into one commit. The repository is created if it does not exist. Log in first with “hf auth
    login”, or set HF_TOKEN.

    \b
    Examples:
      rolellm data push runs/verified ada/lamp-talk --licence cc-by-4.0 --private
      rolellm data push data/reviewed.jsonl ada/lamp-talk --dry-run
    """
    from rolellm_agents.datasets.data_card import card_facts, data_card
    from rolellm_agents.datasets.sources import source_files
    from rolellm_agents.files.hub import push_to_hub
    from rolellm_agents.persona import list_personas

    source = source.expanduser()
    cast = [found.persona for found in list_personas().found]
    card = data_card(card_facts(source, cast, name=repository.rpartition("/")[2], licence=licence))
    files: dict[str, Path | str] = {
        "README.md": card,
        **{file.name: file.path for file in source_files(source)},
    }
    if dry_run:
        print_text("\n".join(files) + f"\n\n{card}", end="")
        return
    where = push_to_hub(repository, "dataset", files, message=message, private=private)
    if as_json:
        print_json({"repository": where, "files": [*files]})
        return
    print_text(f"{len(files)} files are in {where}")
