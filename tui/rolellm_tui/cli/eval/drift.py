"""`rolellm eval drift`: measure persona drift over the turns of a conversation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption, MaxTokensOption, RunFolderOption
from rolellm_tui.output import complain, counted_progress, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.persona import Persona
    from rolellm_graphs.evaluate.rolebench import NamedJudge

_ANSWER_TOKENS = 100
_QUESTION_TOKENS = 60
_VERDICT_TOKENS = 400
_NONE = "none"
_SHOWN = (
    "likelihood",
    "style_distance",
    "repeats_earlier",
    "in_role",
    "words",
    "remembers",
    "same_as_before",
)
"""Measures that the terminal shows first; the run's folder holds all."""


def drift(
    persona: Annotated[
        list[str] | None, typer.Option("--persona", help="Persona of the conversations. Repeatable.")
    ] = None,
    personas: Annotated[
        str,
        typer.Option("--personas", help="The same, comma-separated: ids, names or files; or “all”."),
    ] = "",
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="Model to evaluate: a model spec or a name from models.toml. Repeatable.",
            metavar="PROVIDER:NAME",
        ),
    ] = None,
    strategy: Annotated[
        str, typer.Option("--strategy", "-s", help="Prompting strategy.", metavar="NAME")
    ] = "system",
    turns: Annotated[int, typer.Option("--turns", min=1, max=500, help="Turns per conversation.")] = 10,
    probe: Annotated[
        list[int] | None,
        typer.Option(
            "--probe",
            min=3,
            help="Turn at which the two closing questions are asked. Repeatable. Default: the last turn.",
        ),
    ] = None,
    interviews: Annotated[
        int,
        typer.Option(
            "--interviews",
            min=1,
            help="Conversations per persona. 7 rotate each question through each turn.",
        ),
    ] = 7,
    interviewer: Annotated[
        str | None,
        typer.Option(
            "--interviewer",
            help="Model that asks the questions. Default: fixed questions.",
            metavar="PROVIDER:NAME",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            help="likelihood, rubric or none. Default: likelihood if the model gives probabilities.",
            metavar="NAME",
        ),
    ] = None,
    judge_model: Annotated[
        str | None,
        typer.Option(
            "--judge-model", help="Model of the judge. Default: the first model.", metavar="PROVIDER:NAME"
        ),
    ] = None,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=256, help="Concurrent conversations.")
    ] = 8,
    max_tokens: MaxTokensOption = _ANSWER_TOKENS,
    seed: Annotated[int, typer.Option("--seed", help="Sampling seed.")] = 0,
    out: RunFolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how a persona's likelihood, style, memory and role drift over a conversation.

    A visitor introduces themselves, asks about work, fear, pride, AI and smartphones, and finally for their
    own name. The middle questions rotate between conversations. Slopes are per turn. In long conversations,
    --probe asks for the name and the work at several turns, and only these are printed. The same command
    resumes a stopped run.

    \b
    Examples:
      rolellm eval drift --persona sherlock-holmes
      rolellm eval drift --personas shrek,thor -m llamacpp:smollm2 -m mine --turns 10 --json
      rolellm eval drift --persona shrek --interviewer openai:gpt-4o-mini --judge rubric
      rolellm eval drift --personas all --turns 200 --probe 5 --probe 50 --probe 200 --interviews 1
    """
    import asyncio

    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.config.settings import load_settings
    from rolellm_graphs.evaluate.drift import DriftRequest, run_drift, run_name
    from rolellm_graphs.evaluate.rolebench import SystemUnderTest
    from rolellm_graphs.runs.items import RunCallbacks, RunLimits

    probes = tuple(sorted(set(probe or ())))
    models = model or [load_settings().model]
    asking = SystemUnderTest(interviewer, _opened(interviewer, _QUESTION_TOKENS)) if interviewer else None
    request = DriftRequest(
        personas=tuple(_personas(persona or (), personas)),
        strategy=strategy,
        turns=turns,
        interviews=interviews,
        interviewer=asking,
        probes=probes,
        seed=seed,
    )
    systems = [SystemUnderTest(name, _opened(name, max_tokens)) for name in dict.fromkeys(models)]
    judging = _judge(judge, judge_model or models[0], at_once)
    folder = out or user_paths().runs / run_name(request, models, at_once, max_tokens)
    complain(f"The run is kept in {folder}.")
    with counted_progress("Interviewing") as progress:
        result = asyncio.run(
            run_drift(
                request,
                systems,
                folder=folder,
                judge=judging,
                limits=RunLimits(at_once=at_once),
                callbacks=RunCallbacks(progress=progress, notice=complain),
            )
        )
    results = result.to_json()
    if as_json:
        print_json({"folder": str(folder), **results})
    else:
        for system in results["systems"]:
            _show(system, probes)
        print_text(f"Full results: {folder / 'results.json'}")
    _raise_failures(result.failed, result.first_failure, result.notes)


def _personas(named: Sequence[str], listed: str) -> "list[Persona]":
    from rolellm_agents.persona import list_personas, load_persona

    if listed.strip() == "all":
        return [found.persona for found in list_personas().found]
    return [load_persona(name) for name in (*named, *filter(None, map(str.strip, listed.split(","))))]


def _opened(name: str, max_tokens: int | None) -> Any:
    from rolellm_agents.models.catalog import get_model

    return get_model(name, temperature=0, max_tokens=max_tokens)


def _judge(name: str | None, model_name: str, at_once: int) -> "NamedJudge | None":
    """The named judge; by default the likelihood judge, or none without probabilities."""
    from rolellm_graphs.evaluate.rolebench import NamedJudge
    from rolellm_graphs.judge.judges import default_reply_judge, judge_config, reply_judge_named

    if name == _NONE:
        return None
    from rolellm_agents.models.catalog import get_model

    model = get_model(model_name, temperature=0, max_tokens=_VERDICT_TOKENS)
    chosen = name or default_reply_judge(model)
    if name is None and chosen != "likelihood":
        complain(
            f"{model_name} gives no probabilities, so replies are not judged; choose a judge with --judge."
        )
        return None
    judge = reply_judge_named(chosen, model, model_name=model_name, at_once=at_once)
    return NamedJudge(chosen, judge, judge_config(chosen, [(model_name, model)]))


def _show(system: Mapping[str, Any], probes: Sequence[int]) -> None:
    """Print a row for each turn, or for each turn of the probes, and the slopes below."""
    from rolellm_agents.reports.number_format import counted

    print_text(
        f"{system['model']} · {system['strategy']}: {counted(system['interviews'], 'conversation')} with "
        f"{counted(system['personas'], 'persona')}"
    )
    figures = {(one["measure"], one["turn"]): one for one in system["turns"]}
    slopes = {one["measure"]: one for one in system["slopes"]}
    measures = [*_columns(figures)]
    shown = {turn for probe in probes for turn in (probe - 1, probe)}
    turns = sorted({turn for _, turn in figures if not probes or turn in shown})
    rows = [[str(turn), *(_figure(figures.get((measure, turn))) for measure in measures)] for turn in turns]
    rows.append(["slope", *(_figure(slopes.get(measure), "+") for measure in measures)])
    print_table(("TURN", *(measure.replace("_", " ").upper() for measure in measures)), rows)
    if system["unscored"]:
        counts = ", ".join(f"{number} {status}" for status, number in system["unscored"].items())
        print_text(f"Not scored: {counts}")
    print_text("")


def _columns(figures: Mapping[tuple[str, int], Mapping[str, Any]]) -> Iterator[str]:
    """The measures to print; detections only if one was found."""
    from rolellm_agents.reply_checks.detections import DETECTIONS

    known = dict.fromkeys(measure for measure, _ in figures)
    detections = {name.replace("-", "_") for name in DETECTIONS}
    yield from (measure for measure in _SHOWN if measure in known)
    for measure in known:
        found = any(one["mean"] for (name, _), one in figures.items() if name == measure)
        if measure not in _SHOWN and (measure not in detections or found):
            yield measure


def _figure(one: Mapping[str, Any] | None, sign: str = "") -> str:
    from rolellm_agents.reports.number_format import with_bounds

    if one is None:
        return ""
    if abs(one["mean"]) >= 10:
        return f"{one['mean']:.1f}"
    return with_bounds(one["mean"], one["ci95"], sign)


def _raise_failures(failed: int, first: str, notes: Sequence[str]) -> None:
    from rolellm_agents.errors import ModelError

    if failed:
        raise ModelError(
            f"{failed} conversations failed ({first.rstrip('.')}); the results are of the others. Run the "
            "same command to retry."
        )
    if notes:
        raise ModelError(f"{notes[-1].rstrip('.')}. Run the same command to continue.")
