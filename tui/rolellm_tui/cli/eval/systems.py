"""The models and judges that evaluations name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rolellm_graphs.evaluate.answering import AnsweringSystem
    from rolellm_graphs.evaluate.rolebench import NamedJudge, SystemUnderTest

ANSWER_TOKENS = 120
"""Longer answers of the embedded model lose the subject; RoleGPT's answers have 87 words on average."""
_VERDICT_TOKENS = 400


def systems_named(names: Sequence[str], at_once: int, max_tokens: int | None) -> "list[SystemUnderTest]":
    """Models that decode greedily, each once.

    Raises:
        ModelError: a model's name is unknown.
    """
    from rolellm_agents.models.catalog import get_model
    from rolellm_graphs.evaluate.rolebench import SystemUnderTest

    return [
        SystemUnderTest(name, get_model(name, temperature=0, max_tokens=max_tokens, conversations=at_once))
        for name in dict.fromkeys(names)
    ]


def judges_named(names: Sequence[str], model_name: str, at_once: int) -> "list[NamedJudge]":
    """Judges by their names, all with one model.

    Raises:
        JudgingError: a judge's name is unknown.
        ModelError: the model's name is unknown.
    """
    if not names:
        return []
    from rolellm_agents.models.catalog import get_model
    from rolellm_graphs.evaluate.rolebench import NamedJudge
    from rolellm_graphs.judge.judges import judge_config, judge_named

    model = get_model(model_name, temperature=0, max_tokens=_VERDICT_TOKENS, conversations=at_once)
    return [
        NamedJudge(
            name,
            judge_named(name, model, model_name=model_name, at_once=at_once),
            judge_config(name, [(model_name, model)]),
        )
        for name in dict.fromkeys(names)
    ]


def answering_system(name: str, strategy: str | None, max_tokens: int | None) -> "AnsweringSystem":
    """A model with a strategy; its default one if none is named. It samples with its own settings.

    Raises:
        ModelError: the model's name is unknown.
        SettingsError: there is no such strategy.
    """
    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.prompting.default_strategy import default_strategy
    from rolellm_agents.prompting.strategies import get_strategy
    from rolellm_graphs.evaluate.answering import AnsweringSystem

    chosen = strategy or default_strategy(name)
    get_strategy(chosen)
    return AnsweringSystem(name, get_model(name, max_tokens=max_tokens), chosen)
