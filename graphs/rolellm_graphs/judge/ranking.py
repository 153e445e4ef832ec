"""The paper's ranking judge, which ranks replies in both orders."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rolellm_agents.judging.judged import Judged
from rolellm_agents.judging.ranking import (
    EMPTY_RULE,
    MEASURE,
    RankingOrder,
    by_rule,
    ranking_question,
    rule_verdict,
    shown_orders,
    standing,
)
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.runs.budget import Tokens
from rolellm_graphs.judge.model import JudgeReply, JudgingModel


class RankingJudge:
    """Ranks replies; a pair whose ranking depends on the order of the replies is a tie."""

    measure = MEASURE

    def __init__(self, model: JudgingModel) -> None:
        """Create a judge that uses this model."""
        self._model = model

    async def compare(self, first: Judged, second: Judged) -> Verdict:
        """Compare two replies: 1 if the first is better, 0 the second, 0.5 a tie.

        An empty reply loses and identical replies are a tie, without a question to the model.

        Raises:
            ModelError: the model cannot be loaded.
        """
        ruled = by_rule(first, second)
        return ruled or (await self._ranked([first, second]))[0]

    async def rank(self, replies: Sequence[Judged]) -> list[Verdict]:
        """Rank replies; each value is the share of the other replies that it beats, between 0 and 1.

        Empty replies rank last, as a tie, without a question to the model.

        Args:
            replies: replies of one persona in one conversation, with unique keys; at most `MOST_RANKED` of
                them not empty.

        Raises:
            ValueError: fewer than two replies, or too many.
            ModelError: the model cannot be loaded.
        """
        if len(replies) < 2:
            raise ValueError("one reply alone has no rank")
        worded = [one for one in replies if one.reply.strip()]
        empty, others = len(replies) - len(worded), len(replies) - 1
        ranked = {one.subject: one for one in await self._ranked(worded)} if len(worded) > 1 else {}

        def among_all(reply: Judged) -> Verdict:
            if not worded:
                return rule_verdict(reply, None, EMPTY_RULE, "All replies are empty.")
            if not reply.reply.strip():
                reason = "The reply is empty and comes last; no model was asked."
                return rule_verdict(reply, (empty - 1) / 2 / others, EMPTY_RULE, reason)
            if reply.key not in ranked:
                return rule_verdict(reply, 1.0, EMPTY_RULE, "All other replies are empty.")
            verdict = ranked[reply.key]
            if verdict.value is None:
                return verdict
            return replace(verdict, value=(verdict.value * (len(worded) - 1) + empty) / others)

        return [among_all(one) for one in replies]

    async def _ranked(self, replies: Sequence[Judged]) -> list[Verdict]:
        """Ask in both orders, and return a verdict for each reply."""
        count = len(replies)
        shown = shown_orders(count)
        answers = await asyncio.gather(
            *(
                self._model.ask(
                    ranking_question([replies[place] for place in order]),
                    f"ranking/{number}/{'/'.join(one.key for one in replies)}",
                )
                for number, order in enumerate(shown)
            )
        )
        # Each order's ranking as indices of `replies`.
        rankings = [
            tuple(order[place] for place in answer.read.best_first) if answer.read else None
            for order, answer in zip(shown, answers, strict=True)
        ]
        return [self._verdict(replies, place, rankings, answers) for place in range(count)]

    def _verdict(
        self,
        replies: Sequence[Judged],
        place: int,
        rankings: Sequence[tuple[int, ...] | None],
        answers: Sequence[JudgeReply[RankingOrder]],
    ) -> Verdict:
        count, subject = len(replies), replies[place].key
        given = [standing([ranking], count)[place] if ranking else None for ranking in rankings]
        details: dict[str, Any] = {
            "orders": given,
            "consistent": None not in rankings and len(set(rankings)) == 1,
            "reasons": [answer.read.reason if answer.read else answer.trouble for answer in answers],
        }
        failed = next((answer for answer in answers if answer.read is None), None)
        if failed is not None:
            return self._model.not_scored(failed, subject, MEASURE, **details)
        asked = [ranking for ranking in rankings if ranking]
        tokens = sum((answer.tokens for answer in answers), Tokens())
        return Verdict(
            subject=subject,
            measure=MEASURE,
            value=standing(asked, count)[place],
            status="scored",
            reason=details["reasons"][0],
            model=self._model.name,
            prompt=answers[0].prompt,
            details={
                **details,
                "tokens": {"read": tokens.read, "written": tokens.written},
                "seconds": round(sum(answer.seconds for answer in answers), 3),
            },
        )
