"""`rolellm scene lab`: run one scene with several models and seeds, and compare."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import BaseUrlOption, JsonOption, MaxTokensOption, TemperatureOption
from rolellm_tui.cli.scene.options import (
    DirectorOption,
    SceneArgument,
    default_model,
    head_of_file,
    maker_with,
    unattended,
)
from rolellm_tui.cli.scene.trust import TrustOption, with_models_that_count
from rolellm_tui.output import complain, counted_progress, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.scene import LoadedScene
    from rolellm_graphs.scene.lab import LabRow
    from rolellm_graphs.scene.run import Played
    from rolellm_graphs.scene.stage import Stage


def lab(
    scene: SceneArgument,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=10_000, help="Runs per model.")] = 5,
    models: Annotated[
        str | None, typer.Option("--models", help="Comma-separated model specs.", metavar="A,B")
    ] = None,
    turns: Annotated[
        int | None, typer.Option("--turns", min=1, help="Maximum number of turns per run.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder of the run. Default: a folder among your own runs.",
            metavar="FOLDER",
        ),
    ] = None,
    base_url: BaseUrlOption = None,
    director: DirectorOption = None,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
    trust_file_models: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a scene with several models and seeds, and compare turns, tokens, time, faults and variety.

    Each run becomes a file in the folder. The same command resumes a stopped lab.

    \b
    Examples:
      rolellm scene lab last-booth --seeds 20 --models llamacpp:smollm2 --out runs/booth
      rolellm scene lab dinner-for-four --seeds 5 --models openai:gpt-4o-mini,llamacpp:smollm2 --json
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.scene import load_scene
    from rolellm_graphs.scene.lab import LabRequest, run_lab

    counted = with_models_that_count(
        load_scene(scene), model=models, trust=trust_file_models, base_url=base_url
    )
    loaded = unattended(counted, director)
    specs = _specs(models or default_model(loaded, None))
    folder = out or user_paths().runs / f"lab-{loaded.scene.id}"
    request = LabRequest(
        loaded=loaded,
        models=specs,
        seeds=seeds,
        turns=turns,
        sampling={"base_url": base_url, "max_tokens": max_tokens, "temperature": temperature},
    )
    with counted_progress("Playing") as progress:
        rows = asyncio.run(
            run_lab(
                request,
                folder,
                make=maker_with(base_url, max_tokens, temperature),
                on_progress=progress,
                on_run=lambda model, seed, stage, played: _write_run(
                    folder / f"{specs.index(model) + 1}-{_file_stem(model)}-{seed}.jsonl",
                    model,
                    stage,
                    played,
                ),
            )
        )
    report = _report(loaded, rows)
    _write_report(folder, report)
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    print_table(_COLUMNS, [_cells(row) for row in rows])
    complain(f"The runs and report.md are in {folder}.")


def _specs(models: str) -> tuple[str, ...]:
    """The distinct model specs of a comma-separated list."""
    from rolellm_agents.errors import SceneError

    specs = tuple(dict.fromkeys(one.strip() for one in models.split(",") if one.strip()))
    if not specs:
        raise SceneError(
            f"--models {models!r} names no model; use a comma-separated list of PROVIDER:NAME."
        )
    return specs


def _file_stem(model: str) -> str:
    """A spec as part of a file name."""
    from rolellm_agents.persona import id_of

    return id_of(model)[:40].strip("-")


_COLUMNS = (
    "MODEL",
    "RUNS",
    "FAILED",
    "TURNS",
    "SECONDS",
    "CALLS/TURN",
    "PROMPT TOKENS",
    "REUSED",
    "TOKENS SAID",
    "WORDS/LINE",
    "SAID AGAIN",
    "FAULTY",
    "DISTINCT-2",
    "LOUDEST",
)


def _cells(row: "LabRow") -> tuple[str, ...]:
    words = f"{row.words:.1f}"
    if row.words_ci95:
        words += f" [{row.words_ci95[0]:.1f}, {row.words_ci95[1]:.1f}]"
    return (
        row.model,
        str(row.runs),
        str(row.failed),
        f"{row.turns:.1f}",
        f"{row.seconds:.1f}",
        f"{row.calls_per_turn:.2f}",
        f"{row.prompt_tokens:.0f}",
        f"{row.reused:.0%}",
        f"{row.completion_tokens:.0f}",
        words,
        f"{row.retried:.0%}",
        f"{row.faulty:.0%}",
        f"{row.distinct_2:.2f}",
        f"{row.loudest:.0%}",
    )


def _report(loaded: "LoadedScene", rows: "Sequence[LabRow]") -> str:
    """The table and the endings as Markdown."""
    from rolellm_agents.text import one_line

    lines = [
        f"# {loaded.scene.title}",
        "",
        "Means over runs; tokens are of a whole run; words with a 95 % interval, clustered by run.",
        "",
        "| " + " | ".join(column.lower() for column in _COLUMNS) + " |",
        "|" + "---|" * len(_COLUMNS),
        *("| " + " | ".join(map(_in_table, _cells(row))) + " |" for row in rows),
        "",
        "How the runs ended:",
        "",
        *(
            f"- {one_line(row.model)}: {count} × {one_line(ending)}"
            for row in rows
            for ending, count in sorted(row.endings.items(), key=lambda item: -item[1])
        ),
    ]
    return "\n".join(lines) + "\n"


def _in_table(cell: str) -> str:
    from rolellm_agents.text import one_line

    return one_line(cell).replace("|", "\\|")


def _write_report(folder: Path, report: str) -> None:
    from rolellm_agents.errors import StorageError
    from rolellm_agents.files.atomic_write import write_atomically

    write_atomically(folder / "report.md", report, StorageError)


def _write_run(path: Path, model: str, stage: "Stage", played: "list[Played]") -> None:
    from rolellm_agents.errors import StorageError
    from rolellm_agents.files.atomic_write import write_atomically
    from rolellm_agents.scene.run_file import as_text, run_line

    lines = (as_text(run_line(stage.loaded, one.message, turn=one.turn, calls=one.calls)) for one in played)
    write_atomically(path, head_of_file(stage, model) + "".join(lines), StorageError)
