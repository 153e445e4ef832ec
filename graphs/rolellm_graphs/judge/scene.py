"""The scene judge: a critic that lists flaws, each with its line and severity, in four dimensions."""

import asyncio
from collections.abc import Sequence

from rolellm_agents.judging.flaws import (
    DIMENSIONS,
    Dimension,
    FoundFlaws,
    JudgedScene,
    flaw_question,
    flaw_score,
    flaws_to_json,
    parts_of,
)
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.runs.budget import Tokens
from rolellm_graphs.judge.model import JudgeReply, JudgingModel


class SceneJudge:
    """Scores a played scene from 0 to 100 in each dimension, by the flaws it finds."""

    measures: Sequence[str] = DIMENSIONS

    def __init__(self, model: JudgingModel) -> None:
        """Create a judge that uses this model."""
        self._model = model

    async def judge(self, scene: JudgedScene) -> list[Verdict]:
        """A score for each dimension; `details` holds the `flaws`, and how many were `dropped`.

        If one part of a long scene gets no answer, its dimension has no score.

        Raises:
            ModelError: the model cannot be loaded.
        """
        if not scene.spoken:
            return [self._skipped(scene, dimension) for dimension in DIMENSIONS]
        return [*await asyncio.gather(*(self._critique(scene, dimension) for dimension in DIMENSIONS))]

    async def _critique(self, scene: JudgedScene, dimension: Dimension) -> Verdict:
        answers = await asyncio.gather(
            *(
                self._model.ask(
                    flaw_question(scene, dimension, part), f"{dimension}/{part.start}/{scene.key}"
                )
                for part in parts_of(scene)
            )
        )
        failed = next((answer for answer in answers if answer.read is None), None)
        if failed is not None:
            return self._model.not_scored(failed, scene.key, dimension)
        return self._verdict(scene, dimension, answers)

    def _verdict(
        self, scene: JudgedScene, dimension: Dimension, answers: Sequence[JudgeReply[FoundFlaws]]
    ) -> Verdict:
        found = [answer.read for answer in answers if answer.read]
        flaws = [flaw for one in found for flaw in one.flaws]
        worst = max(flaws, key=lambda flaw: flaw.severity, default=None)
        tokens = sum((answer.tokens for answer in answers), Tokens())
        return Verdict(
            subject=scene.key,
            measure=dimension,
            value=flaw_score([flaw.severity for flaw in flaws], scene.spoken),
            status="scored",
            reason=worst.what if worst else "No flaw was found.",
            model=self._model.name,
            prompt=answers[0].prompt,
            details={
                "flaws": flaws_to_json(flaws),
                "dropped": sum(one.dropped for one in found),
                "lines": scene.spoken,
                "tokens": {"read": tokens.read, "written": tokens.written},
                "seconds": round(sum(answer.seconds for answer in answers), 3),
            },
        )

    def _skipped(self, scene: JudgedScene, dimension: Dimension) -> Verdict:
        return Verdict(
            subject=scene.key,
            measure=dimension,
            value=None,
            status="skipped",
            reason="Nobody says anything.",
            model=self._model.name,
        )
