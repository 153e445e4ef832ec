"""The likelihood judge, which compares a reply's log-probability with and without its persona."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.judging.judged import Judged
from rolellm_agents.judging.likelihood import (
    evidence,
    gain,
    neutral_prompt,
    open_question,
    persona_prompt,
    prompts_used,
    speaker_scores,
)
from rolellm_agents.judging.ranking import by_rule
from rolellm_agents.judging.verdict import Status, Verdict
from rolellm_agents.persona import Persona
from rolellm_agents.text.language import Language
from rolellm_graphs.judge.reply_scoring import ReplyScoring
from rolellm_graphs.runs.items import AT_ONCE

MEASURE: Final = "likelihood"


class _Gained(NamedTuple):
    """A reply's gain, and its mean log-probabilities per token with and without the persona."""

    gain: float
    persona: float
    neutral: float
    tokens: int


class LikelihoodJudge:
    """How much more likely replies are under their personas than under no particular speaker.

    Values are in nats per token. Above 0 the persona makes the reply more likely; among replies of one
    persona a higher value is more in character. Truth, politeness and relevance are not judged.
    """

    measures = (MEASURE,)
    measure = MEASURE

    def __init__(self, model: BaseChatModel, *, model_name: str, at_once: int = AT_ONCE) -> None:
        """Create a judge.

        The model returns log-probabilities; its name is for verdicts.

        Raises:
            ModelError: the model returns no log-probabilities.
        """
        self._scoring = ReplyScoring(model, model_name=model_name, at_once=at_once)
        self._name = model_name
        self._neutral: dict[tuple[Language, str], list[float]] = {}

    async def judge(self, judged: Judged) -> list[Verdict]:
        """How much more likely the reply is under its persona, given the conversation.

        Raises:
            ModelError: the model cannot be loaded.
        """
        if not judged.reply.strip():
            return [self._unscored(judged, "skipped", "The reply is empty.")]
        await self._scoring.load()
        try:
            gained = await self._gained(judged)
        except ModelError as error:
            return [self._unscored(judged, "model_error", str(error))]
        return [self._verdict(judged, gained)]

    async def compare(self, first: Judged, second: Judged) -> Verdict:
        """Compare the gains of a persona's two replies: 1 if the first is higher, 0 the second, 0.5 a tie.

        Each is scored separately, so their order does not matter.

        Raises:
            ModelError: the model cannot be loaded.
        """
        if ruled := by_rule(first, second):
            return replace(ruled, measure=MEASURE)
        verdicts = [one for judged in (first, second) for one in await self.judge(judged)]
        values = [one.value for one in verdicts if one.value is not None]
        if len(values) < len(verdicts):
            failed = next(one for one in verdicts if one.value is None)
            return replace(failed, subject=first.key)
        value = 0.5 if values[0] == values[1] else float(values[0] > values[1])
        return replace(
            verdicts[0],
            value=value,
            reason=f"{values[0]:+.3f} and {values[1]:+.3f} nats a token for {first.persona.name}.",
            details={"orders": [value, value], "consistent": True, "gains": values},
        )

    async def identify_speaker(
        self, replies: Sequence[str], candidates: Sequence[Persona], *, background: Sequence[str] = ()
    ) -> dict[str, float]:
        """Speaker identification: score which candidate gave all these replies.

        Args:
            replies: non-empty replies of one speaker; their questions are ignored.
            candidates: personas with unique ids.
            background: replies of the same origin, such as the same model, by various speakers. A
                candidate's mean evidence on them is subtracted, since some prompts raise it for any reply.

        Returns:
            The score of each candidate by id; the highest is the most probable speaker.

        Raises:
            ModelError: the model cannot be loaded, or a reply does not fit into its context.
        """
        found: dict[str, list[float]] = {}
        usual: dict[str, list[float]] = {}
        # By candidate, so that each prompt is prefilled once.
        for one in candidates:
            both = await self.evidence([*replies, *background], one)
            found[one.id], usual[one.id] = both[: len(replies)], both[len(replies) :]
        return speaker_scores(found, usual)

    async def evidence(self, replies: Sequence[str], persona: Persona) -> list[float]:
        """The evidence of each reply for the persona, independent of its question.

        Raises:
            ModelError: the model cannot be loaded, or a reply does not fit into its context.
        """
        question = [open_question(persona.language)]
        prompt = persona_prompt(persona, question)
        neutral = neutral_prompt(persona.language, question)

        async def of(reply: str) -> float:
            scores, others = await asyncio.gather(
                self._scoring.score(prompt, reply), self._neutral_scores(neutral, persona.language, reply)
            )
            return evidence(scores, others)

        return await asyncio.gather(*(of(reply.strip()) for reply in replies))

    async def _neutral_scores(
        self, prompt: Sequence[BaseMessage], language: Language, reply: str
    ) -> list[float]:
        """Log-probabilities without a persona, cached for each reply."""
        if (language, reply) not in self._neutral:
            self._neutral[language, reply] = await self._scoring.score(prompt, reply)
        return self._neutral[language, reply]

    async def _gained(self, judged: Judged) -> _Gained:
        reply, language = judged.reply.strip(), judged.persona.language
        persona, neutral = await asyncio.gather(
            self._scoring.score(persona_prompt(judged.persona, judged.turns), reply),
            self._scoring.score(neutral_prompt(language, judged.turns), reply),
        )
        tokens = len(persona)
        return _Gained(gain(persona, neutral), sum(persona) / tokens, sum(neutral) / tokens, tokens)

    def _verdict(self, judged: Judged, gained: _Gained) -> Verdict:
        likelier = "likelier" if gained.gain >= 0 else "less likely"
        details: dict[str, Any] = {
            "tokens": gained.tokens,
            "persona": round(gained.persona, 4),
            "nobody": round(gained.neutral, 4),
        }
        return Verdict(
            subject=judged.key,
            measure=MEASURE,
            value=gained.gain,
            status="scored",
            reason=(
                f"{abs(gained.gain):.3f} nats a token {likelier} from {judged.persona.name} than from "
                "nobody in particular."
            ),
            model=self._name,
            prompt=prompts_used(judged.persona.language),
            details=details,
        )

    def _unscored(self, judged: Judged, status: Status, reason: str) -> Verdict:
        return Verdict(
            subject=judged.key,
            measure=MEASURE,
            value=None,
            status=status,
            reason=reason,
            model=self._name,
            prompt=prompts_used(judged.persona.language),
        )
