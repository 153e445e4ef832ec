"""Whatever is sent, the server answers in OpenAI's shape; `make fuzz-server` goes further."""

import asyncio
from functools import cache
from typing import Any

from fastapi import FastAPI
from helpers.api_server import asked_in_process, options_of
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.server.app import create_app
from rolellm_graphs.server.response_wire import ResponseRequest
from rolellm_graphs.server.wire import ChatRequest, CompletionRequest

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "x"])},
        optional={"content": JSON | st.text(max_size=30), "name": JSON},
    ),
    max_size=5,
)
NAMES = st.sampled_from(
    ["sherlock-holmes", "scene:last-booth", "scene:ten-oclock@visitor", "x@y", "@", "scene:"]
)


CALLS = {"role": "assistant", "tool_calls": 3}
ITEMS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["message", "function_call", "function_call_output", "reasoning", "x"])},
        optional={"role": st.sampled_from(["user", "assistant", "tool"])}
        | dict.fromkeys(("content", "name", "arguments", "call_id", "output", "tool_calls"), JSON),
    )
    | st.just(CALLS),
    max_size=4,
)


def bodies(
    request: type[ChatRequest | CompletionRequest | ResponseRequest],
) -> st.SearchStrategy[dict[str, Any]]:
    """Requests of which most fields are of the right kind, and some are anything."""
    anything = st.dictionaries(st.sampled_from(sorted(request.model_fields)), JSON, max_size=3)
    usual = st.fixed_dictionaries(
        {
            "model": NAMES | st.text(max_size=20),
            "messages": MESSAGES,
            "prompt": st.text(max_size=20),
            "input": ITEMS,
        }
    )
    return st.builds(lambda one, other: {**one, **other}, usual, anything)


@cache
def app() -> FastAPI:
    return create_app(options_of(ScriptedChatModel(replies=["Good day."])))


async def ask(path: str, body: dict[str, Any]) -> None:
    async with asked_in_process(app()) as client:
        answer = await client.post(path, json=body)
    assert answer.status_code < 500, answer.text
    if answer.status_code != 200:
        error = answer.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["message"]


@examples(0.4)
@given(bodies(ChatRequest))
def test_any_conversation_is_answered_or_refused(body: dict[str, Any]) -> None:
    asyncio.run(ask("/v1/chat/completions", body))


@examples(0.2)
@given(bodies(CompletionRequest))
def test_any_line_is_answered_or_refused(body: dict[str, Any]) -> None:
    asyncio.run(ask("/v1/completions", body))


@examples(0.4)
@given(bodies(ResponseRequest))
def test_any_input_is_answered_or_refused(body: dict[str, Any]) -> None:
    asyncio.run(ask("/v1/responses", body))


def test_calls_after_a_message_that_is_none_are_refused() -> None:
    body = {"model": "sherlock-holmes", "input": [CALLS, {"type": "function_call"}]}
    asyncio.run(ask("/v1/responses", body))


@examples(0.2)
@given(st.fixed_dictionaries({"model": st.just("lexical"), "input": JSON}, optional={"dimensions": JSON}))
def test_any_text_has_a_vector_or_is_refused(body: dict[str, Any]) -> None:
    asyncio.run(ask("/v1/embeddings", body))
