"""Graph nodes for both sync and async callers."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig

from rolellm_agents.models.prefill import ON_PREFILL
from rolellm_graphs.role.backoff import announced_wait
from rolellm_graphs.role.prefill import write_prefill
from rolellm_graphs.role.refused_prompt import shortened

Step = Callable[[Any], dict[str, Any]]
AsyncStep = Callable[[Any], Awaitable[dict[str, Any]]]


class Node(Runnable[Any, dict[str, Any]]):
    """A node that computes a state's update.

    For async callers LangGraph runs a plain function in a thread, which takes longer than a short step. It
    also accepts only one form of a function, while nodes that call a model need a sync and an async form
    (`docs/design/graphs.md`).
    """

    def __init__(self, step: Step, step_async: AsyncStep | None = None) -> None:
        """Create a node. `step_async` is for async callers; None if `step` is short enough to block."""
        self.name = step.__name__
        self._step = step
        self._step_async = step_async

    def invoke(
        self,
        input: Any,  # noqa: A002 - LangChain's name for it
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run the step."""
        return self._step(input)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - LangChain's name for it
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run the async step, or the sync one if there is none."""
        return await self._step_async(input) if self._step_async else self._step(input)


class ModelRequest(NamedTuple):
    """A call of a model or of another graph."""

    runnable: Runnable[Any, Any]
    input: Any
    options: dict[str, Any]
    model: BaseChatModel | None = None
    """The model that the runnable calls, to call it again when its server refuses for the moment, or
    refuses a prompt that is too long.

    None for a function, and for a graph, which does so by itself.
    """


class ModelNode(Runnable[Any, dict[str, Any]]):
    """A node that calls a model; only the call itself differs between sync and async callers."""

    def __init__(
        self,
        ask: Callable[[Any], ModelRequest | dict[str, Any]],
        take: Callable[[Any, Any], dict[str, Any]],
        *,
        name: str,
    ) -> None:
        """Create a node.

        `ask` returns the request for a state, or the update if no call is needed; `take` returns the update
        for a state and the model's answer.
        """
        self.name = name
        self._ask = ask
        self._take = take

    def invoke(
        self,
        input: Any,  # noqa: A002 - LangChain's name for it
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Ask, call and take."""
        asked = self._ask(input)
        if not isinstance(asked, ModelRequest):
            return asked
        context = copy_context()
        tries = 0
        while True:
            tries += 1
            told = ON_PREFILL.set(lambda progress: context.run(write_prefill, progress))
            try:
                answer = asked.runnable.invoke(asked.input, **asked.options)
                break
            except Exception as error:
                if (shorter := shortened(error, tries, asked.model, asked.input)) is not None:
                    asked = asked._replace(input=shorter)
                    continue
                wait = announced_wait(error, tries, asked.model)
                if wait is None:
                    raise
            finally:
                ON_PREFILL.reset(told)
            time.sleep(wait)
        return self._take(input, answer)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - LangChain's name for it
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Ask, call and take."""
        asked = self._ask(input)
        if not isinstance(asked, ModelRequest):
            return asked
        context = copy_context()
        tries = 0
        while True:
            tries += 1
            told = ON_PREFILL.set(lambda progress: context.run(write_prefill, progress))
            try:
                answer = await asked.runnable.ainvoke(asked.input, **asked.options)
                break
            except Exception as error:
                if (shorter := shortened(error, tries, asked.model, asked.input)) is not None:
                    asked = asked._replace(input=shorter)
                    continue
                wait = announced_wait(error, tries, asked.model)
                if wait is None:
                    raise
            finally:
                ON_PREFILL.reset(told)
            await asyncio.sleep(wait)
        return self._take(input, answer)
