"""Tools of clients: passed on to models that call them, ignored and told elsewhere."""

from typing import Any

import httpx
import pytest
from helpers.api_server import asked_in_process, options_of
from langchain_core.messages import AIMessage, ToolMessage
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageFunctionToolCall

from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.server.app import create_app
from rolellm_graphs.server.tool_use import tool_use_of

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "How is the weather in London?"}]
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}},
            "required": ["place"],
        },
    },
}
CALL = AIMessage("", tool_calls=[{"name": "weather", "args": {"place": "London"}, "id": "call_1"}])
ANSWERED = [
    *HELLO,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"place": "London"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "Fog."},
]


def calling(*replies: Any) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies) or [CALL], takes_tools=True)


def openai_client(client: httpx.AsyncClient) -> AsyncOpenAI:
    same: Any = client  # the package's types name another client of the same kind
    return AsyncOpenAI(api_key="none", base_url="http://test/v1", http_client=same, max_retries=0)


async def test_a_model_that_calls_tools_gets_them_and_its_call_is_answered() -> None:
    model = calling(CALL, "It is foggy, as ever.")
    async with asked_in_process(create_app(options_of(model))) as client:
        openai = openai_client(client)
        asked: Any = {"model": "sherlock-holmes", "tools": [WEATHER]}
        first = await openai.chat.completions.create(messages=HELLO, **asked)  # type: ignore[arg-type]
        second = await openai.chat.completions.create(messages=ANSWERED, **asked)  # type: ignore[arg-type]
    (choice,) = first.choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    assert choice.message.tool_calls
    (call,) = choice.message.tool_calls
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert (call.id, call.function.name) == ("call_1", "weather")
    assert call.function.arguments == '{"place": "London"}'
    assert model.options[0]["tools"] == [WEATHER]
    assert second.choices[0].message.content == "It is foggy, as ever."
    assert second.choices[0].finish_reason == "stop"
    called, result = model.calls[1][-2:]
    assert isinstance(called, AIMessage)
    assert called.tool_calls[0]["args"] == {"place": "London"}
    assert isinstance(result, ToolMessage)
    assert (result.text, result.tool_call_id) == ("Fog.", "call_1")


async def test_a_call_is_streamed_as_the_openai_package_reads_it() -> None:
    both = AIMessage(
        "",
        tool_calls=[
            {"name": "weather", "args": {"place": "London"}, "id": "call_1"},
            {"name": "weather", "args": {"place": "Paris"}, "id": "call_2"},
        ],
    )
    # Before 3.19.2, this helper of the package refuses tools that are not strict without a request.
    strict: Any = {**WEATHER, "function": {**WEATHER["function"], "strict": True}}
    async with asked_in_process(create_app(options_of(calling(both)))) as client:
        streaming: Any = openai_client(client).chat.completions.stream(
            model="sherlock-holmes",
            messages=HELLO,  # type: ignore[arg-type]
            tools=[strict],
        )
        async with streaming as stream:
            whole = await stream.get_final_completion()
    (choice,) = whole.choices
    assert choice.finish_reason == "tool_calls"
    calls = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls]
    assert calls == [
        ("call_1", "weather", '{"place": "London"}'),
        ("call_2", "weather", '{"place": "Paris"}'),
    ]


async def ignored_fields(answering: ScriptedChatModel, **fields: Any) -> tuple[dict[str, Any], str]:
    """The message of an answer, and the header with the ignored fields."""
    named = fields.pop("options", {})
    async with asked_in_process(create_app(options_of(answering, **named))) as client:
        response = await client.post(
            CHAT, json={"model": "sherlock-holmes", "messages": HELLO, "tools": [WEATHER], **fields}
        )
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["message"], response.headers.get("x-rolellm-ignored", "")


async def test_tools_are_ignored_where_they_may_or_can_not_be_called() -> None:
    able = calling("Hm.")
    assert await ignored_fields(able) == (
        {"role": "assistant", "content": "Hm.", "name": "sherlock-holmes"},
        "",
    )
    _, none = await ignored_fields(able, tool_choice="none")
    _, switched_off = await ignored_fields(able, options={"tools": "ignore"})
    _, unable = await ignored_fields(ScriptedChatModel(replies=["Hm."]), tool_choice="auto")
    assert (none, switched_off, unable) == ("tool_choice,tools", "tools", "tool_choice,tools")
    assert [options.get("tools") for options in able.options] == [[WEATHER], None, None]


