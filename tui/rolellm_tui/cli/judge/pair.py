"""`rolellm judge pair`: compare two systems' replies to the same questions, in both orders."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.judge.options import JudgeOptions
from rolellm_tui.cli.options import with_option_groups
from rolellm_tui.output import complain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.judging import Judged, PairJudge
    from rolellm_tui.cli.judge.options import OpenModel

_SOURCE = "A chat (an id or a file), or replies in RoleBench's form (.jsonl)."


@with_option_groups
def pair(
    *,
    a: Annotated[str, typer.Argument(help=_SOURCE)],
    b: Annotated[str, typer.Argument(help="Another system's replies to the same questions.")],
    judge: Annotated[
        str, typer.Option("--judge", help="ranking (the paper's) or likelihood.", metavar="NAME")
    ] = "ranking",
    references: Annotated[
        list[Path] | None,
        typer.Option(
            "--references", help="Reference answers in RoleBench's form, which the judge sees. Repeatable."
        ),
    ] = None,
    options: JudgeOptions,
) -> None:
    """Compare two systems: how often A's reply to a question is better than B's.

    The judge sees each pair in both orders; contradicting verdicts count as a tie. The position bias is
    reported, too.

    \b
    Examples:
      rolellm judge pair smollm2.jsonl rolesmol.jsonl --model openai:gpt-4o-mini
      rolellm judge pair 3f9a 77c1 --json
      rolellm judge pair ours.jsonl rolegpt_baseline.jsonl --references test.jsonl --limit 100
    """
    from rolellm_agents.judging import JudgingError
    from rolellm_agents.judging.predictions import pair_replies
    from rolellm_agents.judging.recorded import about_pair
    from rolellm_graphs.judge.graph import compare_replies
    from rolellm_graphs.judge.judges import judge_config
    from rolellm_tui.cli.judge.options import open_models, run_folder, source_name, warn_about_small_models
    from rolellm_tui.cli.judge.printing import judging_progress, of_items, print_verdicts

    paired = pair_replies(*(_replies(one, options.persona, references or ()) for one in (a, b)))
    if not paired.pairs:
        raise JudgingError(f"{a} and {b} have no question in common; name replies to the same questions.")
    if any(paired.alone):
        complain(
            f"Left out: {paired.alone[0]} replies of {a} and {paired.alone[1]} of {b} "
            "without a counterpart."
        )
    pairs = paired.pairs[: options.limit]
    models = open_models(options.model, base_url=options.base_url, temperature=options.temperature)
    judging = _judge(judge, models, options)
    if judge != "likelihood":
        warn_about_small_models(models)
    config = {
        **judge_config(judge, models, seed=options.seed),
        "systems": [source_name(one) for one in (a, b)],
    }
    folder = options.out or run_folder(config)
    with judging_progress(folder) as progress:
        verdicts = asyncio.run(
            compare_replies(
                judging, pairs, folder=folder, config=config, at_once=options.at_once, progress=progress
            )
        )
    abouts = [about_pair(*one) for one in pairs]
    print_verdicts(of_items("pairs", config, abouts, verdicts), folder, as_json=options.as_json)


def _replies(source: str, persona: str | None, references: "Sequence[Path]") -> "list[Judged]":
    """The replies of one system."""
    from rolellm_agents.judging.chats import judged_of_chat
    from rolellm_agents.judging.predictions import read_predictions
    from rolellm_tui.cli.judge.options import read_chats, your_name

    path = Path(source).expanduser()
    if _holds_predictions(path):
        found = read_predictions(path, references=references)
        if found.unknown:
            complain(
                f"{sum(found.unknown.values())} rows of {source} were left out, because no persona "
                f"exists for their roles: {', '.join(found.unknown)}."
            )
        return list(found.judged)
    user = your_name()
    return [
        judged
        for one in read_chats(source, persona)
        for judged in judged_of_chat(one.persona, one.path, user=user, prefix=one.key)
    ]


def _holds_predictions(path: Path) -> bool:
    """Whether a file's first line is a row of RoleBench."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            row = json.loads(next((line for line in lines if line.strip()), ""))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(row, dict) and "generated" in row


def _judge(name: str, models: "Sequence[OpenModel]", options: JudgeOptions) -> "PairJudge":
    """A single judge, or a panel."""
    from rolellm_graphs.judge.judges import pair_judge_named
    from rolellm_graphs.judge.panel import PairPanel

    judges = [
        pair_judge_named(name, one.model, model_name=one.name, at_once=options.at_once, seed=options.seed)
        for one in models
    ]
    return judges[0] if len(judges) == 1 else PairPanel(judges)
