"""Answers that are sent when they are whole, and stop when nobody waits for them any more."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from typing import TypeVar

from starlette.requests import Request
from starlette.types import Receive

from rolellm_graphs.server.answers import Agent, AnswerPart
from rolellm_graphs.server.failures import api_error
from rolellm_graphs.server.metrics import Metrics
from rolellm_graphs.server.wire import ChatRequest, PromptDetails, Usage

_T = TypeVar("_T")


class GoneError(Exception):
    """The client hung up."""


async def answers(
    agent: Agent, asked: ChatRequest, *, seconds: float, metrics: Metrics
) -> list[list[AnswerPart]]:
    """As many answers as were asked for, side by side; each but the first has a seed of its own.

    Raises:
        ApiError: one of them cannot be given, or they took too long.
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


async def while_connected(request: Request, work: Awaitable[_T]) -> _T:
    """Do it as long as the client waits.

    Raises:
        GoneError: it hung up; the work was stopped.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_end_of(request.receive))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise GoneError
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        # What they end with was told above; a cancellation of ours still goes on from here.
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _end_of(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def together(usages: Sequence[Usage]) -> Usage:
    """What several answers to one prompt took: the prompt counts once, as OpenAI counts it."""
    first = usages[0]
    completion = sum(one.completion_tokens for one in usages)
    return Usage(
        prompt_tokens=first.prompt_tokens,
        completion_tokens=completion,
        total_tokens=first.prompt_tokens + completion,
        prompt_tokens_details=PromptDetails(cached_tokens=first.prompt_tokens_details.cached_tokens),
    )
