"""`rolellm eval suite`: published benchmarks of others in one table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rolellm_tui.cli.options import JsonOption, MaxTokensOption, RunFolderOption
from rolellm_tui.output import complain, counted_progress, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.evaluation.suite.published import PublishedBenchmark
    from rolellm_agents.evaluation.suite.results import SuiteRow
    from rolellm_agents.evaluation.suite.tasks import SuiteTask
    from rolellm_graphs.evaluate.suite import SuiteOutcome


def suite(
    data: Annotated[
        list[str],
        typer.Option(
            "--data",
            help="A benchmark and the file or folder of its published data: socialbench, timechara, "
            "characterbench, charactereval, incharacter, personagym or pingpong. Repeatable.",
            metavar="NAME=PATH",
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A model spec or a name from models.toml. Repeatable.",
            metavar="PROVIDER:NAME",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            help="The judging model; without one, judged tasks are left out.",
            metavar="PROVIDER:NAME",
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            help="The model that speaks as the user in conversations. Default: the judging model.",
            metavar="PROVIDER:NAME",
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", "-s", help="For all models. Default: each model's own.", metavar="NAME"),
    ] = None,
    choosing: Annotated[
        Literal["letter", "likelihood"],
        typer.Option(
            "--choosing",
            help="How models choose among options: they name a letter, or the likeliest text counts (local "
            "models).",
        ),
    ] = "letter",
    language: Annotated[
        Literal["en", "zh"], typer.Option("--language", help="Of benchmarks in two languages.")
    ] = "en",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum number of tasks of each category.")
    ] = None,
    max_tokens: MaxTokensOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sample and of sampling.")] = 0,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=256, help="Concurrent requests to each model.")
    ] = 8,
    out: RunFolderOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count the tasks of each category.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run published benchmarks of role play, and print one table.

    Nothing of the benchmarks is included: name the files as their authors published them. Roles are played
    from the benchmark's descriptions. A note below the table says what cannot be compared with published
    figures. The same command resumes a stopped run.

    \b
    Examples:
      rolellm eval suite --data socialbench=SocialBench/data -m llamacpp:rolesmol --limit 50
      rolellm eval suite --data socialbench=SocialBench/data -m llamacpp:smollm2 --choosing likelihood
      rolellm eval suite --data timechara=timechara.jsonl -m openai:qwen3-8b --judge openai:gpt-4o
      rolellm eval suite --data pingpong=settings.json -m openai:qwen3-8b --judge openai:gpt-4o --limit 20
    """
    import asyncio

    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.evaluation.suite.results import suite_rows
    from rolellm_agents.evaluation.suite.tasks import draw_tasks
    from rolellm_agents.runs.seeds import digest_of
    from rolellm_graphs.evaluate.answering import AnsweringSystem
    from rolellm_graphs.evaluate.suite import SuiteRequest, run_suite
    from rolellm_graphs.runs.items import RunCallbacks, RunLimits
    from rolellm_tui.cli.eval.systems import answering_system
    from rolellm_tui.cli.judge.options import open_models

    sources = [_source(one) for one in data]
    tasks = [task for benchmark, path in sources for task in benchmark.read(path, language)]
    tasks = draw_tasks(_judgeable(tasks, judge), limit, seed=seed)
    if dry_run:
        _print_counts(tasks)
        return
    names = list(dict.fromkeys(model or [load_settings().model]))
    [judging] = open_models([judge], base_url=None, temperature=None) if judge else [None]
    [speaking] = open_models([user], base_url=None, temperature=None) if user else [None]
    request = SuiteRequest(
        tasks=tuple(tasks),
        systems=tuple(answering_system(name, strategy, max_tokens) for name in names),
        judge=AnsweringSystem(judging.name, judging.model, "") if judging else None,
        user=AnsweringSystem(speaking.name, speaking.model, "") if speaking else None,
        choosing=choosing,
        seed=seed,
    )
    settings = (
        f"{sorted(data)} {names} {judge} {user or ''} {strategy} {choosing} {language} {limit} {seed}"
    )
    folder = out or user_paths().runs / f"suite-{digest_of(settings)[:8]}"
    complain(f"The run is kept in {folder}.")
    with counted_progress("Answering") as progress:
        callbacks = RunCallbacks(progress=progress, notice=complain)
        outcome = asyncio.run(
            run_suite(request, folder=folder, limits=RunLimits(at_once=at_once), callbacks=callbacks)
        )
    rows = suite_rows(tasks, outcome.scores)
    notes = {benchmark.title: benchmark.note for benchmark, _ in sources}
    if as_json:
        _print_as_json(folder, rows, outcome, notes)
    else:
        _print(rows, outcome, notes)


