"""`rolellm data verify`: check generated answers, and repair or label those with a fault."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.data.options import GeneratorOptions, generate, generating_model, own_folder
from rolellm_tui.cli.options import RowPersonaOption, cast_with, with_option_groups
from rolellm_tui.output import complain

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.datasets import Sample
    from rolellm_agents.persona import Persona
    from rolellm_graphs.generate.answer_checks import AnswerCheck

_OWN_CHECKS = ("support", "lines", "gain")


@with_option_groups
def verify(
    *,
    source: Annotated[Path, typer.Argument(help="A generator's run, a JSONL file, or a folder of data.")],
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            help="support (the model compares each answer with its lines), lines (the answer must be "
            "likelier with its lines than without), gain (likelier from the persona than from anybody), a "
            "rubric's name, or a rubric's YAML file. Repeatable. Default: support; lines for the embedded "
            "model, which cannot judge.",
            metavar="NAME|FILE",
        ),
    ] = None,
    least_line_gain: Annotated[
        float, typer.Option("--least-line-gain", help="For lines: least gain, in nats per token.")
    ] = 0.05,
    least_gain: Annotated[
        float, typer.Option("--least-gain", help="For gain: least gain, in nats per token.")
    ] = 0.0,
    least_grade: Annotated[
        int, typer.Option("--least-grade", min=1, max=5, help="For rubrics: least grade.")
    ] = 3,
    gain_model: Annotated[
        str,
        typer.Option(
            "--gain-model",
            help="For lines and gain: a local model with log-probabilities.",
            metavar="PROVIDER:NAME",
        ),
    ] = "llamacpp:smollm2",
    repair: Annotated[
        bool,
        typer.Option("--repair/--no-repair", help="Let the persona answer again, once, after a fault."),
    ] = True,
    persona: RowPersonaOption = None,
    options: GeneratorOptions,
) -> None:
    """Check generated answers; repair those with a fault once, and label those that still have it.

    samples.jsonl holds the answers that passed, with the results of their checks; left_out.jsonl holds the
    others with their labels. The model (--model) judges, and plays the personas that answer again. The same
    command resumes a stopped run.

    \b
    Examples:
      rolellm data verify runs/ci --out runs/ci-verified --model openai:gpt-4o-mini
      rolellm data verify runs/ci --check support --check voice --check gain -m openai:qwen3-8b
      rolellm data verify samples.jsonl --check mine.yaml --least-grade 4 --no-repair --dry-run
    """
    from rolellm_agents.datasets.sources import source_samples
    from rolellm_graphs.generate.verification import VerificationRequest, verification_guess, verify

    name, chat_model = generating_model(options)
    samples = tuple(sample for _, sample in source_samples(source.expanduser()))
    checks = _checks(
        check or _default_checks(chat_model),
        gain_model,
        least_line_gain=least_line_gain,
        least_gain=least_gain,
        least_grade=least_grade,
    )
    request = VerificationRequest(
        samples=samples,
        personas=_personas_of(samples, cast_with(persona)),
        checks=tuple(checks),
        repair=repair,
        seed=options.seed,
    )
    settings = [str(one.settings) for one in checks]
    folder = options.out or own_folder("verified", str(source.resolve()), name, str(repair), *settings)
    generate(
        partial(verify, request, chat_model, model_name=name, folder=folder),
        partial(verification_guess, request),
        name,
        folder,
        options,
    )


def _default_checks(model: "BaseChatModel") -> list[str]:
    """The embedded model cannot judge."""
    from rolellm_graphs.runs.items import is_embedded_model

    return ["lines"] if is_embedded_model(model) else ["support"]


def _checks(
    names: Sequence[str], gain_model: str, *, least_line_gain: float, least_gain: float, least_grade: int
) -> "list[AnswerCheck]":
    from rolellm_agents.judging.rubrics import choose_rubrics
    from rolellm_agents.models.catalog import get_model
    from rolellm_graphs.generate.answer_checks import (
        AnswerCheck,
        GainCheck,
        LinesCheck,
        RubricCheck,
        SupportCheck,
    )
    from rolellm_graphs.judge.likelihood import LikelihoodJudge
    from rolellm_graphs.judge.reply_scoring import ReplyScoring

    names = list(dict.fromkeys(names))
    checks: list[AnswerCheck] = []
    if {"lines", "gain"} & set(names):
        scorer = get_model(gain_model, temperature=0.0)
    if "lines" in names:
        scoring = ReplyScoring(scorer, model_name=gain_model)
        checks.append(LinesCheck(scoring, model_name=gain_model, least=least_line_gain))
    if "gain" in names:
        judge = LikelihoodJudge(scorer, model_name=gain_model)
        checks.append(GainCheck(judge, model_name=gain_model, least=least_gain))
    if "support" in names:
        checks.append(SupportCheck())
    if rubrics := [one for one in names if one not in _OWN_CHECKS]:
        checks.append(RubricCheck(choose_rubrics(rubrics), least_grade))
    return checks


def _personas_of(samples: "Sequence[Sample]", cast: "Sequence[Persona]") -> "dict[int, Persona]":
    """The persona of each sample, by its index; a notice names the roles without one."""
    from rolellm_agents.datasets.row_personas import RowPersonas

    personas = RowPersonas(cast)
    found = {
        place: persona for place, one in enumerate(samples) if (persona := personas.of(one)) is not None
    }
    missing = {one.role for place, one in enumerate(samples) if place not in found}
    if missing and found:
        names = ", ".join(sorted(missing)[:3])
        complain(f"Roles that are not in the cast are left out: {len(missing)} ({names}).")
    return found
