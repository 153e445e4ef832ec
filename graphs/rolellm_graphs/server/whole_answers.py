"""Answers that are sent complete, and are cancelled when the client disconnects."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from rolellm_graphs.server.answers import Agent, AnswerPart
from rolellm_graphs.server.failures import api_error
from rolellm_graphs.server.metrics import Metrics
from rolellm_graphs.server.wire import ChatRequest, CompletionDetails, PromptDetails, Usage


async def answers(
    agent: Agent, request: ChatRequest, *, seconds: float, metrics: Metrics
) -> list[list[AnswerPart]]:
    """Generate `n` answers concurrently; each but the first has a derived seed.

    Raises:
        ApiError: an answer failed, or the answers took too long.
    """
    seeds = [None if request.seed is None else request.seed + number for number in range(request.n)]
    tasks = [asyncio.ensure_future(_parts(agent, request, seed, metrics)) for seed in seeds]
    try:
        async with asyncio.timeout(seconds):
            return list(await asyncio.gather(*tasks))
    except Exception as error:
        raise api_error(error) from error
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _parts(
    agent: Agent, request: ChatRequest, seed: int | None, metrics: Metrics
) -> list[AnswerPart]:
    with metrics.answer() as clock:
        parts: list[AnswerPart] = []
        async with aclosing(agent.answer(request, seed)) as answer:
            async for part in answer:
                clock.record(part)
                parts.append(part)
        return parts


def total_usage(usages: Sequence[Usage]) -> Usage:
    """Token counts of several answers; the prompt counts once, as at OpenAI."""
    first = usages[0]
    completion = sum(usage.completion_tokens for usage in usages)
    return Usage(
        prompt_tokens=first.prompt_tokens,
        completion_tokens=completion,
        total_tokens=first.prompt_tokens + completion,
        prompt_tokens_details=PromptDetails(cached_tokens=first.prompt_tokens_details.cached_tokens),
        completion_tokens_details=CompletionDetails(
            reasoning_tokens=sum(usage.completion_tokens_details.reasoning_tokens for usage in usages)
        ),
    )
