"""`rolellm export`: a tuned adapter as GGUF files that llama.cpp and Ollama run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import complain, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_train.export.export import Exported


def export(
    source: Annotated[Path, typer.Argument(help="The folder of a training run, or of a PEFT adapter.")],
    base: Annotated[
        str,
        typer.Option(
            "--base",
            help="What the adapter was tuned from; a run knows it. A spec, a GGUF file or a folder.",
            metavar="BASE",
        ),
    ] = "",
    to: Annotated[
        Path | None, typer.Option("--to", help="The folder to write; else “export” in the source.")
    ] = None,
    merged: Annotated[
        str,
        typer.Option(
            "--merged",
            help="Models with the adapter in them, too: f16, q8_0, q4_k_m, with commas between.",
            metavar="WEIGHTS",
        ),
    ] = "",
    llama_cpp: Annotated[
        Path | None,
        typer.Option("--llama-cpp", help="A copy of llama.cpp, instead of fetching its converters."),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="What the model is called; else as its source.", metavar="NAME")
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace what is there; keep what fails its proof, too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Export a tuned adapter to GGUF, prove that llama.cpp runs what was tuned, and give it a name.

    Twenty chats go through transformers and llama.cpp; parity.md tells how alike they are. Beside the files
    lie a model card and an Ollama Modelfile, and models.toml gets the name, for --model.

    \b
    Examples:
      rolellm export runs/rolesmol
      rolellm export runs/rolesmol --merged q8_0,q4_k_m --to dist --name rolesmol
      rolellm export my-adapter --base llamacpp:smollm2 --llama-cpp ~/llama.cpp
    """
    from rolellm_train.export.export import ExportOptions
    from rolellm_train.export.export import export as export_adapter

    wanted = [one.strip().lower() for one in merged.split(",") if one.strip()]
    options = ExportOptions(
        source=source.expanduser(),
        base=base,
        to=to.expanduser() if to else None,
        merged=list(dict.fromkeys(wanted)),
        llama_cpp=llama_cpp.expanduser() if llama_cpp else None,
        name=name,
        force=force,
    )
    exported = export_adapter(options, complain)
    if as_json:
        print_json(exported.as_json())
    else:
        _print(exported)


def _print(exported: "Exported") -> None:
    from rolellm_train.export.parity import failure_of

    print_table(
        ("FILE", "OVER", "TOKEN IDS", "TOP-1", "LARGEST DIFFERENCE", ""),
        (
            (
                parity.file,
                parity.over,
                f"{parity.same_ids} of {parity.chats}",
                f"{parity.agreement:.4f}",
                "no number" if parity.largest_difference is None else f"{parity.largest_difference:.3f}",
                failure_of(parity) or "passed",
            )
            for parity in exported.parities
        ),
    )
    print_text(
        f"\nIt is in {exported.folder} and is called {exported.name}: rolellm chat --model {exported.name}"
    )
