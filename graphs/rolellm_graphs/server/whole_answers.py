"""Answers that are sent complete, and are cancelled when the client disconnects."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from rolellm_graphs.server.answers import Agent, AnswerPart
from rolellm_graphs.server.failures import api_error
from rolellm_graphs.server.metrics import Metrics
from rolellm_graphs.server.wire import ChatRequest, PromptDetails, Usage


async def answers(
    agent: Agent, asked: ChatRequest, *, seconds: float, metrics: Metrics
) -> list[list[AnswerPart]]:
    """Generate `n` answers concurrently; each but the first has a derived seed.

    Raises:
        ApiError: one of them failed, or they took too long.
    """
    seeds = [None if asked.seed is None else asked.seed + number for number in range(asked.n)]
    tasks = [asyncio.ensure_future(_parts(agent, asked, seed, metrics)) for seed in seeds]
    try:
        async with asyncio.timeout(seconds):
            return list(await asyncio.gather(*tasks))
    except Exception as error:
        raise api_error(error) from error
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _parts(agent: Agent, asked: ChatRequest, seed: int | None, metrics: Metrics) -> list[AnswerPart]:
    with metrics.answer() as clock:
        parts: list[AnswerPart] = []
        async with aclosing(agent.answer(asked, seed)) as answer:
            async for part in answer:
                clock.hear(part)
                parts.append(part)
        return parts


def together(usages: Sequence[Usage]) -> Usage:
    """Token counts of several answers; the prompt counts once, as at OpenAI."""
    first = usages[0]
    completion = sum(one.completion_tokens for one in usages)
    return Usage(
        prompt_tokens=first.prompt_tokens,
        completion_tokens=completion,
        total_tokens=first.prompt_tokens + completion,
        prompt_tokens_details=PromptDetails(cached_tokens=first.prompt_tokens_details.cached_tokens),
    )
