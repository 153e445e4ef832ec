"""What the interfaces of a server share: its agents, keys, queue and counters."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from fastapi import Request

from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.prompting.strategies import get_strategy
from rolellm_graphs.server.agents import Agents
from rolellm_graphs.server.answers import Agent, WholeAnswer, whole_answer
from rolellm_graphs.server.api_keys import KeyRing, given_keys
from rolellm_graphs.server.client_tasks import addressee
from rolellm_graphs.server.concurrency import Admission
from rolellm_graphs.server.connection import while_connected
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.metrics import Metrics
from rolellm_graphs.server.names import agent_named
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.shared_state import SharedState
from rolellm_graphs.server.streams import StreamedAnswer
from rolellm_graphs.server.whole_answers import answers
from rolellm_graphs.server.wire import ChatRequest, GenerationRequest


def _check_strategies(options: ServerOptions) -> None:
    """Check at startup for errors that every answer would raise."""
    if options.strategy is not None:
        get_strategy(options.strategy)
        return
    for model in options.models:
        default_strategy(model)


class Service:
    """A server's models, limits and counters, which all its interfaces share."""

    def __init__(self, options: ServerOptions, shared: SharedState | None = None) -> None:
        """Prepare the service; no model is loaded.

        Args:
            options: the server's options.
            shared: what the service shares with other processes; None if it is the only one.

        Raises:
            ModelError: the first model cannot be used.
            SettingsError: the strategy is unknown, or an API key or the file of keys cannot be used.
        """
        self.options = options
        self.while_running: list[Callable[[], AbstractAsyncContextManager[None]]] = []
        """What runs as long as the server does; interfaces add to it."""
        self.admitting: set[str] = set()
        """Beginnings of paths whose requests do not wait in the queue, because their answers do."""
        self.metrics = Metrics()
        shared = shared or SharedState()
        self.rates = shared.rates
        self.admission = Admission(
            concurrent=options.concurrent,
            queue=options.queue,
            queue_seconds=options.queue_seconds,
            metrics=self.metrics,
        )
        keys = given_keys(options.api_keys)
        self.keys = KeyRing(keys, options.key_file) if options.asks_for_keys else None
        _check_strategies(options)
        self.agents = Agents(options, shared.scenes)
        self.agents.model()

    async def agent(self, body: GenerationRequest, request: Request) -> Agent:
        """The agent that a request of OpenAI's API names.

        Raises:
            ApiError: there is none, or the request asks it for something that it cannot do.
            RoleLLMError: the agent cannot be built.
        """
        name = agent_named(body.model, request.headers, self.options.models)
        if isinstance(body, ChatRequest):
            name = addressee(
                name,
                body.messages,
                plain_tasks=self.options.plain_tasks,
                persona_named=self.agents.persona_named,
            )
        if name.kind == "scene" and body.n > 1:
            raise ApiError(400, "A scene returns one answer; leave out n.", param="n")
        if body.stream and body.n > 1:
            raise ApiError(400, "A stream returns one answer; leave out n or stream.", param="n")
        return await asyncio.to_thread(self.agents.find, name)

    def streamed_answer(self, agent: Agent, body: ChatRequest) -> StreamedAnswer:
        """Start an answer within the server's limits."""
        seconds = self.options.answer_seconds
        return StreamedAnswer(agent, body, seconds=seconds, metrics=self.metrics)

    async def complete_answers(
        self, agent: Agent, body: ChatRequest, request: Request
    ) -> list[WholeAnswer]:
        """The complete answers to a request, unless its client leaves.

        Raises:
            ApiError: an answer failed.
            GoneError: the client disconnected.
        """
        seconds = self.options.answer_seconds
        work = answers(agent, body, seconds=seconds, metrics=self.metrics)
        return [whole_answer(parts) for parts in await while_connected(request.receive, work)]
