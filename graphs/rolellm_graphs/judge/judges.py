"""Judges by name, and their settings for run configs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol, get_args

from langchain_core.language_models import BaseChatModel
from typing_extensions import TypeIs

from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.flaws import DIMENSIONS
from rolellm_agents.judging.judged import PairJudge, ReplyJudge
from rolellm_agents.judging.likelihood import prompts_used
from rolellm_agents.judging.rubrics import RubricChoice
from rolellm_agents.models.catalog import describe_model, describe_sampling
from rolellm_agents.plugins import load_plugin, plugin_names, plugin_version
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.runs.seeds import digest_of
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import Language
from rolellm_graphs.judge.likelihood import LikelihoodJudge
from rolellm_graphs.judge.model import JudgingModel
from rolellm_graphs.judge.ranking import RankingJudge
from rolellm_graphs.judge.reply_scoring import ScoringModel
from rolellm_graphs.judge.rubric import RubricJudge
from rolellm_graphs.runs.items import AT_ONCE


class JudgeFactory(Protocol):
    """Builds a judge from a judging model; the type of the entry points of `rolellm.judges`."""

    def __call__(
        self, model: BaseChatModel, *, model_name: str, at_once: int, seed: int
    ) -> ReplyJudge | PairJudge:
        """Build the judge; for the arguments see `judge_named`."""
        ...


JudgeName = Literal["rubric", "ranking", "likelihood"]
REPLY_JUDGES: Final = ("rubric", "likelihood")
PAIR_JUDGES: Final = ("ranking", "likelihood")
_LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
_PROMPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "rubric": ("judge-rubric",),
    "ranking": ("judge-ranking", "judge-ranking-references"),
    "scene": ("judge-scene", *(f"judge-scene-{dimension}" for dimension in DIMENSIONS)),
}


def judge_named(
    name: str,
    model: BaseChatModel,
    *,
    model_name: str | None = None,
    rubrics: RubricChoice | None = None,
    at_once: int = AT_ONCE,
    seed: int = 0,
) -> ReplyJudge | PairJudge:
    """Create the judge of this name.

    Args:
        name: `rubric` judges replies, `ranking` judges pairs, and `likelihood` both; or an entry point of
            `rolellm.judges`, which is a `JudgeFactory`.
        model: the judging model.
        model_name: the model's name in verdicts; its own name when None.
        rubrics: the rubric judge's rubrics; all bundled ones when None.
        at_once: concurrency limit.
        seed: sampling seed, if the model supports one.

    Raises:
        JudgingError: there is no judge of this name.
        PluginError: the package that provides it cannot be used.
    """
    called = model_name or describe_model(model)
    match name:
        case "rubric":
            judging = JudgingModel(model, model_name=called, at_once=at_once, seed=seed)
            return RubricJudge(judging, rubrics)
        case "ranking":
            return RankingJudge(JudgingModel(model, model_name=called, at_once=at_once, seed=seed))
        case "likelihood":
            return LikelihoodJudge(model, model_name=called, at_once=at_once)
        case _:
            factory: JudgeFactory | None = load_plugin("rolellm.judges", name)
            if factory:
                return factory(model, model_name=called, at_once=at_once, seed=seed)
            known = [*get_args(JudgeName), *plugin_names("rolellm.judges")]
            raise JudgingError(
                f"There is no judge {name!r}{did_you_mean(name, known)}; known are {', '.join(known)}."
            )


def reply_judge_named(name: str, model: BaseChatModel, **options: Any) -> ReplyJudge:
    """Create the judge of replies of this name; see `judge_named`.

    Raises:
        JudgingError: there is no such judge of single replies.
    """
    judge = judge_named(name, model, **options)
    if not judges_replies(judge):
        raise JudgingError(
            f"The judge {name!r} compares two replies; {' or '.join(REPLY_JUDGES)} judges one."
        )
    return judge


def pair_judge_named(name: str, model: BaseChatModel, **options: Any) -> PairJudge:
    """Create the judge of pairs of this name; see `judge_named`.

    Raises:
        JudgingError: there is no such judge of pairs.
    """
    judge = judge_named(name, model, **options)
    if not judges_pairs(judge):
        raise JudgingError(f"The judge {name!r} judges one reply; {' or '.join(PAIR_JUDGES)} compares two.")
    return judge


def judges_replies(judge: ReplyJudge | PairJudge) -> TypeIs[ReplyJudge]:
    """Whether a judge supports single replies; some judges also support pairs."""
    return hasattr(judge, "judge")


def judges_pairs(judge: ReplyJudge | PairJudge) -> TypeIs[PairJudge]:
    """Whether a judge supports pairs; some judges also support single replies."""
    return hasattr(judge, "compare")


def default_reply_judge(model: BaseChatModel) -> JudgeName:
    """The default judge of replies: `likelihood` if the model returns log-probabilities.

    Only models in this process do, and most of them are too small to follow a rubric.
    """
    return "likelihood" if isinstance(model, ScoringModel) else "rubric"


def judge_config(
    name: str,
    models: Sequence[tuple[str, BaseChatModel]],
    *,
    rubrics: RubricChoice | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The settings that a judge's verdicts depend on, for a run's config.

    `name` is the judge's name, or `scene`.
    """
    config: dict[str, Any] = {
        "judge": name,
        "models": [called for called, _ in models],
        "sampling": [describe_sampling(model) for _, model in models],
        "seed": seed,
        "prompts": _prompts(name),
    }
    if package := plugin_version("rolellm.judges", name):
        config["package"] = package
    if name == "rubric":
        chosen = rubrics or RubricChoice()
        config["rubrics"] = {
            one.name: digest_of(one.model_dump_json())
            for language in _LANGUAGES
            for one in chosen.in_language(language)
        }
    return config


def _prompts(name: str) -> list[str]:
    """The names of all prompts that a judge may use, in both languages."""
    if name == "likelihood":
        return [prompts_used(language) for language in _LANGUAGES]
    prompts = _PROMPTS.get(name, ())
    return [load_prompt(prompt, language).name for prompt in prompts for language in _LANGUAGES]
