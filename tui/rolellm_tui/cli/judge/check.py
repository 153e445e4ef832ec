"""`rolellm judge check`: measure how reliable a judge is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.judge.options import JudgeAtOnceOption
from rolellm_tui.cli.options import BaseUrlOption, JsonOption, ModelOption, RunFolderOption
from rolellm_tui.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.judging import PairJudge, ReplyJudge
    from rolellm_agents.judging.checking import Agreement, Rate
    from rolellm_agents.judging.faults import Fault
    from rolellm_agents.judging.human_labels import HumanLabel
    from rolellm_agents.metrics.correlation import Correlated
    from rolellm_graphs.judge.check import MeasureCheck
    from rolellm_tui.cli.judge.options import OpenModel


def check(
    judge: Annotated[
        str, typer.Option("--judge", help="likelihood, rubric or ranking.", metavar="NAME")
    ] = "likelihood",
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    faults: Annotated[
        Path | None,
        typer.Option("--faults", help="Planted faults (JSONL). Default: the bundled ones."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="Human labels of replies (JSONL).")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=0, help="Maximum number of faults of each kind.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the choice of faults and of sampling.")] = 0,
    at_once: JudgeAtOnceOption = 8,
    out: RunFolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a judge on planted faults and on human labels, and measure how often it is right.

    A row of --labels has persona, question, reply and score (or scores, by annotator). A pair has other,
    another reply, and preferred: reply, other or tie. Instead of persona, a row may have character, an
    object with name and description; instead of question, turns: texts of user and persona in turn, ending
    with the user's. aspect says what was labelled. The same command resumes a stopped run.

    \b
    Examples:
      rolellm judge check
      rolellm judge check --judge ranking --model openai:gpt-4o-mini --limit 10
      rolellm judge check --judge rubric --labels people.jsonl --limit 0 --json
    """
    import asyncio
    from dataclasses import asdict

    from rolellm_agents.judging import JudgingError
    from rolellm_agents.judging.faults import bundled_faults, read_faults, some_of_each_kind
    from rolellm_agents.judging.human_labels import read_labels
    from rolellm_graphs.judge.judges import judge_config, judge_named
    from rolellm_tui.cli.judge.options import run_folder, source_name
    from rolellm_tui.cli.judge.printing import judging_progress

    planted = read_faults(faults) if faults else bundled_faults()
    planted = planted if limit is None else some_of_each_kind(planted, limit, seed)
    human = read_labels(labels) if labels else []
    if not planted and not human:
        raise JudgingError("There is nothing to judge; use a greater --limit, or --labels.")
    chosen = _open(judge, model, base_url)
    judging = judge_named(judge, chosen.model, model_name=chosen.name, at_once=at_once, seed=seed)
    config = judge_config(judge, [chosen], seed=seed)
    sources = [source_name(str(one)) if one else "" for one in (faults, labels)]
    folder = out or run_folder(config, "check", *sources)
    with judging_progress(folder) as progress:
        running = {"folder": folder, "config": config, "at_once": at_once, "progress": progress}
        found = asyncio.run(_checked(judging, planted, human, **running))
    if as_json:
        print_json(
            {
                "judge": judge,
                "model": chosen.name,
                "folder": str(folder),
                "measures": [asdict(one) for one in found],
            }
        )
        return
    for one in found:
        _print(one)


def _open(judge: str, model: str | None, base_url: str | None) -> "OpenModel":
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import get_model
    from rolellm_tui.cli.judge.options import OpenModel, open_models

    if judge != "likelihood":
        return open_models([model] if model else None, base_url=base_url, temperature=None)[0]
    spec = model or load_settings().model
    return OpenModel(spec, get_model(spec, base_url=base_url))


async def _checked(
    judge: "ReplyJudge | PairJudge",
    faults: "Sequence[Fault]",
    labels: "Sequence[HumanLabel]",
    **running: Any,
) -> "list[MeasureCheck]":
    """Check a judge of replies on single replies, and a judge of pairs on pairs."""
    from rolellm_graphs.judge.check import check_pair_judge, check_reply_judge
    from rolellm_graphs.judge.judges import judges_replies

    if judges_replies(judge):
        return await check_reply_judge(judge, faults, labels, **running)
    return await check_pair_judge(judge, faults, labels, **running)


def _print(found: "MeasureCheck") -> None:
    print_text(f"{found.measure}: how often the clean reply scored higher")
    if found.detected:
        print_table(
            ("FAULT", "DETECTED", "95 %", "N", "UNJUDGED"),
            ((kind, *_rate(rate)) for kind, rate in found.detected.items()),
        )
    for line in _lines(found):
        print_text(line)
    print_text("")


def _lines(found: "MeasureCheck") -> list[str]:
    lines = []
    if found.length is not None:
        lines.append(f"Correlation of values and length (clean replies): rho {_correlated(found.length)}")
    if found.orders is not None and found.orders.consistent is not None:
        lines.append(
            f"Consistent in both orders: {found.orders.consistent:.2f}; first position preferred: "
            f"{found.orders.first_preferred:.2f} (n {found.orders.n})"
        )
    lines += [line for one in found.labels for line in _agreement(one)]
    if found.unscored:
        lines.append(f"Without a value: {_counts(found.unscored)}")
    return lines


def _agreement(found: "Agreement") -> list[str]:
    about = f"{found.aspect}: " if found.aspect else ""
    lines = [
        f"{about}Correlation with people, {name}: {_correlated(one)}"
        for name, one in found.correlations.items()
    ]
    if found.agreement is not None:
        value, interval, n, _ = _rate(found.agreement)
        lines.append(f"{about}Agreement with the majority of people: {value} {interval} (n {n})")
    if found.people_alpha is not None:
        lines.append(f"{about}Agreement of people: alpha {found.people_alpha:.2f}")
    return [*lines, f"{about}Agreement of the judge with people: {found.strength}"]


def _rate(rate: "Rate") -> tuple[str, str, str, str]:
    value = "–" if rate.value is None else f"{rate.value:.2f}"
    interval = f"[{rate.ci95[0]:.2f}, {rate.ci95[1]:.2f}]" if rate.ci95 else ""
    return value, interval, str(rate.n), str(rate.unjudged or "")


def _correlated(found: "Correlated") -> str:
    value = "–" if found.value is None else f"{found.value:+.2f}"
    interval = "" if found.low is None or found.high is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    return f"{value}{interval} (n {found.n})"


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{times} {status}" for status, times in counted.items())
