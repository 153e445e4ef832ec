"""`rolellm eval speakers`: how well the likelihood judge identifies the speaker of a reply."""

from pathlib import Path
from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption, ModelOption, RunFolderOption
from rolellm_tui.output import complain, counted_progress, print_json, print_table


def speakers(
    data: Annotated[Path, typer.Option("--data", help="A folder of RoleBench.")],
    model: ModelOption = None,
    candidates: Annotated[
        list[int] | None,
        typer.Option("--candidates", min=2, help="Number of candidate personas. Repeatable. Default: 5."),
    ] = None,
    replies: Annotated[
        list[int] | None,
        typer.Option("--replies", min=1, help="Answers per decision. Repeatable. Default: 1 and 5."),
    ] = None,
    items: Annotated[
        int | None, typer.Option("--items", min=1, help="Number of sampled speakers. Default: all.")
    ] = None,
    background: Annotated[
        int,
        typer.Option(
            "--background",
            min=0,
            help="Training answers of other roles, to correct each candidate's likelihoods.",
        ),
    ] = 0,
    train: Annotated[
        bool, typer.Option("--train", help="Use the training split, for choosing a method.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    out: RunFolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Identify the speakers of RoleBench's published answers by likelihood, with names removed.

    The same command resumes a stopped run.

    \b
    Examples:
      rolellm eval speakers --data RoleBench --items 20
      rolellm eval speakers --data RoleBench --candidates 5 --candidates 100 --background 16 --json
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import get_model
    from rolellm_graphs.evaluate.speakers import SpeakersRequest, measure_speakers, run_name

    request = SpeakersRequest(
        data=data,
        part="train" if train else "test",
        candidates=tuple(candidates or (5,)),
        replies=tuple(replies or (1, 5)),
        speakers=items,
        background=background,
        seed=seed,
    )
    spec = model or load_settings().model
    folder = out or user_paths().runs / run_name(request, spec)
    complain(f"The run is kept in {folder}.")
    with counted_progress("Identifying") as progress:
        rows = measure_speakers(
            request, get_model(spec), model_name=spec, folder=folder, on_progress=progress
        )
    if as_json:
        print_json(rows)
        return
    print_table(
        ("CANDIDATES", "REPLIES", "BACKGROUND", "RIGHT", "95 %", "CHANCE", "N", "S/ANSWER"),
        (
            (
                str(row["candidates"]),
                str(row["replies"]),
                str(row["background"] or ""),
                f"{row['right']:.3f}",
                "[{:.2f}, {:.2f}]".format(*row["ci95"]) if row["ci95"] else "",
                f"{row['chance']:.2f}",
                str(row["n"]),
                f"{row['seconds']:.2f}",
            )
            for row in rows
        ),
    )
