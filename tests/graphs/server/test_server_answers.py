"""What the server answers, in OpenAI's shape."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from helpers.api_server import asked_in_process, options_of, served
from helpers.tiny_gguf import make_tiny_gguf
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from pydantic import Field

from rolellm_agents.errors import ContextLengthError, ModelError, StorageError
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_graphs.role.graph import role_graph
from rolellm_graphs.server.app import create_app

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Who are you?"}]
REPLY = "My name is Sherlock Holmes. It is my business to know."


def events(response: httpx.Response) -> list[Any]:
    """The objects of a stream; its end mark must be there."""
    assert response.headers["content-type"].startswith("text/event-stream")
    *parts, done = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert done == "[DONE]"
    return [json.loads(part) for part in parts]


def words_of(chunks: list[Any]) -> str:
    return "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])


async def test_a_persona_answers_with_name_usage_and_reason() -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        response = await client.post(CHAT, json={"model": "sherlock-holmes", "messages": HELLO})
    told = response.json()
    assert response.status_code == 200
    assert told["object"] == "chat.completion"
    assert told["model"] == "sherlock-holmes"
    (choice,) = told["choices"]
    assert choice["message"] == {"role": "assistant", "content": REPLY, "name": "sherlock-holmes"}
    assert choice["finish_reason"] == "stop"
    usage = told["usage"]
    assert usage["completion_tokens"] == len(REPLY.split())
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 100
    assert "scene" not in told


async def test_a_stream_says_the_same_word_by_word() -> None:
    asked = {"model": "sherlock-holmes", "messages": HELLO, "stream": True}
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        chunks = events(await client.post(CHAT, json=asked))
        counted = events(await client.post(CHAT, json={**asked, "stream_options": {"include_usage": True}}))
    assert words_of(chunks) == words_of(counted) == REPLY
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert {chunk["id"] for chunk in chunks} == {chunks[0]["id"]}
    assert all("usage" not in chunk for chunk in chunks)
    assert counted[-1]["choices"] == []
    assert counted[-1]["usage"]["completion_tokens"] == len(REPLY.split())


@pytest.mark.parametrize("strategy", ["system", "few-shot-dialogue", "zero-shot"])
async def test_the_model_is_sent_what_the_role_graph_would_send_it(strategy: str) -> None:
    conversation = [
        {"role": "user", "content": "Good evening."},
        {"role": "assistant", "content": "You have been in Afghanistan."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "How did "}, {"type": "text", "text": "you know?"}],
        },
    ]
    asked, alone = ScriptedChatModel(replies=[REPLY]), ScriptedChatModel(replies=[REPLY])
    async with asked_in_process(create_app(options_of(asked))) as client:
        name = f"sherlock-holmes@{strategy}"
        response = await client.post(CHAT, json={"model": name, "messages": conversation})
    assert response.headers["x-rolellm-agent"] == name
    graph = role_graph("sherlock-holmes", model=alone, strategy=strategy)
    said: list[AnyMessage] = [
        HumanMessage("Good evening."),
        AIMessage("You have been in Afghanistan."),
        HumanMessage("How did you know?"),
    ]
    await graph.ainvoke({"messages": said})
    assert [one.text for one in asked.calls[0]] == [one.text for one in alone.calls[0]]
    assert [one.type for one in asked.calls[0]] == [one.type for one in alone.calls[0]]


async def test_a_system_message_is_told_to_the_persona_beside_its_own_description() -> None:
    model = ScriptedChatModel(replies=[REPLY])
    async with asked_in_process(create_app(options_of(model))) as client:
        messages = [{"role": "system", "content": "It is foggy in Baker Street."}, *HELLO]
        await client.post(CHAT, json={"model": "sherlock-holmes", "messages": messages})
    first = model.calls[0][0].text
    assert "It is foggy in Baker Street." in first
    assert "Sherlock Holmes" in first


class Recording(ScriptedChatModel):
    """Keeps what each call was told besides the messages."""

    told: list[dict[str, Any]] = Field(default_factory=list)

    def _chunks(self, messages: Any, stop: Any, options: Any, should_stop: Any) -> Any:
        self.told.append({"stop": stop, **options})
        return super()._chunks(messages, stop, options, should_stop)


async def test_sampling_fields_reach_the_model_and_wishes_for_length_are_cut() -> None:
    model = Recording(replies=[REPLY])
    async with asked_in_process(create_app(options_of(model, max_tokens=50))) as client:
        fields = {"temperature": 0.3, "top_p": 0.8, "seed": 7, "stop": "Watson", "max_tokens": 9000}
        fields |= {"presence_penalty": 0.1, "frequency_penalty": 0.2}
        response = await client.post(CHAT, json={"model": "sherlock-holmes", "messages": HELLO, **fields})
    assert response.status_code == 200
    (told,) = model.told
    assert told["stop"] == ["Watson"]
    assert {name: told[name] for name in fields if name not in ("stop", "max_tokens")} == {
        name: value for name, value in fields.items() if name not in ("stop", "max_tokens")
    }
    assert told["max_tokens"] == 50


async def test_fields_that_mean_nothing_here_are_named_and_those_that_cannot_be_had_refused() -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        asked = {
            "model": "sherlock-holmes",
            "messages": HELLO,
            "chat_completion_source": "custom",
            "typo": 1,
        }
        passed = await client.post(CHAT, json=asked)
        logprobs = await client.post(CHAT, json={**asked, "logprobs": True})
    assert (passed.status_code, passed.headers["x-rolellm-ignored"]) == (200, "chat_completion_source,typo")
    assert (logprobs.status_code, logprobs.json()["error"]["param"]) == (400, "logprobs")


async def test_several_answers_come_beside_each_other_each_with_a_seed_of_its_own() -> None:
    model = Recording(replies=["One.", "Two.", "Three."])
    async with asked_in_process(create_app(options_of(model))) as client:
        asked = {"model": "sherlock-holmes", "messages": HELLO, "n": 3, "seed": 5}
        told = (await client.post(CHAT, json=asked)).json()
        streamed = await client.post(CHAT, json={**asked, "stream": True})
    assert sorted(choice["message"]["content"] for choice in told["choices"]) == ["One.", "Three.", "Two."]
    assert [choice["index"] for choice in told["choices"]] == [0, 1, 2]
    assert sorted(one["seed"] for one in model.told) == [5, 6, 7]
    assert told["usage"]["completion_tokens"] == 3
    assert streamed.status_code == 400


async def test_a_line_is_answered_by_the_older_path_too() -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        asked = {"model": "sherlock-holmes", "prompt": "Who are you?"}
        whole = (await client.post("/v1/completions", json=asked)).json()
        chunks = events(await client.post("/v1/completions", json={**asked, "stream": True}))
    assert (whole["object"], whole["choices"][0]["text"]) == ("text_completion", REPLY)
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == REPLY
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"


async def test_all_personas_and_scenes_are_listed_and_found_again() -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        listed = (await client.get("/v1/models")).json()["data"]
        for card in (listed[0], listed[-1]):
            assert (await client.get(f"/v1/models/{card['id']}")).json() == card
        unknown = await client.get("/v1/models/nobody")
    ids = [card["id"] for card in listed]
    assert {"sherlock-holmes", "scene:last-booth"} <= set(ids)
    assert len(ids) == len(set(ids)) >= 110
    assert unknown.status_code == 404


@pytest.mark.parametrize(
    ("fields", "status", "param", "said"),
    [
        ({"stop": ["x"] * 17}, 400, "stop", "stop must have at most 16 items."),
        ({"stop": 3}, 400, "stop", "stop must be a valid list."),
        ({"seed": "x"}, 400, "seed", "seed must be a valid integer."),
        ({"logprobs": True}, 400, "logprobs", "logprobs is not supported here; leave it out."),
        ({"logit_bias": {"1": 2}}, 400, "logit_bias", "logit_bias is not supported here; leave it out."),
        ({"stop": [3]}, 400, "stop[0]", "stop[0] must be a valid string."),
        ({"response_format": {"type": "nonsense"}}, 400, "response_format", "json_schema"),
        ({"response_format": {"type": "json_schema"}}, 400, "response_format", "schema"),
        ({"response_format": 3}, 400, "response_format", "response_format must be an object."),
        ({"messages": ["x"]}, 400, "messages[0]", "messages[0] must be an object."),
        (
            {"messages": [{"role": "user", "content": 3}]},
            400,
            "messages[0].content",
            "must be a valid list",
        ),
        ({"messages": [{}]}, 400, "messages[0].role", "messages[0].role is missing; add it."),
        ({"model": "sherlock-homes"}, 404, "model", "did you mean sherlock-holmes"),
        ({"model": "scene:last-both"}, 404, "model", "did you mean scene:last-booth"),
        ({"model": "/etc/passwd"}, 404, "model", "There is no model"),
        ({"model": "../personas/en/sherlock-holmes.yaml"}, 404, "model", "There is no model"),
        ({"model": "sherlock-holmes@llamacpp:/etc/passwd"}, 404, "model", "There is no strategy or model"),
        ({"model": ""}, 400, "model", "at least 1 character"),
        ({"messages": []}, 400, "messages", "messages must have at least 1 item."),
        ({"messages": [{"role": "user"}]}, 400, "messages", "empty"),
        ({"messages": [{"role": "assistant", "content": "Hm."}]}, 400, "messages", "role user"),
        ({"messages": [{"role": "x", "content": "x"}]}, 400, "messages[0].role", "'tool' or 'function'."),
        ({"messages": "hello"}, 400, "messages", "messages must be a valid list."),
        ({"temperature": 3}, 400, "temperature", "less than or equal to 2"),
        ({"max_tokens": 0}, 400, "max_tokens", "greater than or equal to 1"),
        ({"n": 99}, 400, "n", "less than or equal to 8"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            400,
            "messages[0].content",
            "only text is supported",
        ),
    ],
)
async def test_what_cannot_be_answered_is_refused_with_the_field(
    fields: dict[str, Any], status: int, param: str | None, said: str
) -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        asked = {"model": "sherlock-holmes", "messages": HELLO, **fields}
        refused = await client.post(CHAT, json=asked)
        streamed = await client.post(CHAT, json={**asked, "stream": True})
    assert refused.status_code == streamed.status_code == status
    error = refused.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert said in error["message"]
    assert param is None or error["param"] == param


@pytest.mark.parametrize(
    "body", [b"", b"nope", b'{"model": "sherlock-holmes"', b"[]", b"\xff\xfe", b"null"]
)
async def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        refused = await client.post(CHAT, content=body, headers={"Content-Type": "application/json"})
        as_text = await client.post(CHAT, content=b'{"model": "x"}', headers={"Content-Type": "text/plain"})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"]
    # A page of another site may send text without asking first; it gets nothing by it.
    assert as_text.status_code == 400


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ModelError("It is away: secret detail."), 502, "The model could not answer; the server's log has"),
        (ContextLengthError("The message is too long: secret detail."), 400, "too long"),
        (
            StorageError("/home/secret detail cannot be read."),
            500,
            "An internal error occurred; the server's",
        ),
        (KeyError("secret detail"), 500, "An internal error occurred; the server's log has"),
    ],
)
async def test_a_model_that_fails_is_told_and_nothing_of_the_inside(
    error: Exception, status: int, said: str
) -> None:
    def breaks_off(_: list[BaseMessage]) -> Iterator[str]:
        yield from ("A", " few")
        raise error

    asked = {"model": "sherlock-holmes", "messages": HELLO}
    broken = FunctionModel(function=breaks_off)
    async with asked_in_process(create_app(options_of(broken))) as client:
        whole = await client.post(CHAT, json=asked)
        parts = events(await client.post(CHAT, json={**asked, "stream": True}))
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[error])))) as client:
        early = await client.post(CHAT, json={**asked, "stream": True})
    assert whole.status_code == early.status_code == status
    assert said in whole.json()["error"]["message"]
    assert said in parts[-1]["error"]["message"]
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in parts[:-1]) == "A few"
    assert "secret detail" not in whole.text + str(parts) + early.text


async def test_an_answer_that_takes_too_long_is_ended() -> None:
    model = ScriptedChatModel(replies=["word " * 400], seconds_per_word=0.05)
    asked = {"model": "sherlock-holmes", "messages": HELLO}
    async with asked_in_process(create_app(options_of(model, answer_seconds=0.3))) as client:
        whole = await client.post(CHAT, json=asked)
        parts = events(await client.post(CHAT, json={**asked, "stream": True}))
    assert (whole.status_code, whole.json()["error"]["code"]) == (504, "timeout")
    assert parts[-1]["error"]["code"] == "timeout"
    assert 0 < words_of(parts[:-1]).count("word") < 100


async def test_conversations_at_once_never_get_each_others_words() -> None:
    model = FunctionModel(function=lambda messages: f"You said: {messages[-1].text}.")
    async with served(model, concurrent=64) as client:

        async def ask(number: int) -> None:
            messages = [{"role": "user", "content": f"number {number}"}]
            asked = {"model": "sherlock-holmes", "messages": messages, "stream": bool(number % 2)}
            response = await client.post(CHAT, json=asked)
            said = (
                words_of(events(response))
                if number % 2
                else response.json()["choices"][0]["message"]["content"]
            )
            assert said == f"You said: number {number}."

        await asyncio.gather(*(ask(number) for number in range(48)))


async def test_counters_tell_what_happened() -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        await client.post(CHAT, json={"model": "sherlock-holmes", "messages": HELLO})
        await client.post(CHAT, json={"model": "nobody", "messages": HELLO})
        await client.get("/anything/at/all")
        told = (await client.get("/metrics")).text
        health = (await client.get("/health")).json()
    assert f'rolellm_requests_total{{path="{CHAT}",status="200"}} 1.0' in told
    assert f'rolellm_requests_total{{path="{CHAT}",status="404"}} 1.0' in told
    assert 'rolellm_requests_total{path="other",status="404"} 1.0' in told
    assert f'rolellm_tokens_total{{kind="answer"}} {len(REPLY.split())}.0' in told
    assert "rolellm_first_words_seconds_count 1.0" in told
    assert (health["status"], health["answering"]) == ("ok", 0)


async def test_the_description_has_a_page_that_loads_nothing_from_elsewhere() -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        page = await client.get("/docs")
        paths = (await client.get("/openapi.json")).json()["paths"]
    assert page.status_code == 200
    assert "cdn" not in page.text
    assert "http" not in page.text.replace("http://test/", "")
    assert {"/v1/models", CHAT, "/v1/completions", "/health"} <= set(paths)


async def test_reasoning_is_sent_apart_as_other_servers_send_it() -> None:
    reasoned = ScriptedChatModel(replies=[f"<think>A visitor.</think>\n\n{REPLY}"])
    asked = {"model": "sherlock-holmes", "messages": HELLO}
    async with asked_in_process(create_app(options_of(reasoned))) as client:
        whole = (await client.post(CHAT, json=asked)).json()
        chunks = events(await client.post(CHAT, json={**asked, "stream": True}))
        text = (
            await client.post("/v1/completions", json={"model": "sherlock-holmes", "prompt": "Who?"})
        ).json()
    message = whole["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == (REPLY, "A visitor.")
    assert words_of(chunks) == REPLY
    thoughts = [c["choices"][0]["delta"].get("reasoning_content", "") for c in chunks if c["choices"]]
    assert "".join(thoughts) == "A visitor."
    assert text["choices"][0]["text"] == REPLY


async def test_words_of_refusals_are_ours_for_every_kind_of_request() -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=[REPLY])))) as client:
        told = [
            (await client.post(path, json=body)).json()["error"]
            for path, body in (
                (CHAT, {}),
                (CHAT, []),
                ("/v1/completions", {"model": "sherlock-holmes", "prompt": ["a", "b"]}),
                ("/v1/completions", {"model": "sherlock-holmes", "prompt": [3]}),
            )
        ]
    assert [error["message"] for error in told] == [
        "model is missing; add it.",
        "The request must be an object.",
        "prompt must have at most 1 item.",
        "prompt[0] must be a valid string.",
    ]
    assert [error["type"] for error in told] == ["invalid_request_error"] * 4
    assert told[0]["code"] == "missing_required_parameter"


async def test_what_openais_clients_send_for_nothing_is_accepted() -> None:
    model = Recording(replies=[REPLY])
    fields = {"top_k": -1, "stop": "", "response_format": {"type": "text"}, "tools": [], "n": 1}
    asked = {"model": "sherlock-holmes", "messages": HELLO, **fields}
    async with asked_in_process(create_app(options_of(model))) as client:
        passed = await client.post(CHAT, json=asked)
        untyped = await client.post(CHAT, content=json.dumps(asked))
        of_a_page = await client.post(
            CHAT, content=json.dumps(asked), headers={"Origin": "https://a.example"}
        )
    assert (passed.status_code, untyped.status_code) == (200, 200)
    assert model.told[0]["stop"] is None
    # A page of another site may send this without asking first; it gets nothing by it.
    assert of_a_page.status_code == 400


async def test_messages_that_no_longer_fit_are_told_where_pages_may_read_it(tmp_path: Path) -> None:
    small = ChatLlamaCpp(model_path=make_tiny_gguf(tmp_path / "t.gguf", seed=3), n_ctx=256, max_tokens=4)
    long = [{"role": role, "content": "word " * 20} for _ in range(20) for role in ("user", "assistant")]
    asked = {"model": "plain", "messages": [*long, *HELLO], "seed": 1}
    page = {"Origin": "https://page.example"}
    async with asked_in_process(create_app(options_of(small, origins=("*",)))) as client:
        whole = await client.post(CHAT, json=asked, headers=page)
        last = events(await client.post(CHAT, json={**asked, "stream": True}))[-1]
        short = await client.post(CHAT, json={**asked, "messages": HELLO})
    dropped = int(whole.headers["x-rolellm-dropped-messages"])
    assert 0 < dropped <= 40
    assert last["dropped_messages"] == dropped
    assert "x-rolellm-dropped-messages" not in short.headers
    exposed = whole.headers["access-control-expose-headers"].lower()
    assert {"x-rolellm-dropped-messages", "x-rolellm-ignored", "x-rolellm-agent", "x-request-id"} <= set(
        exposed.split(", ")
    )
