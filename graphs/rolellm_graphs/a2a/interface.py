"""The paths of the A2A protocol: a card and a JSON-RPC endpoint for each persona and scene."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from fastapi import FastAPI, Request, Response
from starlette.responses import JSONResponse

from rolellm_graphs.a2a.callers import CallerContexts, note_agent
from rolellm_graphs.a2a.cards import TEXT, agent_card
from rolellm_graphs.a2a.executor import AnswerExecutor
from rolellm_graphs.a2a.tasks import BoundedTaskStore
from rolellm_graphs.server.conversations import Conversations
from rolellm_graphs.server.names import AgentName, agent_named, unknown_agent
from rolellm_graphs.server.service import Service

PATH: Final = "/a2a"
_COMMON: Final = AgentCard(
    name="rolellm",
    description="Characters and scenes.",
    version="1",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=[TEXT],
    default_output_modes=[TEXT],
    supported_interfaces=[AgentInterface(url=PATH, protocol_binding="JSONRPC", protocol_version="1.0")],
    skills=[AgentSkill(id="talk", name="Talk", description="Talk with it.", tags=["character"])],
)
"""What the cards of all agents say alike, for the SDK's checks of requests."""


def a2a_interface(app: FastAPI, service: Service) -> None:
    """Add `/a2a/NAME`, where NAME is a persona's id, or `scene:` and a scene's."""
    handler = DefaultRequestHandler(
        AnswerExecutor(Conversations(service)), BoundedTaskStore(), agent_card=_COMMON
    )
    dispatcher = JsonRpcDispatcher(handler, CallerContexts(), enable_v0_3_compat=True)

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await handler.aclose()

    service.while_running.append(running)
    service.admitting.add(f"{PATH}/")

    @app.get(PATH + "/{agent}/.well-known/agent-card.json", summary="The A2A card of a persona or scene")
    async def card(agent: str, request: Request) -> Response:
        name = await _agent(service, agent)
        url = str(request.url_for("a2a_rpc", agent=agent))
        described = agent_card(service.agents.card(name), url, asks_for_keys=service.options.asks_for_keys)
        return JSONResponse(agent_card_to_dict(described))

    @app.post(PATH + "/{agent}", summary="Talk with a persona or scene by A2A's JSON-RPC", name="a2a_rpc")
    async def rpc(agent: str, request: Request) -> Response:
        note_agent(request, await _agent(service, agent))
        return await dispatcher.handle_requests(request)


async def _agent(service: Service, name: str) -> AgentName:
    """The persona or scene of a path.

    Raises:
        ApiError: there is none.
    """
    found = agent_named(name, {}, service.options.models)
    if found.kind not in ("persona", "scene"):
        raise unknown_agent(name, service.agents.names)
    await asyncio.to_thread(service.agents.find, found)
    return found
