"""Rewards of sampled answers, for reinforcement learning: references, detections, and judges."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from rolellm_agents.errors import SettingsError
from rolellm_agents.judging import Judged, ReplyJudge
from rolellm_agents.metrics import ReferencedReply, score_many
from rolellm_agents.models.catalog import get_model
from rolellm_agents.reply_checks.detections import detect
from rolellm_graphs.judge.judges import reply_judge_named
from rolellm_train.recipe import Recipe

Reward = Callable[[Sequence[Judged]], Coroutine[Any, Any, list[float | None]]]
"""Rates answers; None is an answer that could not be rated. Higher values are better, on any scale."""

RewardFunction = Callable[..., list[float | None]]
"""A reward in the form that TRL calls, with the completions and the columns of the data set."""

_REFERENCES: Final = "references"
_DETECTIONS: Final = "detections"
_AT_ONCE: Final = 8


def rewards_of(recipe: Recipe) -> dict[str, Reward]:
    """The rewards of a recipe by name.

    Raises:
        SettingsError: the recipe has no rewards, or a judge without a model.
        JudgingError: there is no judge of this name.
        ModelError: the judges' model cannot be used.
    """
    if not recipe.rewards:
        raise SettingsError(
            f"The recipe {recipe.id} has no rewards; set some, such as --set 'rewards={{references: 1}}'."
        )
    return {name: _reward(name, recipe) for name in recipe.rewards}


def _reward(name: str, recipe: Recipe) -> Reward:
    if name == _REFERENCES:
        return similarity_to_references
    if name == _DETECTIONS:
        return few_detections
    if not recipe.judge_model:
        raise SettingsError(
            f"The reward {name!r} is a judge, which needs a model; name it with --set judge_model=SPEC, or "
            f"use the rewards {_REFERENCES} and {_DETECTIONS}, which need none."
        )
    model = get_model(recipe.judge_model, temperature=0)
    return judge_reward(reply_judge_named(name, model, model_name=recipe.judge_model, at_once=_AT_ONCE))


async def similarity_to_references(answers: Sequence[Judged]) -> list[float | None]:
    """ROUGE-L F1 to the most similar reference; None without references."""
    rated = [one for one in answers if one.references]
    replies = [ReferencedReply(one.reply, one.references, one.persona.language) for one in rated]
    (scores,) = score_many(replies, ["rouge-l-f1"]).values() if replies else ([],)
    by_key = {one.key: score for one, score in zip(rated, scores, strict=True)}
    return [by_key.get(one.key) for one in answers]


async def few_detections(answers: Sequence[Judged]) -> list[float | None]:
    """Minus the number of detected faults."""
    return [-float(len(detect(one.reply, one.persona, one.question))) for one in answers]


def judge_reward(judge: ReplyJudge) -> Reward:
    """The mean of the judge's measures; None if the judge's model failed or its answers were unreadable."""

    async def reward(answers: Sequence[Judged]) -> list[float | None]:
        return [*await asyncio.gather(*map(_mean_verdict, answers))]

    async def _mean_verdict(answer: Judged) -> float | None:
        verdicts = await judge.judge(answer)
        values = [verdict.value for verdict in verdicts if verdict.value is not None]
        return sum(values) / len(values) if values else None

    return reward
