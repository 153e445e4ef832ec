"""`rolellm eval paper`: the tables of the RoleLLM paper, with the figures that it printed."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from rolellm_tui.cli.eval.systems import ANSWER_TOKENS, judges_named, systems_named
from rolellm_tui.cli.options import JsonOption, RunFolderOption
from rolellm_tui.output import complain, counted_progress, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.datasets import Split
    from rolellm_agents.evaluation import PaperRow
    from rolellm_agents.text.language import Language
    from rolellm_graphs.evaluate.rolebench import RoleBenchRequest

_PROMPTING = ("zero-shot", "few-shot-prompt", "few-shot-dialogue")


class _Table(NamedTuple):
    """One table of the paper."""

    title: str
    folder: str
    split: "Split"
    language: "Language"
    strategies: tuple[str, ...] = ("system",)
    """Several are compared with each other, and not with RoleGPT."""


_TABLES = (
    _Table("Table 3: new instructions, English", "table-3", "instruction-generalization", "en"),
    _Table("Table 4: new instructions, Chinese", "table-4", "instruction-generalization", "zh"),
    _Table("Table 5: new roles, English", "table-5", "role-generalization", "en"),
    _Table("Table 7: ways of prompting", "table-7", "instruction-generalization", "en", _PROMPTING),
)


def paper(
    data: Annotated[Path, typer.Option("--data", help="A folder of RoleBench.")],
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
        bool,
        typer.Option(
            "--judge/--no-judge", help="Let a model compare the replies with RoleGPT's (win rates)."
        ),
    ] = False,
    judge_model: Annotated[
        str | None,
        typer.Option("--judge-model", help="Model of the judge.", metavar="PROVIDER:NAME"),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, help="Maximum number of questions of each kind, drawn at random by --seed."
        ),
    ] = None,
    raw_en: Annotated[
        Path | None,
        typer.Option(
            "--raw-en", help="Plain answers to the English general instructions (JSONL), for RAW."
        ),
    ] = None,
    raw_zh: Annotated[
        Path | None, typer.Option("--raw-zh", help="The same for the Chinese general instructions.")
    ] = None,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=256, help="Concurrent requests to a model.")
    ] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the drawn questions and of sampling.")] = 0,
    out: RunFolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure models as the RoleLLM paper did, and show its printed figures beside them.

    Tables 3, 4 and 5 have ROUGE-L recall on general instructions (RAW, CUS) and role-specific questions
    (SPE), and with --judge the win rate against RoleGPT's published answers. The last table compares
    RoleGPT's three ways of prompting on the first model; there, the win rate is against zero-shot, and the
    paper's is the share of first ranks. The same command resumes a stopped run.

    \b
    Examples:
      rolellm eval paper --data RoleBench --limit 60
      rolellm eval paper --data RoleBench -m mine --judge --judge-model openai:gpt-4o
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.evaluation.paper_table import paper_cells
    from rolellm_agents.runs.seeds import digest_of
    from rolellm_graphs.evaluate.rolebench import RoleBenchRequest

    chosen = load_settings()
    models = list(dict.fromkeys(model or [chosen.model]))
    judging = (judge_model or chosen.model) if judge else None
    settings = f"{data.resolve()} {models} {judging} {limit} {at_once} {seed}"
    folder = out or user_paths().runs / f"paper-{digest_of(settings)[:8]}"
    complain(f"The run is kept in {folder}.")
    found: dict[str, list[PaperRow]] = {}
    for table in _TABLES:
        complain(table.title)
        request = RoleBenchRequest(
            data=data,
            split=table.split,
            strategies=table.strategies,
            language=table.language,
            limit=limit,
            seed=seed,
            plain_answers=raw_zh if table.language == "zh" else raw_en,
            against="first" if table.strategies == _PROMPTING else "rolegpt",
        )
        found[table.title] = _rows(table, request, models, judging, folder / table.folder, at_once)
    if as_json:
        tables = {title: [row.to_json() for row in rows] for title, rows in found.items()}
        print_json({"folder": str(folder), "tables": tables})
        return
    for title, rows in found.items():
        heads, cells = paper_cells(rows)
        print_text(title)
        print_table([head.upper() for head in heads], cells)
        print_text("")
    print_text(f"Full results: {folder}")


def _rows(
    table: _Table,
    request: "RoleBenchRequest",
    models: Sequence[str],
    judging: str | None,
    folder: Path,
    at_once: int,
) -> "list[PaperRow]":
    """The rows of a table; the printed ones alone if the data has no such questions.

    In the comparison of strategies, the judge compares with the first one.
    """
    import asyncio

    from rolellm_agents.errors import RoleBenchError
    from rolellm_agents.evaluation.paper_table import paper_rows, printed_rows
    from rolellm_graphs.evaluate.rolebench import run_rolebench
    from rolellm_graphs.runs.items import RunCallbacks, RunLimits

    is_prompting = table.strategies == _PROMPTING
    judges = judges_named(["ranking"] if judging else [], judging or "", at_once)
    printed = printed_rows("prompting" if is_prompting else table.split, table.language)
    try:
        with counted_progress("Answering") as progress:
            result = asyncio.run(
                run_rolebench(
                    request,
                    systems_named(models[:1] if is_prompting else models, at_once, ANSWER_TOKENS),
                    folder=folder,
                    judges=judges,
                    limits=RunLimits(at_once=at_once),
                    callbacks=RunCallbacks(progress=progress, notice=complain),
                )
            )
    except RoleBenchError as error:
        complain(f"{table.title} has no figures of your models: {error}")
        return printed
    if is_prompting:
        ranked = [row for row in result.rows if not row.system.is_published]
        return [*paper_rows(ranked, raw={}, judge="ranking"), *printed]
    return result.paper
