"""`rolellm judge chat`: each answer of a chat, judged."""

import asyncio
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.judging import ReplyJudge
    from rolellm_agents.judging.rubrics import RubricChoice
    from rolellm_tui.cli.judge.options import OpenModel


def chat(
    conversation: Annotated[
        str, typer.Argument(help="An id of “rolellm history list”, or the file of an exported chat.")
    ],
    judge: Annotated[
        str | None, typer.Option("--judge", help="rubric or likelihood.", metavar="NAME")
    ] = None,
    rubric: Annotated[
        list[str] | None,
        typer.Option(
            "--rubric",
            help="voice, knowledge, boundary, consistency, engagement, safety, or a file of your own "
            "(.yaml); several may be given, all bundled ones otherwise.",
            metavar="NAME|FILE",
        ),
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
    """Judge each answer of a chat: by rubrics, with a grade from 1 to 5 and a reason, or by likelihood.

    The likelihood judge tells how much likelier an answer is from this character than from nobody in
    particular. It needs no understanding and so suits small models; it is taken where the model gives
    probabilities and neither --judge nor --rubric says otherwise.

    Stopped, the same command goes on; an answer that was judged is not judged again.

    \b
    Examples:
      rolellm judge chat 3f9a --model openai:gpt-4o-mini
      rolellm judge chat seraphina.jsonl --persona seraphina --rubric voice --rubric mine.yaml
      rolellm judge chat 3f9a -m openai:gpt-4o-mini -m openai:qwen3-8b --json
    """
    from rolellm_agents.judging import JudgingError
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
        warn_of_small,
        your_name,
    )
    from rolellm_tui.cli.judge.printing import judging_progress, of_items, tell

    chats = read_chats(conversation, persona)
    user = your_name()
    items = [
        judged
        for one in chats
        for judged in judged_of_chat(one.persona, one.path, user=user, prefix=one.key)
    ][:limit]
    if not items:
        raise JudgingError(
            f"{conversation} holds no answer to judge; name a chat in which somebody was answered."
        )
    choice = choose_rubrics(rubric or ())
    models = open_models(model, base_url=base_url, temperature=temperature)
    name = judge or ("rubric" if rubric else default_reply_judge(models[0].model))
    judging = _judge(name, models, choice, at_once, seed)
    if name != "likelihood":
        warn_of_small(models)
    config = judge_config(name, models, rubrics=choice, seed=seed)
    folder = out or run_folder(config, source_name(conversation))
    with judging_progress(folder) as progress:
        verdicts = asyncio.run(
            judge_replies(
                [judging], items, folder=folder, config=config, at_once=at_once, progress=progress
            )
        )
    tell(
        of_items("replies", config, [about_reply(one) for one in items], verdicts), folder, as_json=as_json
    )


def _judge(
    name: str, models: "Sequence[OpenModel]", rubrics: "RubricChoice", at_once: int, seed: int
) -> "ReplyJudge":
    """One judge, or a panel of several."""
    from rolellm_graphs.judge.judges import reply_judge_named
    from rolellm_graphs.judge.panel import ReplyPanel

    judges = [
        reply_judge_named(name, one.model, model_name=one.name, rubrics=rubrics, at_once=at_once, seed=seed)
        for one in models
    ]
    return judges[0] if len(judges) == 1 else ReplyPanel(judges)
