"""`rolellm export`: convert a tuned model to GGUF files for llama.cpp and Ollama."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import complain, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_train.export.export import Exported


def export(
    source: Annotated[Path, typer.Argument(help="Folder of a training run, or of a PEFT adapter.")],
    base: Annotated[
        str,
        typer.Option(
            "--base",
            help="Base model of the adapter: a spec, a GGUF file or a folder. Default: the run's base.",
            metavar="BASE",
        ),
    ] = "",
    to: Annotated[
        Path | None, typer.Option("--to", help="Output folder. Default: “export” in the source.")
    ] = None,
    merged: Annotated[
        str,
        typer.Option(
            "--merged",
            help="Also export merged models: a comma-separated list of f16, q8_0 and q4_k_m. "
            "A training of all weights has no adapter; its default is q8_0.",
            metavar="WEIGHTS",
        ),
    ] = "",
    llama_cpp: Annotated[
        Path | None,
        typer.Option("--llama-cpp", help="A checkout of llama.cpp. Default: download its converters."),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="Name of the model. Default: the source's name.", metavar="NAME")
    ] = "",
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite existing files, and keep files that fail verification."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Export a tuned model to GGUF, verify it against the tuned model, and register its name.

    parity.md compares transformers and llama.cpp on twenty chats. The folder also gets a model card and an
    Ollama Modelfile. The name is added to models.toml, for --model.

    \b
    Examples:
      rolellm export runs/rolesmol
      rolellm export runs/rolesmol --merged q8_0,q4_k_m --to dist --name rolesmol
      rolellm export my-adapter --base llamacpp:smollm2 --llama-cpp ~/llama.cpp
    """
    from rolellm_train.export.export import ExportOptions
    from rolellm_train.export.export import export as export_adapter

    weights = [one.strip().lower() for one in merged.split(",") if one.strip()]
    options = ExportOptions(
        source=source.expanduser(),
        base=base,
        to=to.expanduser() if to else None,
        merged=list(dict.fromkeys(weights)),
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
                "not finite" if parity.largest_difference is None else f"{parity.largest_difference:.3f}",
                failure_of(parity) or "passed",
            )
            for parity in exported.parities
        ),
    )
    print_text(
        f"\nExported {exported.name} to {exported.folder}. Try it:  rolellm chat --model {exported.name}"
    )
