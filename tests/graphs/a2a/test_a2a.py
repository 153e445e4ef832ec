"""Personas and scenes as agents of A2A, asked with the official client over a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from a2a.client import A2ACardResolver, A2AClientError, Client, ClientConfig, create_client
from a2a.compat.v0_3.types import AgentCard as AgentCard03
from a2a.helpers import get_artifact_text, new_text_message
from a2a.server.context import ServerCallContext
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import A2AError
from helpers.api_server import asked_in_process, options_of, served
from helpers.hypotheses import examples
from helpers.user_files import write_models
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_graphs.a2a.interface import a2a_interface
from rolellm_graphs.a2a.tasks import BoundedTaskStore
from rolellm_graphs.server.app import create_app, openai_interface
from rolellm_graphs.server.conversations import Conversations
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.names import AgentName
from rolellm_graphs.server.service import Service

BOTH = (openai_interface, a2a_interface)
HOLMES = "sherlock-holmes"
CARD = "/a2a/{}/.well-known/agent-card.json"


def scripted(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies))


@asynccontextmanager
async def agent(
    client: httpx.AsyncClient, name: str = HOLMES, *, streaming: bool = True, key: str = ""
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(timeout=60, headers=headers) as http:
        config = ClientConfig(streaming=streaming, httpx_client=http)
        async with await create_client(f"{client.base_url}/a2a/{name}", config) as connected:
            yield connected


def said(text: str, context: str | None = None) -> SendMessageRequest:
    return SendMessageRequest(message=new_text_message(text, context_id=context, role=Role.ROLE_USER))


async def sent(client: Client, text: str, context: str | None = None) -> list[StreamResponse]:
    return [event async for event in client.send_message(said(text, context))]


def answer_of(events: list[StreamResponse]) -> str:
    """The answer in a stream, or in the one task of an answer that is not streamed."""
    pieces = [
        get_artifact_text(one.artifact_update.artifact, delimiter="")
        for one in events
        if one.HasField("artifact_update")
    ]
    tasks = [one.task for one in events if one.HasField("task")]
    pieces += [get_artifact_text(artifact, delimiter="") for task in tasks for artifact in task.artifacts]
    return "".join(pieces)


def last_status(events: list[StreamResponse]) -> TaskStatus:
    return (
        events[-1].status_update.status if events[-1].HasField("status_update") else events[-1].task.status
    )


@pytest.mark.core
async def test_a_persona_answers_in_a_stream_and_remembers_its_context(home: Any) -> None:
    heard: list[list[BaseMessage]] = []

    def answer(messages: list[BaseMessage]) -> str:
        heard.append(messages)
        return f"This is answer {len(heard)}."

    model = FunctionModel(function=answer)
    async with served(model, BOTH, strategy="system") as server, agent(server) as holmes:
        first = await sent(holmes, "Who are you?", "mine")
        await sent(holmes, "Something else", "other")
        await sent(holmes, "And?", "mine")
    assert answer_of(first) == "This is answer 1."
    assert len([one for one in first if one.HasField("artifact_update")]) > 1, "it is streamed"
    assert last_status(first).state == TaskState.TASK_STATE_COMPLETED
    lines = [message.text for message in heard[2] if message.type != "system"]
    assert lines == ["Who are you?", "This is answer 1.", "And?"]


async def test_a_whole_answer_is_a_task_that_can_be_asked_for_again(home: Any) -> None:
    async with served(scripted("Elementary, my dear."), BOTH) as server:
        async with agent(server, streaming=False) as holmes:
            (event,) = await sent(holmes, "How?")
            again = await holmes.get_task(GetTaskRequest(id=event.task.id))
        async with agent(server, "jack-sparrow", streaming=False) as sparrow:
            with pytest.raises((A2AError, A2AClientError)):
                await sparrow.get_task(GetTaskRequest(id=event.task.id))
    for task in (event.task, again):
        assert [part.text for part in task.artifacts[0].parts] == ["Elementary, my dear."]
    assert again.status.state == TaskState.TASK_STATE_COMPLETED


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])
async def test_a_client_of_the_protocol_0_3_is_answered(home: Any, streaming: bool) -> None:
    async with (
        served(scripted("Elementary, my dear."), BOTH) as server,
        httpx.AsyncClient(timeout=60) as http,
    ):
        card = await A2ACardResolver(http, f"{server.base_url}/a2a/{HOLMES}").get_agent_card()
        old = [one for one in card.supported_interfaces if one.protocol_version == "0.3"]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(old)
        config = ClientConfig(streaming=streaming, httpx_client=http)
        async with await create_client(card, config) as holmes:
            events = await sent(holmes, "How?", "mine")
            ids = {
                one.task.id or one.status_update.task_id or one.artifact_update.task_id for one in events
            }
            (task_id,) = ids
            again = await holmes.get_task(GetTaskRequest(id=task_id))
    assert answer_of(events) == "Elementary, my dear."
    assert last_status(events).state == TaskState.TASK_STATE_COMPLETED
    assert get_artifact_text(again.artifacts[0]) == "Elementary, my dear."


async def test_the_card_has_the_fields_that_clients_of_the_protocol_0_3_require(home: Any) -> None:
    async with served(scripted("Hm."), BOTH, api_keys=("secret",)) as server:
        server.headers["Authorization"] = "Bearer secret"
        card = (await server.get(CARD.format(HOLMES))).json()
    AgentCard03.model_validate(card)
    assert card["url"] == f"{server.base_url}/a2a/{HOLMES}"
    assert (card["preferredTransport"], card["protocolVersion"]) == ("JSONRPC", "0.3")
    assert card["security"] == [{"key": []}]


async def test_a_scene_is_an_agent_too(home: Any) -> None:
    async with (
        served(scripted("Find a stool."), BOTH) as server,
        agent(server, "scene:last-booth") as scene,
    ):
        events = await sent(scene, "A stranger comes in.")
    assert "**Walt Kowalski:**" in answer_of(events)


async def test_the_card_says_who_it_is_and_that_it_asks_for_a_key(home: Any) -> None:
    async with served(scripted("Hm."), BOTH, api_keys=("secret",)) as server:
        assert (await server.get(CARD.format(HOLMES))).status_code == 401
        assert (await server.post(f"/a2a/{HOLMES}", json={})).status_code == 401
        server.headers["Authorization"] = "Bearer secret"
        card = await A2ACardResolver(server, f"{server.base_url}/a2a/{HOLMES}").get_agent_card()
        async with agent(server, key="secret") as holmes:
            assert answer_of(await sent(holmes, "Who?")) == "Hm."
    assert card.name == "Sherlock Holmes"
    assert card.capabilities.streaming
    assert {one.url for one in card.supported_interfaces} == {f"{server.base_url}/a2a/{HOLMES}"}
    assert list(card.security_schemes) == ["key"]


async def test_without_the_interface_there_are_no_agents(home: Any) -> None:
    async with asked_in_process(create_app(options_of(scripted("Hm.")))) as client:
        assert (await client.get(CARD.format(HOLMES))).status_code == 404


async def test_a_cancelled_task_stops_although_all_places_are_taken(home: Any) -> None:
    write_models('[models.slow]\nspec = "scripted:One two three four five six."\nseconds_per_word = 0.2\n')
    async with (
        served(get_model("slow"), BOTH, concurrent=1) as server,
        agent(server) as holmes,
        agent(server) as other,
    ):
        events = holmes.send_message(said("How?", "mine"))
        async for event in events:
            if event.HasField("artifact_update"):
                task = await other.cancel_task(CancelTaskRequest(id=event.artifact_update.task_id))
                break
        while (await server.get("/health")).json()["answering"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert task.status.state == TaskState.TASK_STATE_CANCELED


async def test_a_failed_model_fails_the_task_and_says_only_where_to_look(home: Any) -> None:
    def fail(_: list[BaseMessage]) -> str:
        raise ModelError("http://inner.example failed; look there.")

    async with served(FunctionModel(function=fail), BOTH) as server, agent(server) as holmes:
        status = last_status(await sent(holmes, "How?"))
    assert status.state == TaskState.TASK_STATE_FAILED
    assert status.message.parts[0].text.startswith("The model could not answer; the server's log has")


@examples(1)
@given(
    name=st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="/?#."), min_size=1, max_size=40
    )
    | st.sampled_from(["plain", "as-card", "scene:nowhere", "sherlock-holmes@nothing"])
)
async def test_an_unknown_agent_is_refused_in_one_sentence(name: str) -> None:
    app = create_app(options_of(scripted("Hm.")), BOTH)
    async with asked_in_process(app) as client:
        for response in (
            await client.get(CARD.format(quote(name, safe=""))),
            await client.post(f"/a2a/{quote(name, safe='')}", json={}),
        ):
            assert response.status_code == 404
            assert "\n" not in response.json()["error"]["message"]


@examples(1)
@given(
    body=st.recursive(st.none() | st.integers() | st.text(), lambda one: st.dictionaries(st.text(), one))
)
async def test_whatever_is_posted_gets_a_json_rpc_error(body: Any) -> None:
    app = create_app(options_of(scripted("Hm.")), BOTH)
    async with asked_in_process(app) as client:
        response = await client.post(f"/a2a/{HOLMES}", json=body)
    assert response.status_code == 200
    assert "error" in response.json()


# What is kept


def conversations(**bounds: int) -> Conversations:
    return Conversations(Service(options_of(scripted("Hm."))), **bounds)


async def test_the_conversations_that_were_used_last_are_kept() -> None:
    kept = conversations(kept=2)
    name = AgentName(HOLMES, "persona", None, None, None)
    first, second = kept.begin("me", name), kept.begin("me", name)
    kept.begin("me", name, first)
    third = kept.begin("me", name)
    assert len(kept) == 2
    assert kept.find("me", first)
    assert kept.find("me", third)
    with pytest.raises(ApiError, match="it was forgotten; begin a new one"):
        kept.find("me", second)
    with pytest.raises(ApiError, match="There is no such conversation"):
        kept.find("somebody else", first)


async def test_a_conversation_has_a_longest_length() -> None:
    kept = conversations(length=10)
    begun = kept.begin("me", AgentName(HOLMES, "persona", None, None, None))
    with pytest.raises(ApiError, match="longer than 10 characters; begin a new one"):
        [part async for part in kept.answer("me", begun, "x" * 11)]
    begun = kept.begin("me", AgentName(HOLMES, "persona", None, None, None))
    with pytest.raises(ApiError, match="send whole Unicode characters"):
        [part async for part in kept.answer("me", begun, "\ud800")]
    assert len(kept) == 0


async def test_ended_tasks_are_forgotten_and_running_ones_are_not() -> None:
    store, context = BoundedTaskStore(kept=2), ServerCallContext()
    running = TaskStatus(state=TaskState.TASK_STATE_WORKING)
    ended = TaskStatus(state=TaskState.TASK_STATE_COMPLETED)
    await store.save(Task(id="0", context_id="c", status=running), context)
    for number in range(1, 5):
        await store.save(Task(id=str(number), context_id="c", status=ended), context)
    kept = [name for name in map(str, range(5)) if await store.get(name, context)]
    assert kept == ["0", "4"]
