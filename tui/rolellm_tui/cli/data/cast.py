"""`rolellm data cast`: the cast's corpus as a data set."""

from pathlib import Path
from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_text


def cast(
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder.")],
    source: Annotated[
        Path | None, typer.Option("--corpus", help="A folder of corpus files. Default: the cast's corpus.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the cast's corpus, conversations and scenes in character, as JSONL files with a data card.

    The splits hold out ten personas and a tenth of all questions. The files can be loaded with the library
    `datasets` and pushed to a model hub as they are.

    \b
    Examples:
      rolellm data cast --out cast
      rolellm data cast --out cast --json
    """
    from rolellm_agents.corpus.export import export_corpus
    from rolellm_agents.corpus.location import corpus_folder, read_corpus, read_scenes
    from rolellm_agents.persona import list_personas

    folder = source.expanduser() if source else corpus_folder()
    personas = {found.persona.id: found.persona for found in list_personas().found}
    exported = export_corpus(out.expanduser(), read_corpus(folder), read_scenes(folder), personas)
    if as_json:
        counts = {
            "conversations": dict(exported.conversations),
            "exchanges": dict(exported.exchanges),
            "scenes": dict(exported.scenes),
        }
        print_json({**counts, "files": [str(file) for file in exported.files]})
        return
    for split, conversations in exported.conversations.items():
        print_text(
            f"{split}: {conversations:,} conversations with {exported.exchanges[split]:,} exchanges, "
            f"{exported.scenes[split]:,} scenes"
        )
    print_text(str(out))