async def test_results_of_tools_are_left_out_for_models_without_tools_and_that_is_told() -> None:
    model = ScriptedChatModel(replies=["Hm."])
    _, told = await ignored_fields(model, messages=ANSWERED)
    assert told == "messages.tool_calls,tools"
    assert [message.type for message in model.calls[0]][-1] == "human"


async def test_the_former_functions_are_ignored() -> None:
    model = calling("Hm.")
    messages = [
        *HELLO,
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}},
        {"role": "function", "name": "weather", "content": "Fog."},
    ]
    functions = {"functions": [WEATHER["function"]], "function_call": "auto", "tools": None}
    _, told = await ignored_fields(model, messages=messages, **functions)
    assert told == "function_call,functions,messages.function_call"
    assert [message.type for message in model.calls[0]][-1] == "human"


async def test_tools_are_ignored_in_a_scene() -> None:
    model = calling("Good evening.")
    _, told = await ignored_fields(model, model="scene:last-booth", temperature=0.2)
    assert told == "temperature,tools"


@pytest.mark.parametrize(
    ("choice", "bound"),
    [
        ("required", "any"),
        ("auto", None),
        ({"type": "function", "function": {"name": "weather"}}, "weather"),
    ],
)
async def test_a_choice_reaches_the_model_as_langchain_names_it(choice: Any, bound: str | None) -> None:
    model = calling()
    await ignored_fields(model, tool_choice=choice)
    assert model.options[0]["tool_choice"] == bound


@pytest.mark.parametrize(
    ("fields", "param", "said"),
    [
        ({"tools": [{"type": "function"}]}, "tools[0].function", "is missing"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type", "'function'"),
        ({"tools": [WEATHER], "tool_choice": "sometimes"}, "tool_choice", "auto"),
        (
            {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "x"}}},
            "tool_choice",
            "no tool 'x'",
        ),
    ],
)
async def test_tools_that_cannot_be_read_are_refused(fields: Any, param: str, said: str) -> None:
    async with asked_in_process(create_app(options_of(calling()))) as client:
        refused = await client.post(CHAT, json={"model": "sherlock-holmes", "messages": HELLO, **fields})
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == param
    assert said in refused.json()["error"]["message"]


async def test_the_embedded_model_gets_tools_only_if_a_call_is_required() -> None:
    model = get_model("llamacpp:rolesmol", seed=1, max_tokens=24)
    assert tool_use_of(model, None) == "when-required"
    assert tool_use_of(model, "pass") == "pass"
    asked = {"model": "sherlock-holmes", "messages": HELLO, "tools": [WEATHER]}
    async with asked_in_process(create_app(options_of(model))) as client:
        left = await client.post(CHAT, json=asked)
        forced = await client.post(CHAT, json={**asked, "tool_choice": "required"})
        broken = {"type": "function", "function": {"name": "x", "parameters": {"type": "nonsense"}}}
        refused = await client.post(CHAT, json={**asked, "tools": [broken], "tool_choice": "required"})
    assert left.headers["x-rolellm-ignored"] == "tools"
    assert left.json()["choices"][0]["message"]["content"]
    (choice,) = forced.json()["choices"]
    assert (choice["finish_reason"], "x-rolellm-ignored" in forced.headers) == ("tool_calls", False)
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "weather"
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "tools")


async def test_open_webui_chats_with_its_built_in_tools() -> None:
    # What Open WebUI 0.12.4 sends by default: these four fields, with some thirty tools.
    function = WEATHER["function"]
    tools = [{**WEATHER, "function": {**function, "name": f"tool_{number}"}} for number in range(36)]
    asked = {"model": "sherlock-holmes", "stream": True, "messages": HELLO, "tools": tools}
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=["Foggy."])))) as client:
        response = await client.post(CHAT, json=asked)
    assert response.status_code == 200
    assert response.headers["x-rolellm-ignored"] == "tools"
    assert '"content":"Foggy."' in response.text
