"""OpenAI's Responses API, as the `openai` package and LangChain use it."""

from typing import Any

import httpx
import pytest
from helpers.api_server import asked_in_process, options_of, served
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from openai import APIError, AsyncOpenAI
from pydantic import SecretStr

from rolellm_agents.errors import ModelError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_graphs.server.app import create_app

REPLY = "My name is Sherlock Holmes."
CALL = AIMessage("", tool_calls=[{"name": "weather", "args": {"place": "London"}, "id": "call_1"}])
WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "weather",
    "description": "The weather of a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}


def openai_client(client: httpx.AsyncClient) -> AsyncOpenAI:
    same: Any = client  # the package's types name another client of the same kind
    return AsyncOpenAI(api_key="none", base_url="http://test/v1", http_client=same, max_retries=0)


async def test_the_openai_package_gets_text_whole_and_streamed() -> None:
    model = ScriptedChatModel(replies=[REPLY])
    async with asked_in_process(create_app(options_of(model))) as client:
        openai = openai_client(client)
        asked: Any = {"model": "sherlock-holmes", "input": "Who are you?", "instructions": "It is foggy."}
        whole = await openai.responses.create(**asked)
        async with openai.responses.stream(**asked) as stream:
            kinds = [event.type async for event in stream]
            streamed = await stream.get_final_response()
    assert whole.output_text == streamed.output_text == REPLY
    assert (whole.status, streamed.status) == ("completed", "completed")
    assert whole.usage is not None
    assert whole.usage.output_tokens == len(REPLY.split())
    assert streamed.usage == whole.usage
    assert "It is foggy." in model.calls[0][0].text
    assert [kinds[0], kinds[-1]] == ["response.created", "response.completed"]
    assert kinds.count("response.output_text.delta") == len(REPLY.split())


async def test_a_call_of_a_tool_is_an_item_and_its_result_goes_back() -> None:
    model = ScriptedChatModel(replies=[CALL, CALL, "Foggy."], takes_tools=True)
    async with asked_in_process(create_app(options_of(model))) as client:
        openai = openai_client(client)
        asked: Any = {"model": "sherlock-holmes", "tools": [WEATHER]}
        question: Any = {"role": "user", "content": [{"type": "input_text", "text": "The weather?"}]}
        whole = await openai.responses.create(input=[question], **asked)
        async with openai.responses.stream(input=[question], **asked) as stream:
            streamed = await stream.get_final_response()
        results: Any = [
            {"type": "function_call_output", "call_id": name, "output": "Fog."}
            for name in ("call_1", "call_2")
        ]
        called: Any = whole.output[0].model_dump()
        other: Any = {**called, "call_id": "call_2"}
        last = await openai.responses.create(input=[question, called, other, *results], **asked)
    for response in (whole, streamed):
        call: Any = response.output[0]
        assert (len(response.output), call.type) == (1, "function_call")
        assert (call.call_id, call.name, call.arguments) == ("call_1", "weather", '{"place": "London"}')
    assert model.options[0]["tools"][0]["function"]["name"] == "weather"
    assert [message.type for message in model.calls[2]][-4:] == ["human", "ai", "tool", "tool"]
    both: Any = model.calls[2][-3]
    assert [call["id"] for call in both.tool_calls] == ["call_1", "call_2"]
    assert last.output_text == "Foggy."


async def test_langchains_model_talks_to_it() -> None:
    model = ScriptedChatModel(replies=[REPLY])
    async with served(model) as client:
        chat = ChatOpenAI(
            model="sherlock-holmes",
            base_url=str(client.base_url.join("/v1")),
            api_key=SecretStr("none"),
            use_responses_api=True,
            max_retries=0,
        )
        messages = [SystemMessage("It is foggy."), HumanMessage("Who are you?")]
        whole = await chat.ainvoke(messages)
        streamed = [chunk async for chunk in chat.astream(messages)]
    assert whole.text == REPLY
    assert "".join(chunk.text for chunk in streamed if isinstance(chunk, AIMessageChunk)) == REPLY
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["output_tokens"] == len(REPLY.split())


async def test_a_failure_in_the_middle_reaches_the_client() -> None:
    def breaks_off(_: Any) -> Any:
        yield "A "
        raise ModelError("It is away.")

    async with asked_in_process(create_app(options_of(FunctionModel(function=breaks_off)))) as client:
        stream: Any = await openai_client(client).responses.create(
            model="sherlock-holmes", input="Who?", stream=True
        )
        with pytest.raises(APIError, match="could not answer"):
            async for _ in stream:
                pass


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": [{"role": "x", "content": "y"}]}, "input[0].role"),
        (
            {"input": [{"role": "user", "content": "y"}], "instructions": "z", "temperature": 9},
            "temperature",
        ),
        (
            {"instructions": "z", "input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            "input[0].content",
        ),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ],
)
async def test_what_cannot_be_answered_is_refused_by_its_own_name(fields: Any, param: str) -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        asked = {"model": "sherlock-holmes", "input": "Who are you?", **fields}
        refused = await client.post("/v1/responses", json=asked)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
    assert refused.json()["error"]["message"].startswith(param)
