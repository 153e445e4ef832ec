"""`rolellm eval rolebench`: compare models and strategies on RoleBench."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rolellm_tui.cli.eval.systems import ANSWER_TOKENS, judges_named, systems_named
from rolellm_tui.cli.options import (
    EmbeddingsOption,
    JsonOption,
    MaxTokensOption,
    RecallOption,
    RunFolderOption,
)
from rolellm_tui.output import complain, counted_progress, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.evaluation import Judgement, Result, ResultRow
    from rolellm_agents.evaluation.predicted import PredictionFile
    from rolellm_agents.metrics import Interval

_NOTHING = "–"

SplitChoice = Literal["instruction-generalization", "role-generalization"]
KindChoice = Literal["role_specific", "general", "both"]
LanguageChoice = Literal["en", "zh"]
AgainstChoice = Literal["first", "rolegpt"]


def rolebench(
    data: Annotated[Path, typer.Option("--data", help="A folder of RoleBench.")],
    split: Annotated[
        SplitChoice, typer.Option("--split", help="What the test split holds out.")
    ] = "instruction-generalization",
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A model spec or a name from models.toml. Repeatable.",
            metavar="PROVIDER:NAME",
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy", "-s", help="Prompting strategy. Default: “system”. Repeatable.", metavar="NAME"
        ),
    ] = None,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "--predictions",
            help="Answers of another program: JSONL with role, question and prediction. Repeatable.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--as", help="Name of the predictions, in their order.", metavar="NAME"),
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option(
            "--raw", help="Plain answers to the general instructions (JSONL), for the paper's RAW."
        ),
    ] = None,
    kind: Annotated[KindChoice, typer.Option("--kind", help="Kind of the questions.")] = "both",
    language: Annotated[
        LanguageChoice, typer.Option("--language", help="Language of the questions.")
    ] = "en",
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, help="Maximum number of questions of each kind, drawn at random by --seed."
        ),
    ] = None,
    personas: Annotated[
        str, typer.Option("--personas", help="Comma-separated roles, ids or files. Default: all roles.")
    ] = "",
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="likelihood, rubric or ranking. Repeatable.", metavar="NAME"),
    ] = None,
    judge_model: Annotated[
        str | None,
        typer.Option("--judge-model", help="Model of the judges.", metavar="PROVIDER:NAME"),
    ] = None,
    against: Annotated[
        AgainstChoice,
        typer.Option(
            "--against", help="With whose replies ranking compares: the first system's or RoleGPT's."
        ),
    ] = "first",
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=256, help="Concurrent requests to a model.")
    ] = 8,
    max_tokens: MaxTokensOption = ANSWER_TOKENS,
    recall_method: RecallOption = None,
    embeddings: EmbeddingsOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the drawn questions and of sampling.")] = 0,
    out: RunFolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare models and strategies on the same questions: ROUGE-L, the paper's metric, judges, intervals.

    Decoding is greedy. RoleGPT's published answers and --predictions are rows of their own, and the last
    table has the figures that the paper printed. Questions that also occur in the
    training set are reported separately. The same command resumes a stopped run.

    \b
    Examples:
      rolellm eval rolebench --data RoleBench --model llamacpp:smollm2 --limit 40
      rolellm eval rolebench --data RoleBench -m llamacpp:smollm2 -m mine -s system -s retrieval --json
      rolellm eval rolebench --data RoleBench --predictions mine.jsonl --as mine
      rolellm eval rolebench --data RoleBench --split role-generalization --judge likelihood
    """
    import asyncio

    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.config.settings import load_settings
    from rolellm_graphs.evaluate.rolebench import RoleBenchRequest, run_name, run_rolebench
    from rolellm_graphs.runs.items import RunCallbacks, RunLimits
    from rolellm_tui.cli.options import recall_options

    settings = load_settings()
    request = RoleBenchRequest(
        data=data,
        split=split,
        strategies=tuple(strategy or ("system",)),
        kinds=("role_specific", "general") if kind == "both" else (kind,),
        language=language,
        limit=limit,
        roles=tuple(name.strip() for name in personas.split(",") if name.strip()),
        seed=seed,
        recall=recall_options(settings, method=recall_method, embeddings=embeddings),
        predictions=_prediction_files(predictions or [], names or []),
        plain_answers=raw,
        against=against,
    )
    systems = systems_named(model or ([] if predictions else [settings.model]), at_once, max_tokens)
    judges = judges_named(judge or [], judge_model or settings.model, at_once)
    folder = out or user_paths().runs / run_name(
        request, [one.name for one in systems], at_once, max_tokens
    )
    complain(f"The run is kept in {folder}.")

    async def run(callbacks: RunCallbacks) -> "Result":
        limits = RunLimits(at_once=at_once)
        return await run_rolebench(
            request, systems, folder=folder, judges=judges, limits=limits, callbacks=callbacks
        )

    with counted_progress("Answering") as progress:
        result = asyncio.run(run(RunCallbacks(progress=progress, notice=complain)))
    if as_json:
        print_json({**result.to_json(), "folder": str(folder)})
    else:
        _show(result, folder)
    _raise_failures(result)


