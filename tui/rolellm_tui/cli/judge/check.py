"""`rolellm judge check`: measure how reliable judges are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rolellm_tui.cli.judge.options import JudgeAtOnceOption
from rolellm_tui.cli.options import (
    BaseUrlOption,
    JsonOption,
    ModelOption,
    RunFolderOption,
    with_option_groups,
)
from rolellm_tui.output import complain, print_json

if TYPE_CHECKING:
    from rolellm_agents.judging.checking import JudgeCheck
    from rolellm_agents.judging.faults import Fault
    from rolellm_agents.judging.human_labels import HumanLabel
    from rolellm_agents.judging.rubrics import RubricChoice
    from rolellm_tui.cli.judge.options import OpenModel


@dataclass(frozen=True)
class _Material:
    """What the judges are checked on."""

    faults: Annotated[
        Path | None,
        typer.Option("--faults", help="Planted faults (JSONL). Default: the bundled ones."),
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            help="Human labels of replies (JSONL, CSV or TSV), or the raw_data folder of CharacterBench.",
        ),
    ] = None
    language: Annotated[
        Literal["en", "zh"], typer.Option("--language", help="Language of CharacterBench's texts.")
    ] = "en"
    label_limit: Annotated[
        int | None,
        typer.Option("--label-limit", min=1, help="Maximum number of labels of each aspect, by --seed."),
    ] = None
    limit: Annotated[
        int | None, typer.Option("--limit", min=0, help="Maximum number of faults of each kind.")
    ] = None

    @property
    def sources(self) -> list[str]:
        """The names of the files."""
        from rolellm_tui.cli.judge.options import source_name

        return [source_name(str(one)) if one else "" for one in (self.faults, self.labels)]


@dataclass(frozen=True)
class _CheckedJudge:
    """A judge to check, and the settings of its run."""

    name: str
    model: "OpenModel"
    config: Mapping[str, Any]
    folder: Path


@with_option_groups
def check(
    *,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="likelihood, rubric or ranking, or one of them with its model, such as "
            "rubric=openai:gpt-4o-mini. Repeatable.",
            metavar="NAME[=MODEL]",
        ),
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    rubric: Annotated[
        list[str] | None,
        typer.Option(
            "--rubric",
            help="For the rubric judge: voice, knowledge, boundary, consistency, engagement, safety, or a "
            "YAML file. Repeatable. Default: all bundled rubrics.",
            metavar="NAME|FILE",
        ),
    ] = None,
    material: _Material,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write the agreement with people as a page (HTML and Markdown)."),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            help="Write a file with which “judge chat” shows people's scores, as in --labels.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the choice of faults and of sampling.")] = 0,
    at_once: JudgeAtOnceOption = 8,
    out: RunFolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run judges on planted faults and on human labels, and measure how often they are right.

    A row of --labels has persona, question, reply and score (or scores, by annotator). A pair has other,
    another reply, and preferred: reply, other or tie. Instead of persona, a row may have character, an
    object with name and description; instead of question, turns: texts of user and persona in turn, ending
    with the user's. aspect says what was labelled, and judges holds the values of published judges by name.
    A table has the same names as columns, with description beside character, a JSON list in turns, and
    score:NAME, preferred:NAME and judge:NAME for each annotator and judge.

    The same command resumes a stopped run.

    \b
    Examples:
      rolellm judge check
      rolellm judge check --judge ranking --model openai:gpt-4o-mini --limit 10
      rolellm judge check --labels people.csv --limit 0 --judge likelihood --judge rubric=openai:gpt-4o
      rolellm judge check --labels people.csv --judge rubric --rubric mine.yaml --report trust.html
      rolellm judge check --labels CharacterBench/eval_data/raw_data --label-limit 50 --limit 0
    """
    from rolellm_agents.judging.published_judges import published_judges
    from rolellm_agents.judging.rubrics import choose_rubrics
    from rolellm_tui.cli.judge.check_printing import print_checks

    human = _labels(material, seed)
    planted = _faults(material, human, seed)
    _require_labels(human, {"--report": report, "--calibration": calibration})
    rubrics = choose_rubrics(rubric or ())
    names = judge or (["rubric"] if rubric else ["likelihood"])
    chosen = _judges(names, model, base_url, rubrics, seed=seed, sources=material.sources, out=out)
    if rubric and not any(one.name == "rubric" for one in chosen):
        raise typer.BadParameter("it needs --judge rubric", param_hint="--rubric")
    checked = [_check(one, planted, human, rubrics=rubrics, seed=seed, at_once=at_once) for one in chosen]
    judges = [*checked, *published_judges(human)]
    if as_json:
        folders = [str(one.folder) for one in chosen]
        print_json({"folders": folders, "judges": [_as_json(one) for one in judges]})
    else:
        print_checks(judges)
    if calibration:
        _write_calibration(calibration, checked, chosen, material)
    if report and material.labels:
        _write_report(report, judges, human, material.labels.name)


