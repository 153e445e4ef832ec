"""`rolellm judge pair`: two systems' replies to the same questions, each pair compared in both orders."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.judge.options import (
    JudgeAtOnceOption,
    JudgeLimitOption,
    JudgeModelsOption,
    JudgeOutOption,
    JudgePersonaOption,
    JudgeSeedOption,
)
from rolellm_tui.cli.options import BaseUrlOption, JsonOption, TemperatureOption
from rolellm_tui.output import complain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.judging import Judged, PairJudge
    from rolellm_tui.cli.judge.options import OpenModel

_SOURCE = "A chat (an id or a file), or a model's replies in RoleBench's form (.jsonl)."


def pair(
    a: Annotated[str, typer.Argument(help=_SOURCE)],
    b: Annotated[str, typer.Argument(help="The other's, to the same questions.")],
    judge: Annotated[
        str, typer.Option("--judge", help="ranking (the paper's) or likelihood.", metavar="NAME")
    ] = "ranking",
    references: Annotated[
        list[Path] | None,
        typer.Option("--references", help="Good answers in RoleBench's form, which the judge is shown."),
    ] = None,
    persona: JudgePersonaOption = None,
    limit: JudgeLimitOption = None,
    model: JudgeModelsOption = None,
    base_url: BaseUrlOption = None,
    temperature: TemperatureOption = None,
    seed: JudgeSeedOption = 0,
    at_once: JudgeAtOnceOption = 8,
    out: JudgeOutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two systems: how often A's reply is better than B's to the same question.

    Each pair is asked about twice, once with A first and once with B first; where the two disagree it is a
    tie. How often the judge preferred what stood first is told beside.

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
    from rolellm_tui.cli.judge.options import open_models, run_folder, source_name, warn_of_small
    from rolellm_tui.cli.judge.printing import judging_progress, of_items, tell

    paired = pair_replies(*(_replies(one, persona, references or ()) for one in (a, b)))
    if not paired.pairs:
        raise JudgingError(
            f"{a} and {b} share no question to one persona; name replies to the same questions."
        )
    if any(paired.alone):
        complain(
            f"Left out: {paired.alone[0]} replies of {a} and {paired.alone[1]} of {b}, which the "
            "other has nothing beside."
        )
    pairs = paired.pairs[:limit]
    models = open_models(model, base_url=base_url, temperature=temperature)
    judging = _judge(judge, models, at_once, seed)
    if judge != "likelihood":
        warn_of_small(models)
    config = {
        **judge_config(judge, models, seed=seed),
        "systems": [source_name(one) for one in (a, b)],
    }
    folder = out or run_folder(config)
    with judging_progress(folder) as progress:
        verdicts = asyncio.run(
            compare_replies(
                judging, pairs, folder=folder, config=config, at_once=at_once, progress=progress
            )
        )
    abouts = [about_pair(*one) for one in pairs]
    tell(of_items("pairs", config, abouts, verdicts), folder, as_json=as_json)


def _replies(source: str, persona: str | None, references: "Sequence[Path]") -> "list[Judged]":
    """One system's replies."""
    from rolellm_agents.judging.chats import judged_of_chat
    from rolellm_agents.judging.predictions import read_predictions
    from rolellm_tui.cli.judge.options import read_chats, your_name

    path = Path(source).expanduser()
    if _holds_predictions(path):
        found = read_predictions(path, references=references)
        if found.unknown:
            complain(
                f"{sum(found.unknown.values())} rows of {source} are left out, since there is no persona "
                f"for their roles: {', '.join(found.unknown)}."
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


def _judge(name: str, models: "Sequence[OpenModel]", at_once: int, seed: int) -> "PairJudge":
    """One judge, or a panel of several."""
    from rolellm_graphs.judge.judges import pair_judge_named
    from rolellm_graphs.judge.panel import PairPanel

    judges = [
        pair_judge_named(name, one.model, model_name=one.name, at_once=at_once, seed=seed) for one in models
    ]
    return judges[0] if len(judges) == 1 else PairPanel(judges)
