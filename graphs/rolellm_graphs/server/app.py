"""The server's ASGI application: routes and middleware."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, PlainTextResponse

from rolellm_agents.models.local import load_model
from rolellm_agents.recall.embeddings import get_embeddings
from rolellm_graphs.server import limits
from rolellm_graphs.server.access_log import AccessLog
from rolellm_graphs.server.answers import Agent, WholeAnswer
from rolellm_graphs.server.clients import Clients
from rolellm_graphs.server.concurrency import ConcurrencyLimit
from rolellm_graphs.server.connection import GoneError, gone_response
from rolellm_graphs.server.current_request import HEADER as REQUEST_ID
from rolellm_graphs.server.current_request import RequestIds
from rolellm_graphs.server.docs_page import add_docs_page
from rolellm_graphs.server.embeddings import add_embeddings
from rolellm_graphs.server.failures import UnexpectedErrors, add_error_handlers
from rolellm_graphs.server.names import agent_named
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.response_events import ResponseEvents
from rolellm_graphs.server.response_wire import ResponseRequest, response_object
from rolellm_graphs.server.service import Service
from rolellm_graphs.server.shared_state import SharedState
from rolellm_graphs.server.streams import chat_chunks, stream_response, text_chunks
from rolellm_graphs.server.whole_answers import total_usage
from rolellm_graphs.server.wire import (
    AnswerMessage,
    ChatChoice,
    ChatCompletion,
    ChatMessage,
    ChatRequest,
    CompletionRequest,
    GenerationRequest,
    Health,
    ModelList,
    ModelObject,
    TextChoice,
    TextCompletion,
)

_ABOUT = """\
Characters and scenes as models of OpenAI's API. `model` is a persona's id (`sherlock-holmes`) or a scene's
(`scene:last-booth`); after an `@` follows a strategy, a model, or in a scene the seat that you take.
`plain` is the model itself, and `as-card` the character that your system message describes.
"""
_AGENT, _IGNORED, _DROPPED = "X-RoleLLM-Agent", "X-RoleLLM-Ignored", "X-RoleLLM-Dropped-Messages"
_EXPOSED = ("Retry-After", REQUEST_ID, _AGENT, _IGNORED, _DROPPED)
"""Headers that web pages may read."""
_PATHS = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/models",
    "/health",
    "/metrics",
)


Interface = Callable[[FastAPI, Service], None]
"""Adds the paths of a protocol to an application."""


def create_app(
    options: ServerOptions | None = None,
    interfaces: Sequence[Interface] | None = None,
    shared: SharedState | None = None,
) -> FastAPI:
    """Create the application, which any ASGI server can run.

    Args:
        options: the server's options; None uses the defaults, for clients on this machine only.
        interfaces: the protocols that it speaks; None for OpenAI's API alone.
        shared: what it shares with other worker processes; None if it is the only one.

    Raises:
        ModelError: the first model or the embeddings cannot be used, or a name is unknown.
        SettingsError: the strategy is unknown, or an API key or the file of keys cannot be used.
    """
    options = options or ServerOptions()
    service = Service(options, shared)

    @asynccontextmanager
    async def ready(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(load_model, service.agents.model())
        async with AsyncExitStack() as running:
            for begin in service.while_running:
                await running.enter_async_context(begin())
            yield

    app = FastAPI(
        title="RoleLLM Agents",
        description=_ABOUT,
        version=version("rolellm-agents"),
        lifespan=ready,
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.agents = service.agents
    add_docs_page(app)
    for add in (openai_interface,) if interfaces is None else interfaces:
        add(app, service)
    _add_state(app, service)
    add_error_handlers(app)
    _add_limits(app, service)
    return app


def openai_interface(app: FastAPI, service: Service) -> None:
    """Add the paths of OpenAI's API.

    Raises:
        ModelError: the embeddings cannot be used.
    """
    _add_answering(app, service)
    _add_models(app, service)
    add_embeddings(app, {name: get_embeddings(name) for name in service.options.embeddings})


def _add_models(app: FastAPI, service: Service) -> None:
    @app.get("/v1/models", summary="Personas and scenes")
    def models() -> ModelList:
        service.agents.reload()
        return ModelList(data=service.agents.cards)

    @app.get("/v1/models/{model:path}", summary="One persona or scene")
    async def model(model: str, request: Request) -> ModelObject:
        name = agent_named(model, request.headers, service.options.models)
        await asyncio.to_thread(service.agents.find, name)
        return service.agents.card(name)


def _add_state(app: FastAPI, service: Service) -> None:
    @app.get("/health", summary="Whether it answers")
    async def health() -> Health:
        answering, waiting = service.metrics.load()
        return Health(version=app.version, answering=answering, waiting=waiting)

    @app.get("/metrics", summary="Counters for Prometheus", response_class=PlainTextResponse)
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _add_answering(app: FastAPI, service: Service) -> None:
    @app.post("/v1/chat/completions", summary="Answer a conversation", response_model=ChatCompletion)
    async def chat(body: ChatRequest, request: Request, head: _Head) -> Response:
        agent = await service.agent(body, request)
        head |= {"id": f"chatcmpl-{head['id']}", "model": body.model}
        headers = _headers_of(body.ignored + agent.ignored(body), agent)
        if body.stream:
            chunks = chat_chunks({**head, "object": "chat.completion.chunk"}, body, agent.persona)
            return await stream_response(request, service.streamed_answer(agent, body), chunks, headers)
        answered = await service.complete_answers(agent, body, request)
        choices = [
            ChatChoice(
                index=number,
                message=AnswerMessage(
                    content=one.text if one.text or not one.calls else None,
                    reasoning_content=one.reasoning,
                    tool_calls=one.calls or None,
                    name=agent.persona,
                ),
                finish_reason=one.end.reason,
            )
            for number, one in enumerate(answered)
        ]
        usage = total_usage([one.end.usage for one in answered])
        completion = ChatCompletion(**head, choices=choices, usage=usage, scene=answered[0].end.scene)
        return JSONResponse(
            completion.model_dump(exclude=None if completion.scene else {"scene"}),
            headers=_with_dropped(headers, answered[0]),
        )

    @app.post("/v1/completions", summary="Answer a line", response_model=TextCompletion)
    async def complete(body: CompletionRequest, request: Request, head: _Head) -> Response:
        agent = await service.agent(body, request)
        chat_body = _as_chat(body)
        head |= {"id": f"cmpl-{head['id']}", "model": body.model}
        headers = _headers_of(body.ignored + agent.ignored(chat_body), agent)
        if body.stream:
            chunks = text_chunks({**head, "object": "text_completion"}, chat_body)
            return await stream_response(
                request, service.streamed_answer(agent, chat_body), chunks, headers
            )
        answered = await service.complete_answers(agent, chat_body, request)
        choices = [
            TextChoice(index=number, text=one.text, finish_reason=one.end.reason)
            for number, one in enumerate(answered)
        ]
        completion = TextCompletion(
            **head, choices=choices, usage=total_usage([one.end.usage for one in answered])
        )
        return JSONResponse(completion.model_dump(), headers=_with_dropped(headers, answered[0]))

    @app.post("/v1/responses", summary="Answer an input")
    async def respond(body: ResponseRequest, request: Request, head: _Head) -> Response:
        chat_body = body.as_chat()
        agent = await service.agent(chat_body, request)
        head |= {"id": f"resp_{head['id']}"}
        headers = _headers_of(body.ignored + agent.ignored(chat_body), agent)
        if body.stream:
            events = ResponseEvents(head, body)
            streamed = service.streamed_answer(agent, chat_body)
            return await stream_response(request, streamed, events.of, headers, failed=events.failed)
        (answered,) = await service.complete_answers(agent, chat_body, request)
        return JSONResponse(response_object(head, body, answered), headers=_with_dropped(headers, answered))

    @app.exception_handler(GoneError)
    async def client_gone(_: Request, error: Exception) -> Response:
        return gone_response()


def _new_head() -> dict[str, Any]:
    return {"id": secrets.token_hex(12), "created": int(time.time())}


_Head = Annotated[dict[str, Any], Depends(_new_head)]


def _as_chat(body: CompletionRequest) -> ChatRequest:
    """A prompt as a conversation of one message."""
    options = body.model_dump(include=set(GenerationRequest.model_fields), exclude_none=True)
    return ChatRequest(**options, messages=[ChatMessage(role="user", content=body.line)])


def _headers_of(fields: Iterable[str], agent: Agent) -> dict[str, str]:
    """Headers with the agent and the ignored fields of the request."""
    headers = {_AGENT: agent.name}
    ignored = ",".join(
        name for name in sorted(fields) if name.isascii() and name.replace(".", "").isidentifier()
    )
    return {**headers, _IGNORED: ignored[:500]} if ignored else headers


def _with_dropped(headers: dict[str, str], answered: WholeAnswer) -> dict[str, str]:
    """The headers, with the number of messages that did not fit if there are any."""
    dropped = answered.end.dropped
    return {**headers, _DROPPED: str(dropped)} if dropped else headers


def _add_limits(app: FastAPI, service: Service) -> None:
    """Add middleware; the last one runs first."""
    options = service.options
    app.add_middleware(limits.UntypedJson)
    app.add_middleware(UnexpectedErrors)
    app.add_middleware(ConcurrencyLimit, admission=service.admission, admitting=service.admitting)
    app.add_middleware(
        limits.BodyLimit,
        size=options.body_bytes,
        seconds=options.body_seconds,
        memory=limits.BodyMemory(options.body_memory),
    )
    if options.asks_for_keys or options.requests_per_minute:
        app.add_middleware(
            Clients,
            keys=service.keys,
            per_minute=options.requests_per_minute,
            metrics=service.metrics,
            rates=service.rates,
        )
    if options.hosts:
        app.add_middleware(limits.KnownHosts, hosts=options.hosts)
    if options.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(options.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=list(_EXPOSED),
        )
    app.add_middleware(limits.Counting, metrics=service.metrics, paths=_PATHS)
    if options.access_log is not None:
        app.add_middleware(AccessLog, form=options.access_log)
    if options.root_path:
        app.add_middleware(limits.Prefix, prefix=options.root_path)
    app.add_middleware(RequestIds)