def _labels(material: _Material, seed: int) -> "list[HumanLabel]":
    from rolellm_agents.judging.human_labels import read_labels, some_of_each_aspect

    if material.labels is None:
        return []
    found = read_labels(material.labels.expanduser(), material.language)
    limit = material.label_limit
    return found if limit is None else some_of_each_aspect(found, limit, seed)


def _faults(material: _Material, human: "Sequence[HumanLabel]", seed: int) -> "list[Fault]":
    from rolellm_agents.judging import JudgingError
    from rolellm_agents.judging.faults import bundled_faults, read_faults, some_of_each_kind

    planted = read_faults(material.faults) if material.faults else bundled_faults()
    planted = planted if material.limit is None else some_of_each_kind(planted, material.limit, seed)
    if not planted and not human:
        raise JudgingError("There is nothing to judge; use a greater --limit, or --labels.")
    return planted


def _require_labels(human: "Sequence[HumanLabel]", files: Mapping[str, Path | None]) -> None:
    for option, file in files.items():
        if file and not human:
            raise typer.BadParameter("it needs --labels", param_hint=option)


def _judges(
    names: Sequence[str],
    model: str | None,
    base_url: str | None,
    rubrics: "RubricChoice",
    *,
    seed: int,
    sources: Sequence[str],
    out: Path | None,
) -> list[_CheckedJudge]:
    """Open the models, and settle the folders; several judges have folders of their own inside `out`."""
    from rolellm_graphs.judge.judges import judge_config
    from rolellm_tui.cli.judge.options import open_models, run_folder

    found = []
    for number, name in enumerate(dict.fromkeys(names), 1):
        judge, _, own_model = name.partition("=")
        spec = own_model or model
        opened = open_models([spec] if spec else None, base_url=base_url, temperature=None)[0]
        config = judge_config(judge, [opened], rubrics=rubrics, seed=seed)
        within = None if out is None else out if len(names) == 1 else out / f"{number}-{judge}"
        folder = within or run_folder(config, "check", *sources)
        found.append(_CheckedJudge(judge, opened, config, folder))
    return found


def _check(
    chosen: _CheckedJudge,
    faults: "Sequence[Fault]",
    labels: "Sequence[HumanLabel]",
    *,
    rubrics: "RubricChoice",
    seed: int,
    at_once: int,
) -> "JudgeCheck":
    """Check a judge of replies on single replies, and a judge of pairs on pairs."""
    import asyncio

    from rolellm_agents.judging.checking import JudgeCheck
    from rolellm_graphs.judge.check import check_pair_judge, check_reply_judge
    from rolellm_graphs.judge.judges import judge_named, judges_replies
    from rolellm_tui.cli.judge.options import warn_about_small_models
    from rolellm_tui.cli.judge.printing import judging_progress

    if chosen.name != "likelihood":
        warn_about_small_models([chosen.model])
    judging = judge_named(
        chosen.name,
        chosen.model.model,
        model_name=chosen.model.name,
        rubrics=rubrics,
        at_once=at_once,
        seed=seed,
    )
    with judging_progress(chosen.folder) as progress:
        running: Any = {
            "folder": chosen.folder,
            "config": chosen.config,
            "at_once": at_once,
            "progress": progress,
        }
        measures = asyncio.run(
            check_reply_judge(judging, faults, labels, **running)
            if judges_replies(judging)
            else check_pair_judge(judging, faults, labels, **running)
        )
    return JudgeCheck(judge=chosen.name, model=chosen.model.name, measures=tuple(measures))


def _as_json(check: "JudgeCheck") -> dict[str, Any]:
    """The check with the strength of each agreement."""
    from dataclasses import asdict

    measures = [
        {
            **asdict(measure),
            "labels": [{**asdict(one), "strength": one.strength} for one in measure.labels],
        }
        for measure in check.measures
    ]
    return {"judge": check.judge, "model": check.model, "measures": measures}


def _write_calibration(
    file: Path, checks: "Sequence[JudgeCheck]", judges: Sequence[_CheckedJudge], material: _Material
) -> None:
    from rolellm_agents.judging.calibration import calibration_of, write_calibration

    labels = material.labels.name if material.labels else ""
    found = calibration_of(checks, [one.config for one in judges], labels)
    write_calibration(found, file.expanduser())
    aspects = [one.aspect for judge in found.judges for one in judge.aspects]
    complain(
        f"{file} translates the judges' values to people's scores of {', '.join(dict.fromkeys(aspects))}."
    )


def _write_report(
    to: Path, judges: "Sequence[JudgeCheck]", human: "Sequence[HumanLabel]", source: str
) -> None:
    from rolellm_agents.reports import write_report
    from rolellm_agents.reports.judge_agreement import agreement_report

    written = write_report(agreement_report(judges, human, source), to.expanduser())
    complain(f"The report is in {written.page}.")
