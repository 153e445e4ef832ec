"""What clients of the Model Context Protocol get: tools, prompts, resources, and errors in a sentence."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from helpers.api_server import options_of, served
from helpers.hypotheses import examples
from helpers.user_files import write_models
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from mcp import ClientSession, McpError, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.memory import create_connected_server_and_client_session
from pydantic import AnyUrl

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_graphs.mcp.handlers import mcp_server
from rolellm_graphs.mcp.http import PATH, mcp_interface
from rolellm_graphs.mcp.mistakes import local_sentence
from rolellm_graphs.server.service import Service

HOLMES = {"character": "sherlock-holmes", "message": "Who are you?"}
SCENE = """\
id: lighthouse
title: The Lighthouse
setting: The lamp room of a lighthouse, at night.
cast:
  - {persona: sherlock-holmes, secrets: [You put out the lamp.]}
  - {persona: abraham-lincoln}
  - {id: guest, name: The Guest, person: true}
opening:
  - {speaker: sherlock-holmes, kind: whisper, to: [abraham-lincoln], text: Say nothing of the lamp.}
  - {speaker: abraham-lincoln, text: "Come in, friend."}
director: round-robin
stop: {turns: 12}
"""


@pytest.fixture
def lighthouse(home: Path) -> None:
    folder = user_paths().scenes
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lighthouse.yaml").write_text(SCENE, encoding="utf-8")


def scripted(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies))


@asynccontextmanager
async def connected(model: BaseChatModel, **options: Any) -> AsyncIterator[ClientSession]:
    server = mcp_server(Service(options_of(model, **options)), local_sentence)
    async with create_connected_server_and_client_session(server) as client:
        yield client


@asynccontextmanager
async def over_http(
    client: httpx.AsyncClient, headers: dict[str, str] | None = None
) -> AsyncIterator[ClientSession]:
    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as http,
        streamable_http_client(f"{client.base_url}{PATH}", http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def data_of(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.isError, result
    assert result.structuredContent is not None
    return result.structuredContent


# Characters


async def test_a_character_remembers_its_own_conversation_alone() -> None:
    heard: list[list[BaseMessage]] = []

    def answer(messages: list[BaseMessage]) -> str:
        heard.append(messages)
        return f"Answer {len(heard)}."

    async with connected(FunctionModel(function=answer), strategy="system") as client:
        first = data_of(await client.call_tool("talk_with", HOLMES))
        other = data_of(await client.call_tool("talk_with", HOLMES))
        again = {**HOLMES, "message": "And?", "conversation": first["conversation"]}
        data_of(await client.call_tool("talk_with", again))
    assert first["conversation"] != other["conversation"]
    said = [message.text for message in heard[2] if message.type != "system"]
    assert said == ["Who are you?", "Answer 1.", "And?"]


async def test_progress_is_told_only_to_those_who_ask() -> None:
    told: list[tuple[float, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with connected(scripted("The game is afoot.", "Yes.")) as client:
        answer = data_of(await client.call_tool("talk_with", HOLMES, progress_callback=tell))["answer"]
        before = len(told)
        await client.call_tool("talk_with", HOLMES)
    assert answer == "The game is afoot."
    assert told[-1:] == [(len(answer), answer)]
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert len(told) == before > 1


async def test_a_cancelled_answer_stops_and_the_conversation_is_as_before() -> None:
    stopped = asyncio.Event()
    begun = asyncio.Event()

    async def endless(_: list[BaseMessage]) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    async with connected(_Awaiting(endless)) as client:
        call = asyncio.create_task(client.call_tool("talk_with", HOLMES))
        await begun.wait()
        notice = types.CancelledNotification(
            params=types.CancelledNotificationParams(requestId=client._request_id - 1)
        )
        await client.send_notification(types.ClientNotification(notice))
        with pytest.raises(McpError, match="cancel"):
            await call
        await stopped.wait()


class _Awaiting(FunctionModel):
    """A model whose answer is awaited in the event loop, so that a test sees it stop."""

    def __init__(self, answer: Any) -> None:
        super().__init__(function=lambda _: "")
        self._answer = answer

    async def _agenerate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> Any:
        await self._answer(messages)
        return await super()._agenerate(messages, *given, **options)

    async def _astream(self, messages: list[BaseMessage], *given: Any, **options: Any) -> Any:
        await self._answer(messages)
        async for chunk in super()._astream(messages, *given, **options):
            yield chunk


async def test_a_conversation_is_answered_once_at_a_time() -> None:
    going = threading.Event()

    def slow(messages: list[BaseMessage]) -> str:
        if messages[-1].text.endswith("slowly"):
            assert going.wait(60)
        return "Done."

    async with connected(FunctionModel(function=slow), strategy="system") as client:
        begun = data_of(await client.call_tool("talk_with", HOLMES))
        again = {**HOLMES, "message": "slowly", "conversation": begun["conversation"]}
        first = asyncio.create_task(client.call_tool("talk_with", again))
        await asyncio.sleep(0)
        while not (second := await client.call_tool("talk_with", again)).isError:
            raise AssertionError("two answers at once")
        going.set()
        assert data_of(await first)["answer"] == "Done."
    assert text_of(second).startswith("This conversation is being answered already;")


async def test_a_model_that_fails_is_told_here_in_its_own_words() -> None:
    def fail(_: list[BaseMessage]) -> str:
        raise ModelError("The model has no weights; download them.")

    async with connected(FunctionModel(function=fail)) as client:
        failed = await client.call_tool("talk_with", HOLMES)
    assert failed.isError
    assert text_of(failed) == "The model has no weights; download them."


# Scenes


@pytest.mark.usefixtures("lighthouse")
async def test_a_seat_sees_what_it_witnesses_and_no_more() -> None:
    heard: list[str] = []

    def answer(messages: list[BaseMessage]) -> str:
        heard.append("\n".join(message.text for message in messages))
        return f"Line {len(heard)}."

    async with connected(FunctionModel(function=answer)) as client:
        listed = await client.call_tool("list_scenes", {"search": "lighthouse"})
        begun = await client.call_tool("play_scene", {"scene": "lighthouse"})
        turn = {"conversation": data_of(begun)["conversation"], "line": "Good evening."}
        played = await client.call_tool("scene_turn", turn)
    assert data_of(begun)["seat"] == "guest"
    assert data_of(begun)["lines"][0]["content"] == "Come in, friend."
    for result in (listed, begun, played):
        assert "lamp." not in text_of(result).replace("lamp room", "")
    assert any("Say nothing of the lamp." in prompt for prompt in heard)
    assert any("Good evening." in prompt for prompt in heard)
    assert data_of(played)["lines"]


@pytest.mark.usefixtures("lighthouse")
async def test_a_scene_is_not_talked_with_and_a_character_not_played() -> None:
    async with connected(scripted("Yes.")) as client:
        scene = data_of(await client.call_tool("play_scene", {"scene": "lighthouse"}))["conversation"]
        talk = data_of(await client.call_tool("talk_with", HOLMES))["conversation"]
        told = [
            await client.call_tool("talk_with", {**HOLMES, "conversation": scene}),
            await client.call_tool("scene_turn", {"conversation": talk}),
            await client.call_tool("play_scene", {"scene": "lighthouse", "seat": "nobody"}),
        ]
    assert [one.isError for one in told] == [True, True, True]
    assert [text_of(one).partition(";")[0] for one in told] == [
        "This conversation belongs to another character",
        "This conversation is not a scene",
        "There is no seat 'nobody'",
    ]


# What else clients get


async def test_prompts_are_the_instructions() -> None:
    async with connected(scripted("Yes."), user="Irene") as client:
        listed = (await client.list_prompts()).prompts
        got = await client.get_prompt("sherlock-holmes", {"message": "Hello"})
        with pytest.raises(McpError, match="The argument 'message' is missing; say something"):
            await client.get_prompt("sherlock-holmes")
        with pytest.raises(McpError, match="did you mean sherlock-holmes"):
            await client.get_prompt("sherlock-homes", {"message": "Hello"})
    assert "sherlock-holmes" in {one.name for one in listed}
    texts = [one.content.text for one in got.messages if isinstance(one.content, types.TextContent)]
    assert "Baker Street" in texts[0]
    assert texts[-1] == "Hello"


async def test_resources_are_the_personas_files() -> None:
    async with connected(scripted("Yes.")) as client:
        listed = (await client.list_resources()).resources
        (content,) = (await client.read_resource(AnyUrl("persona:///sherlock-holmes"))).contents
        for wrong in ("persona:///nobody-at-all", "file:///etc/passwd", "persona:///..%2F..%2Fconfig"):
            with pytest.raises(McpError, match="There is no"):
                await client.read_resource(AnyUrl(wrong))
    assert AnyUrl("persona:///sherlock-holmes") in {one.uri for one in listed}
    assert isinstance(content, types.TextResourceContents)
    assert content.text.startswith("id: sherlock-holmes\n")


async def test_what_is_not_offered_is_unknown() -> None:
    async with connected(scripted("Yes."), offered=("sherlock-holmes", "scene:last-booth")) as client:
        assert [one.name for one in (await client.list_prompts()).prompts] == ["sherlock-holmes"]
        scenes = data_of(await client.call_tool("list_scenes", {}))["entries"]
        assert [one["id"] for one in scenes] == ["last-booth"]
        sparrow = await client.call_tool("talk_with", {**HOLMES, "character": "jack-sparrow"})
    assert text_of(sparrow).startswith("There is no character 'jack-sparrow'")


@examples(1)
@given(
    tool=st.sampled_from(["talk_with", "list_characters", "list_scenes", "play_scene", "scene_turn", "?"]),
    arguments=st.dictionaries(
        st.sampled_from(["character", "message", "conversation", "scene", "seat", "line", "search", "x"]),
        st.none() | st.integers() | st.text(max_size=30) | st.sampled_from(["sherlock-holmes", "../x"]),
    ),
)
async def test_whatever_is_asked_is_answered_or_refused_in_one_sentence(
    tool: str, arguments: dict[str, Any]
) -> None:
    async with connected(scripted("Yes."), offered=("sherlock-holmes", "scene:last-booth")) as client:
        result = await client.call_tool(tool, arguments)
    if result.isError:
        sentence = text_of(result)
        assert sentence.endswith(".")
        assert "\n" not in sentence
        assert len(sentence) < 600
        assert "internal error" not in sentence.lower()


async def test_each_wrong_argument_is_named() -> None:
    async with connected(scripted("Elementary.")) as session:
        misspelt = await session.call_tool("talk_with", {"charater": "sherlock-holmes"})
        empty = await session.call_tool("talk_with", {**HOLMES, "message": ""})
    assert misspelt.isError
    assert text_of(misspelt) == (
        "The argument 'character' is missing. The argument 'message' is missing. There is no argument "
        "'charater' (did you mean character?)."
    )
    assert text_of(empty).startswith("The argument 'message' is wrong: ")


# Over HTTP


async def test_a_session_that_ends_leaves_no_traceback_in_the_log(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(scripted("Elementary."), (mcp_interface,)) as client, over_http(client) as session:
        await session.list_tools()
        await asyncio.sleep(0.2)  # the client opens its stream for the server's messages
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def test_over_http_the_same_is_said(home: Path) -> None:
    async with served(scripted("Elementary.", "As I said."), (mcp_interface,)) as client:
        async with over_http(client) as session:
            first = data_of(await session.call_tool("talk_with", HOLMES))
        async with over_http(client) as session:
            again = {**HOLMES, "conversation": first["conversation"]}
            second = data_of(await session.call_tool("talk_with", again))
        assert (await client.post("/v1/chat/completions", json={})).status_code == 404
        assert (await client.get("/health")).json()["answering"] == 0
    assert (first["answer"], second["answer"]) == ("Elementary.", "As I said.")


async def test_over_http_keys_are_asked_for_and_keep_conversations_apart(home: Path) -> None:
    keys = ("first", "second")
    async with served(scripted("Elementary."), (mcp_interface,), api_keys=keys) as client:
        assert (await client.post(PATH, json={})).status_code == 401
        async with over_http(client, {"Authorization": "Bearer first"}) as session:
            begun = data_of(await session.call_tool("talk_with", HOLMES))
            again = {**HOLMES, "conversation": begun["conversation"]}
            assert not (await session.call_tool("talk_with", again)).isError
        async with over_http(client, {"Authorization": "Bearer second"}) as session:
            refused = await session.call_tool("talk_with", again)
    assert text_of(refused).startswith("There is no such conversation here")


async def test_over_http_a_failed_model_is_told_by_the_requests_id(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: list[BaseMessage]) -> str:
        raise ModelError("http://inner.example failed; look there.")

    async with (
        served(FunctionModel(function=fail), (mcp_interface,)) as client,
        over_http(client) as session,
    ):
        told = [text_of(await session.call_tool("talk_with", HOLMES)) for _ in range(2)]
    assert all("inner.example" not in one for one in told)
    ids = [one.rpartition(" ")[2].rstrip(".") for one in told]
    assert len(set(ids)) == 2, "each call has an id of its own"
    assert all(f"Request {one} failed" in caplog.text for one in ids)


async def test_an_answer_that_waits_does_not_hold_up_its_cancellation(home: Path) -> None:
    write_models(
        '[models.slow]\nspec = "scripted:One two three four five six seven."\nseconds_per_word = 30\n'
    )
    async with (
        served(get_model("slow"), (mcp_interface,), concurrent=1) as client,
        over_http(client) as session,
    ):
        call = asyncio.create_task(session.call_tool("talk_with", HOLMES))
        while (await client.get("/health")).json()["answering"] == 0:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        notice = types.CancelledNotification(
            params=types.CancelledNotificationParams(requestId=session._request_id - 1)
        )
        await session.send_notification(types.ClientNotification(notice))
        with pytest.raises(McpError, match="cancel"):
            await call
        while (await client.get("/health")).json()["answering"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
