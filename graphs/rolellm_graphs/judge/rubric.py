"""The rubric judge, which asks a separate question for each rubric and grades from 1 to 5."""

import asyncio

from rolellm_agents.judging.grading import grade_question, why_not_graded
from rolellm_agents.judging.judged import Judged
from rolellm_agents.judging.rubrics import Rubric, RubricChoice
from rolellm_agents.judging.verdict import Verdict
from rolellm_graphs.judge.model import JudgingModel


class RubricJudge:
    """Grades a reply by rubrics, with separate questions, so that grades do not influence each other."""

    def __init__(self, model: JudgingModel, rubrics: RubricChoice | None = None) -> None:
        """Create a judge that uses this model and these rubrics; None for all bundled ones."""
        self._model = model
        self._rubrics = rubrics or RubricChoice()
        self.measures = self._rubrics.ids

    async def judge(self, judged: Judged) -> list[Verdict]:
        """A grade for each rubric, in their order.

        Raises:
            ModelError: the model cannot be loaded.
        """
        rubrics = self._rubrics.in_language(judged.persona.language)
        return [*await asyncio.gather(*(self._grade(rubric, judged) for rubric in rubrics))]

    async def _grade(self, rubric: Rubric, judged: Judged) -> Verdict:
        if why := why_not_graded(rubric, judged):
            return Verdict(
                subject=judged.key,
                measure=rubric.id,
                value=None,
                status="skipped",
                reason=why,
                model=self._model.name,
            )
        answer = await self._model.ask(grade_question(rubric, judged), f"{rubric.name}/{judged.key}")
        if answer.read is None:
            return self._model.not_scored(answer, judged.key, rubric.id)
        return Verdict(
            subject=judged.key,
            measure=rubric.id,
            value=float(answer.read.grade),
            status="scored",
            reason=answer.read.reason,
            model=self._model.name,
            prompt=answer.prompt,
            details=answer.cost,
        )
