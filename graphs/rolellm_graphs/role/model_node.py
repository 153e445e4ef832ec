"""A node of a graph that serves sync and async callers alike."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from langchain_core.runnables import Runnable, RunnableConfig

Step = Callable[[Any], dict[str, Any]]
AsyncStep = Callable[[Any], Awaitable[dict[str, Any]]]


class Node(Runnable[Any, dict[str, Any]]):
    """From a state to its update.

    LangGraph runs a plain function in a thread when the caller is async; for the quick steps of our
    graphs the way there and back takes longer than the step. And it has no place for a function's async
    form beside the sync one, which whoever calls a model needs (`docs/design/graphs.md`).
    """

    def __init__(self, step: Step, step_async: AsyncStep | None = None) -> None:
        """Make a node.

        Args:
            step: the node for sync callers.
            step_async: the node for async callers; None if `step` is too quick to matter.
        """
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
        """Run the step's async form, if it has one."""
        return await self._step_async(input) if self._step_async else self._step(input)


class ModelRequest(NamedTuple):
    """What a node wants of a model, or of another graph."""

    runnable: Runnable[Any, Any]
    input: Any
    options: dict[str, Any]


class ModelNode(Runnable[Any, dict[str, Any]]):
    """A node that asks and takes the answer; what it does before and after is the same for all callers."""

    def __init__(
        self,
        ask: Callable[[Any], ModelRequest | dict[str, Any]],
        take: Callable[[Any, Any], dict[str, Any]],
        *,
        name: str,
    ) -> None:
        """Make a node.

        Args:
            ask: from a state to what is asked, or to the update when there is nothing to ask.
            take: from the state and the answer to the node's update.
            name: the node's.
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
        """Ask and take."""
        asked = self._ask(input)
        if not isinstance(asked, ModelRequest):
            return asked
        return self._take(input, asked.runnable.invoke(asked.input, **asked.options))

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - LangChain's name for it
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Ask and take."""
        asked = self._ask(input)
        if not isinstance(asked, ModelRequest):
            return asked
        return self._take(input, await asked.runnable.ainvoke(asked.input, **asked.options))
