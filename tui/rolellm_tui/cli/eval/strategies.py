"""`rolellm eval strategies`: compare strategies on the same questions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rolellm_tui.cli.options import (
    EmbeddingsOption,
    JsonOption,
    MaxTokensOption,
    ModelOption,
    RecallOption,
    RunFolderOption,
)
from rolellm_tui.output import complain, counted_progress, print_json, print_table


def strategies(
    data: Annotated[Path, typer.Option("--data", help="A folder of RoleBench.")],
    personas: Annotated[
        str, typer.Option("--personas", help="Comma-separated ids. Default: all personas of the data.")
    ] = "",
    model: ModelOption = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option("--strategy", "-s", help="Repeatable. Default: all.", metavar="NAME"),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum number of questions per persona.")
    ] = None,
    noise: Annotated[
        float,
        typer.Option(
            "--noise",
            min=0,
            max=1,
            help="Share of the profiles' lines to replace with lines of other characters.",
        ),
    ] = 0.0,
    general: Annotated[
        bool, typer.Option("--general", help="Use general instructions instead of role-specific questions.")
    ] = False,
    recall_method: RecallOption = None,
    embeddings: EmbeddingsOption = None,
    max_tokens: MaxTokensOption = 120,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the noise and of sampling.")] = 0,
    out: RunFolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare strategies on the same questions: ROUGE-L, length, prompt tokens, times.

    Decoding is greedy. The same command resumes a stopped run.

    \b
    Examples:
      rolellm eval strategies --data RoleBench --limit 2
      rolellm eval strategies --data RoleBench --personas shrek,thor --noise 0.3 --json
      rolellm eval strategies --data RoleBench --strategy system --strategy retrieval --recall bm25
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.prompting.strategies import STRATEGIES, get_strategy
    from rolellm_graphs.evaluate.strategies import StrategiesRequest, compare_strategies, run_name
    from rolellm_tui.cli.options import recall_options

    settings = load_settings()
    for name in strategy or ():
        get_strategy(name)
    request = StrategiesRequest(
        data=data,
        personas=tuple(name.strip() for name in personas.split(",") if name.strip()),
        strategies=tuple(strategy or STRATEGIES),
        kind="general" if general else "role_specific",
        limit=limit,
        noise=noise,
        seed=seed,
        recall=recall_options(settings, method=recall_method, embeddings=embeddings),
    )
    spec = model or settings.model
    chosen = get_model(spec, temperature=0, max_tokens=max_tokens)
    folder = out or user_paths().runs / run_name(request, spec)
    complain(f"The run is kept in {folder}.")
    with counted_progress("Answering") as progress:
        rows = compare_strategies(request, chosen, model_name=spec, folder=folder, on_progress=progress)
    if as_json:
        print_json(rows)
        return
    columns = [name for name in rows[0] if not name.endswith("ci95")]
    columns += [
        name for row in rows for name in row if name.endswith("less_system") and name not in columns
    ]
    print_table(
        tuple(name.replace("_", " ") for name in columns),
        ([_with_interval(row, name) for name in columns] for row in rows),
    )


def _with_interval(row: dict[str, Any], name: str) -> str:
    value, bounds = row.get(name), row.get(f"{name}_ci95")
    text = "" if value is None else f"{value:,}" if isinstance(value, float | int) else str(value)
    return f"{text} [{bounds[0]}, {bounds[1]}]" if bounds else text
