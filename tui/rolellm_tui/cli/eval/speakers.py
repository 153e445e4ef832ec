"""`rolellm eval speakers`: can the likelihood judge tell who is speaking?"""

from pathlib import Path
from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption, ModelOption
from rolellm_tui.output import complain, counted_progress, print_json, print_table

DATA_OPTION = typer.Option("--data", help="A folder of RoleBench.")


def speakers(
    data: Annotated[Path, DATA_OPTION],
    model: ModelOption = None,
    candidates: Annotated[
        list[int] | None,
        typer.Option("--candidates", min=2, help="Among how many; several may be given, 5 otherwise."),
    ] = None,
    replies: Annotated[
        list[int] | None,
        typer.Option(
            "--replies", min=1, help="From how many answers; several may be given, 1 and 5 otherwise."
        ),
    ] = None,
    items: Annotated[
        int | None, typer.Option("--items", min=1, help="Speakers, drawn by chance; all otherwise.")
    ] = None,
    background: Annotated[
        int,
        typer.Option(
            "--background",
            min=0,
            help="Training answers by anybody that tell what each candidate's prompt does for all.",
        ),
    ] = 0,
    train: Annotated[
        bool, typer.Option("--train", help="The training answers, to choose a method by.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of the draws.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run's folder; one of your own otherwise.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Who gave RoleBench's published answers? Told by likelihoods alone, with the names taken out.

    Stopped and started again with the same options, it goes on where it was.

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
    with counted_progress("Telling") as tell:
        rows = measure_speakers(request, get_model(spec), model_name=spec, folder=folder, on_progress=tell)
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
