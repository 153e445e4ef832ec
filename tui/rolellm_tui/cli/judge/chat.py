"""`rolellm judge chat`: judge each answer of a chat."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.judge.options import JudgeOptions
from rolellm_tui.cli.options import with_option_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.judging import ReplyJudge
    from rolellm_agents.judging.rubrics import RubricChoice
    from rolellm_tui.cli.judge.options import OpenModel


@with_option_groups
def chat(
    *,
    conversation: Annotated[str, typer.Argument(help="Conversation id, or the file of an exported chat.")],
    judge: Annotated[
        str | None, typer.Option("--judge", help="rubric or likelihood.", metavar="NAME")
    ] = None,
    rubric: Annotated[
        list[str] | None,
        typer.Option(
            "--rubric",
            help="voice, knowledge, boundary, consistency, engagement, safety, or a YAML file. "
            "Repeatable. Default: all bundled rubrics.",
            metavar="NAME|FILE",
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option("--calibration", help="Show people's scores too, by this file of “judge check”."),
    ] = None,
    options: JudgeOptions,
) -> None:
    """Judge each answer of a chat: by rubrics, with a grade from 1 to 5 and a reason, or by likelihood.

    The likelihood judge measures how much more likely an answer is under this persona than without one. It
    suits small models and is the default if the model gives probabilities and no --rubric is named.

    The same command resumes a stopped run; answers are judged once.

    \b
    Examples:
      rolellm judge chat 3f9a --model openai:gpt-4o-mini
      rolellm judge chat seraphina.jsonl --persona seraphina --rubric voice --rubric mine.yaml
      rolellm judge chat 3f9a -m openai:gpt-4o-mini -m openai:qwen3-8b --json
    """
    from rolellm_agents.judging import JudgingError
    from rolellm_agents.judging.calibration import read_calibration
    from rolellm_agents.judging.chats import judged_of_chat
    from rolellm_agents.judging.recorded import about_reply
    from rolellm_agents.judging.rubrics import choose_rubrics
    from rolellm_graphs.judge.graph import judge_replies
    from rolellm_graphs.judge.judges import default_reply_judge, judge_config
    from rolellm_tui.cli.judge.options import (
        open_models,
        read_chats,
        run_folder,
        source_name,
        warn_about_small_models,
        your_name,
    )
    from rolellm_tui.cli.judge.printing import judging_progress, of_items, print_verdicts

    chats = read_chats(conversation, options.persona)
    user = your_name()
    items = [
        judged
        for one in chats
        for judged in judged_of_chat(one.persona, one.path, user=user, prefix=one.key)
    ][: options.limit]
    if not items:
        raise JudgingError(f"{conversation} has no answers to judge; name another chat.")
    choice = choose_rubrics(rubric or ())
    models = open_models(options.model, base_url=options.base_url, temperature=options.temperature)
    name = judge or ("rubric" if rubric else default_reply_judge(models[0].model))
    judging = _judge(name, models, choice, options)
    if name != "likelihood":
        warn_about_small_models(models)
    config = judge_config(name, models, rubrics=choice, seed=options.seed)
    calibrated = read_calibration(calibration.expanduser()).of_judge(config) if calibration else None
    folder = options.out or run_folder(config, source_name(conversation))
    with judging_progress(folder) as progress:
        verdicts = asyncio.run(
            judge_replies(
                [judging], items, folder=folder, config=config, at_once=options.at_once, progress=progress
            )
        )
    if calibrated:
        verdicts = [calibrated.translated(one) for one in verdicts]
    abouts = [about_reply(one) for one in items]
    print_verdicts(of_items("replies", config, abouts, verdicts), folder, as_json=options.as_json)


def _judge(
    name: str, models: "Sequence[OpenModel]", rubrics: "RubricChoice", options: JudgeOptions
) -> "ReplyJudge":
    """A single judge, or a panel."""
    from rolellm_graphs.judge.judges import reply_judge_named
    from rolellm_graphs.judge.panel import ReplyPanel

    judges = [
        reply_judge_named(
            name,
            one.model,
            model_name=one.name,
            rubrics=rubrics,
            at_once=options.at_once,
            seed=options.seed,
        )
        for one in models
    ]
    return judges[0] if len(judges) == 1 else ReplyPanel(judges)