def _prediction_files(paths: Sequence[Path], names: Sequence[str]) -> "tuple[PredictionFile, ...]":
    """The files with their names; by default a file's name without its ending."""
    from rolellm_agents.evaluation.predicted import PredictionFile

    if len(names) > len(paths):
        raise typer.BadParameter("there are more names than --predictions.", param_hint="--as")
    return tuple(
        PredictionFile(name or path.stem, path)
        for path, name in zip_longest(paths, names)
        if path is not None
    )


def _show(result: "Result", folder: Path) -> None:
    """Print a table per kind of question, the judges' table, the paper's table, and the throughput."""
    from rolellm_agents.evaluation.paper_table import paper_cells

    for kind in dict.fromkeys(row.kind for row in result.rows):
        rows = [row for row in result.rows if row.kind == kind]
        questions = max(row.n + row.missing for row in rows)
        print_text(
            f"{kind.replace('_', '-')}: {questions} questions to {max(row.roles for row in rows)} roles"
        )
        columns = _columns(rows)
        print_table(columns, ([*_cells(row, columns)] for row in rows))
        print_text("")
    if judged := [(row, one) for row in result.rows for one in row.judged]:
        print_table(_JUDGED, (_judged_cells(row, one) for row, one in judged))
        print_text("")
    heads, cells = paper_cells(result.paper)
    print_text(
        "In the layout of the paper (ROUGE-L recall, which rewards length), with its printed figures:"
    )
    print_table([head.upper() for head in heads], cells)
    for one in result.throughput:
        figures = one.to_json()
        print_text(
            f"\n{one.model}: {one.answers} answers in {one.seconds:,.1f} s, "
            f"{figures['answers_per_second']} a second, "
            f"{figures['tokens_per_second']} tokens a second, concurrency {one.at_once}"
        )
    print_text(f"\nFull results: {folder / 'results.json'}")


_FIGURES: dict[str, str] = {
    "words": "WORDS",
    "in_role": "IN ROLE",
    "loops": "LOOPS",
    "empty": "EMPTY",
    "distinct_2": "DIST-2",
    "new_tokens": "READ",
    "seconds": "S",
}
"""The means that the terminal shows, and the heads of their columns."""


def _columns(rows: "Sequence[ResultRow]") -> list[str]:
    """The columns that have a value in some row."""
    return [
        "MODEL",
        "STRATEGY",
        "F1",
        *(["LESS FIRST"] if any(row.less_first for row in rows) else []),
        *(["NEW QUESTIONS"] if any(row.n_clean not in (None, 0, row.n) for row in rows) else []),
        "PAPER",
        "N",
        *(head for name, head in _FIGURES.items() if any(row.means.get(name) for row in rows)),
    ]


def _cells(row: "ResultRow", columns: Sequence[str]) -> Iterator[str]:
    clean = row.clean.get("rouge_l_f1")
    less = row.less_first.get("rouge_l_f1")
    cells: dict[str, str] = {
        "MODEL": row.system.model,
        "STRATEGY": row.system.strategy,
        "F1": _figure(row.scores.get("rouge_l_f1")),
        "LESS FIRST": _figure(less.interval if less else None, sign="+"),
        "NEW QUESTIONS": f"{_short(clean.mean)} ({clean.n})" if clean else _NOTHING,
        "PAPER": _figure(row.scores.get("paper")),
        "N": str(row.n),
        **{head: _mean(name, row.means.get(name)) for name, head in _FIGURES.items()},
    }
    yield from (cells[column] for column in columns)


_JUDGED = (
    *("MODEL", "STRATEGY", "KIND", "JUDGE", "MEASURE", "MEAN", "N", "UNSCORED"),
    *("EQUAL LENGTH", "CONSISTENT"),
)


def _judged_cells(row: "ResultRow", one: "Judgement") -> list[str]:
    unscored = ", ".join(f"{status} {number}" for status, number in one.unscored.items())
    return [
        row.system.model,
        row.system.strategy,
        row.kind,
        one.judge,
        one.measure,
        _figure(one.interval),
        str(one.interval.n if one.interval else 0),
        unscored,
        *((_figure(one.at_equal_length), f"{one.position.consistent:.0%}") if one.position else ("", "")),
    ]


def _figure(interval: "Interval | None", *, sign: str = "") -> str:
    """A mean with its bounds: `.214 [.201 .229]`."""
    if interval is None:
        return _NOTHING
    mean = _short(interval.mean, sign)
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} [{_short(interval.low, sign)} {_short(interval.high, sign)}]"


def _short(value: float, sign: str = "") -> str:
    return f"{value:{sign}.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:{sign}.3f}"


def _mean(name: str, value: float | None) -> str:
    if value is None:
        return _NOTHING
    if name == "seconds" or value >= 1:
        return f"{value:,.1f}".removesuffix(".0")
    return _short(value) if value else "0"


def _raise_failures(result: "Result") -> None:
    """Raise an error if answers or verdicts are missing."""
    from rolellm_agents.errors import ModelError

    if result.failed:
        raise ModelError(
            f"{result.failed} answers failed ({result.first_failure.rstrip('.')}); the "
            "results are of the others. Run the same command to retry."
        )
    if not result.complete:
        raise ModelError(f"{result.notes[-1].rstrip('.')}. Run the same command to continue.")
