"""Checks of a generated answer: by its lines, by likelihood, and by rubrics."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from langchain_core.messages import HumanMessage

from rolellm_agents.generation.support import SupportVerdict, line_prompts, support_question
from rolellm_agents.generation.verification import Answered, CheckResult
from rolellm_agents.judging.asking import JudgeQuestion
from rolellm_agents.judging.grading import grade_question
from rolellm_agents.judging.judged import ConversationTurn, Judged
from rolellm_agents.judging.likelihood import gain, prompts_used
from rolellm_agents.judging.rubrics import RubricChoice
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.reply_checks.labels import Label
from rolellm_agents.runs.seeds import digest_of
from rolellm_graphs.judge.likelihood import LikelihoodJudge
from rolellm_graphs.judge.reply_scoring import ReplyScoring
from rolellm_graphs.runs.model_calls import ModelCalls, ModelReply

LEAST_LINE_GAIN: Final = 0.05
LEAST_GAIN: Final = 0.0
LEAST_GRADE: Final = 3
_LABELS: Final[Mapping[SupportVerdict, Label | None]] = {
    "supported": None,
    "invented": "unsupported",
    "contradicted": "unsupported",
    "off-question": "off-question",
}


class AnswerCheck(Protocol):
    """Checks answers one by one."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What its results depend on, for the run's config."""
        ...

    async def check(self, answered: Answered, calls: ModelCalls, seed: int) -> list[CheckResult]:
        """The results; none if the check does not apply to the answer.

        Raises:
            BudgetSpentError: the remaining budget is too small.
            Exception: the model's error.
        """
        ...


class SupportCheck:
    """Asks the model whether the answer's facts are in its lines and in the persona's profile.

    Boundary questions have no lines: the character cannot know what they ask about.
    """

    @property
    def settings(self) -> Mapping[str, Any]:
        """The prompts."""
        return {"support": [load_prompt("verify-support", language).name for language in ("en", "zh")]}

    async def check(self, answered: Answered, calls: ModelCalls, seed: int) -> list[CheckResult]:
        """See `AnswerCheck`."""
        if answered.is_boundary:
            return []
        question = support_question(answered.persona, answered.passage, answered.question, answered.answer)
        reply = await _reply_to(question, calls, seed)
        read = question.read(reply.text)
        return [
            CheckResult(
                check="support",
                value=None if read is None else read.verdict,
                label=None if read is None else _LABELS[read.verdict],
                reason="" if read is None else read.reason,
                prompt=question.prompt,
                tokens=reply.tokens,
                seconds=reply.seconds,
            )
        ]


class LinesCheck:
    """Requires that the answer is likelier with its lines than without; for models too small to judge.

    Answers without lines are not checked.
    """

    def __init__(self, scoring: ReplyScoring, *, model_name: str, least: float = LEAST_LINE_GAIN) -> None:
        """Set the scoring model, its name, and the least gain in nats per token."""
        self._scoring = scoring
        self._model_name = model_name
        self._least = least

    @property
    def settings(self) -> Mapping[str, Any]:
        """The model and the threshold."""
        return {"lines": {"model": self._model_name, "least": self._least}}

    async def check(self, answered: Answered, calls: ModelCalls, seed: int) -> list[CheckResult]:
        """See `AnswerCheck`."""
        if not answered.passage or answered.is_boundary:
            return []
        prompts = line_prompts(answered.persona, answered.passage, answered.question)
        with_lines, without = [await self._scoring.score(one, answered.answer) for one in prompts]
        value = round(gain(with_lines, without), 4)
        label: Label | None = "unsupported" if value < self._least else None
        return [CheckResult(check="lines", value=value, label=label)]


class GainCheck:
    """Requires that the answer is likelier from the persona than from nobody in particular."""

    def __init__(self, judge: LikelihoodJudge, *, model_name: str, least: float = LEAST_GAIN) -> None:
        """Set the judge, the name of its model, and the least gain in nats per token."""
        self._judge = judge
        self._model_name = model_name
        self._least = least

    @property
    def settings(self) -> Mapping[str, Any]:
        """The model, the threshold and the prompts."""
        prompts = [prompts_used(language) for language in ("en", "zh")]
        return {"gain": {"model": self._model_name, "least": self._least, "prompts": prompts}}

    async def check(self, answered: Answered, calls: ModelCalls, seed: int) -> list[CheckResult]:
        """See `AnswerCheck`."""
        [verdict] = await self._judge.judge(_judged(answered))
        value = None if verdict.value is None else round(verdict.value, 4)
        label: Label | None = "low-gain" if value is not None and value < self._least else None
        return [
            CheckResult(
                check="gain", value=value, label=label, reason=verdict.reason, prompt=verdict.prompt
            )
        ]


class RubricCheck:
    """Requires a grade by each rubric."""

    def __init__(self, rubrics: RubricChoice, least: int = LEAST_GRADE) -> None:
        """Set the rubrics and the least grade."""
        self._rubrics = rubrics
        self._least = least

    @property
    def settings(self) -> Mapping[str, Any]:
        """The rubrics with their digests, and the least grade."""
        found = [one for language in ("en", "zh") for one in self._rubrics.in_language(language)]
        return {
            "rubrics": {one.name: digest_of(one.model_dump_json()) for one in found},
            "least_grade": self._least,
        }

    async def check(self, answered: Answered, calls: ModelCalls, seed: int) -> list[CheckResult]:
        """See `AnswerCheck`."""
        results = []
        for rubric in self._rubrics.in_language(answered.persona.language):
            question = grade_question(rubric, _judged(answered))
            reply = await _reply_to(question, calls, seed)
            read = question.read(reply.text)
            label: Label | None = "low-grade" if read is not None and read.grade < self._least else None
            results.append(
                CheckResult(
                    check=rubric.id,
                    value=None if read is None else read.grade,
                    label=label,
                    reason="" if read is None else read.reason,
                    prompt=question.prompt,
                    tokens=reply.tokens,
                    seconds=reply.seconds,
                )
            )
        return results


def _judged(answered: Answered) -> Judged:
    return Judged(
        key=answered.key,
        persona=answered.persona,
        turns=(ConversationTurn("user", answered.question),),
        reply=answered.answer,
    )


async def _reply_to(question: JudgeQuestion[Any], calls: ModelCalls, seed: int) -> ModelReply:
    return await calls.fill(
        [HumanMessage(question.text)], dict(question.form), seed=seed, at_least=question.tokens
    )
