"""The protocol's requests, answered by tools, prompts and resources."""

import asyncio
from collections.abc import Callable, Hashable
from importlib.metadata import version
from typing import Any, Final

from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import McpError
from starlette.requests import Request

from rolellm_graphs.mcp.cards import Cards
from rolellm_graphs.mcp.prompts import PersonaPrompts
from rolellm_graphs.mcp.tools import Progress, Tools
from rolellm_graphs.server.clients import client_of
from rolellm_graphs.server.current_request import begin_request
from rolellm_graphs.server.service import Service

_INSTRUCTIONS: Final = (
    "Fictional and historical characters. Talk with one by talk_with, or play a scene of several with "
    "play_scene and scene_turn. Quote their answers as they are."
)
_HERE: Final = "here"
"""The only client of a server on stdio."""

Sentence = Callable[[Exception], str]
"""What a client is told of an error."""


def mcp_server(service: Service, sentence: Sentence) -> Server[Any, Any]:
    """The server of the official SDK, for any transport.

    Args:
        service: answers.
        sentence: converts an error to one sentence for the client.
    """
    server: Server[Any, Any] = Server(
        "rolellm", version=version("rolellm-agents"), instructions=_INSTRUCTIONS
    )
    _add_tools(server, Tools(service), sentence)
    _add_prompts(server, PersonaPrompts(service), sentence)
    _add_cards(server, Cards(service), sentence)
    return server


def _add_tools(server: Server[Any, Any], tools: Tools, sentence: Sentence) -> None:
    async def list_tools(_: types.ListToolsRequest) -> types.ServerResult:
        return types.ServerResult(types.ListToolsResult(tools=tools.list()))

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        given = request.params
        client = _begin(server)
        try:
            result = await tools.call(given.name, given.arguments or {}, client, _progress(server))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client's model is told
            told = types.TextContent(type="text", text=sentence(error))
            result = types.CallToolResult(content=[told], isError=True)
        return types.ServerResult(result)

    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool


def _add_prompts(server: Server[Any, Any], prompts: PersonaPrompts, sentence: Sentence) -> None:
    async def list_prompts(_: types.ListPromptsRequest) -> types.ServerResult:
        return types.ServerResult(types.ListPromptsResult(prompts=await asyncio.to_thread(prompts.list)))

    async def get_prompt(request: types.GetPromptRequest) -> types.ServerResult:
        given = request.params
        _begin(server)
        try:
            return types.ServerResult(
                await asyncio.to_thread(prompts.get, given.name, given.arguments or {})
            )
        except Exception as error:
            raise _refused(sentence(error)) from error

    server.request_handlers[types.ListPromptsRequest] = list_prompts
    server.request_handlers[types.GetPromptRequest] = get_prompt


def _add_cards(server: Server[Any, Any], cards: Cards, sentence: Sentence) -> None:
    async def list_resources(_: types.ListResourcesRequest) -> types.ServerResult:
        return types.ServerResult(types.ListResourcesResult(resources=await asyncio.to_thread(cards.list)))

    async def read_resource(request: types.ReadResourceRequest) -> types.ServerResult:
        _begin(server)
        try:
            return types.ServerResult(await asyncio.to_thread(cards.read, request.params.uri))
        except Exception as error:
            raise _refused(sentence(error)) from error

    server.request_handlers[types.ListResourcesRequest] = list_resources
    server.request_handlers[types.ReadResourceRequest] = read_resource


def _refused(sentence: str) -> McpError:
    return McpError(types.ErrorData(code=types.INVALID_PARAMS, message=sentence))


def _begin(server: Server[Any, Any]) -> Hashable:
    """Note the request for the log, and return its client."""
    request = server.request_context.request
    if not isinstance(request, Request):
        begin_request({"type": "mcp"})
        return _HERE
    begin_request(request.scope)
    return client_of(request.scope)


def _progress(server: Server[Any, Any]) -> Progress:
    """Sends notifications of progress, if the client has asked for them."""
    context = server.request_context
    token = context.meta.progressToken if context.meta else None

    async def tell(length: float, words: str) -> None:
        if token is not None:
            await context.session.send_progress_notification(
                token, length, message=words, related_request_id=str(context.request_id)
            )

    return tell