def _source(named: str) -> "tuple[PublishedBenchmark, Path]":
    from rolellm_agents.evaluation.suite.published import BENCHMARKS
    from rolellm_agents.text import did_you_mean

    name, equals, path = named.partition("=")
    if not equals or name not in BENCHMARKS:
        hint = did_you_mean(name, BENCHMARKS)
        raise typer.BadParameter(
            f"{named!r} does not name a benchmark and its path{hint}; use NAME=PATH, with one of "
            f"{', '.join(BENCHMARKS)}.",
            param_hint="--data",
        )
    return BENCHMARKS[name], Path(path).expanduser()


def _judgeable(tasks: "list[SuiteTask]", judge: str | None) -> "list[SuiteTask]":
    """The tasks that can be scored; without a judge, those that need none."""
    from rolellm_agents.benchmarks.errors import BenchmarkError

    if judge:
        return tasks
    kept = [task for task in tasks if not task.needs_judge]
    if len(kept) < len(tasks):
        complain(f"{len(tasks) - len(kept)} tasks need a judge and are left out; --judge names one.")
    if not kept:
        raise BenchmarkError("No task can be scored without a judge; name its model with --judge.")
    return kept


def _print_counts(tasks: "Sequence[SuiteTask]") -> None:
    from collections import Counter

    counts = Counter((task.benchmark, task.category) for task in tasks)
    print_table(
        ("BENCHMARK", "CATEGORY", "TASKS"),
        ((benchmark, category, str(number)) for (benchmark, category), number in counts.items()),
    )


def _print(rows: "Sequence[SuiteRow]", outcome: "SuiteOutcome", notes: dict[str, str]) -> None:
    print_table(
        ("BENCHMARK", "CATEGORY", "SYSTEM", "SCORE", "95 %", "OF", "CHANCE", "N", "UNSCORED"),
        [_cells(one) for one in rows],
    )
    for title, note in notes.items():
        print_text(f"{title}: {note}")
    print_text(
        f"{outcome.tokens.read:,} tokens read, {outcome.tokens.written:,} written; the calls took "
        f"{outcome.seconds / 60:.0f} min one after the other."
    )


def _cells(one: "SuiteRow") -> tuple[str, ...]:
    score = one.score
    bounded = score is not None and score.low is not None
    return (
        one.benchmark,
        one.category,
        one.system,
        f"{score.mean:.3f}" if score else "–",
        f"[{score.low:.2f}, {score.high:.2f}]" if score and bounded else "",
        str(one.best),
        "" if one.chance is None else f"{one.chance:.2f}",
        str(score.n if score else 0),
        str(one.unscored or ""),
    )


def _print_as_json(
    folder: Path, rows: "Sequence[SuiteRow]", outcome: "SuiteOutcome", notes: dict[str, str]
) -> None:
    print_json(
        {
            "folder": str(folder),
            "rows": [one.as_json() for one in rows],
            "notes": notes,
            "tokens": {"read": outcome.tokens.read, "written": outcome.tokens.written},
            "seconds": round(outcome.seconds, 1),
        }
    )
