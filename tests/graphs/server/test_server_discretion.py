"""Clients learn what is wrong with their request, and nothing of the inside; the log has the rest."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from helpers.api_server import asked_in_process, options_of
from helpers.broken_servers import SSE, Answer, api_error, serving, stream_of
from helpers.commands import rolellm
from helpers.tiny_gguf import make_tiny_gguf
from helpers.user_files import write_models
from langchain_core.messages import BaseMessage

from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_graphs.server.api_keys import entry_of
from rolellm_graphs.server.app import create_app

CHAT = "/v1/chat/completions"
ASKED: dict[str, Any] = {
    "model": "sherlock-holmes",
    "messages": [{"role": "user", "content": "Who are you?"}],
}
HALF = "\ud800"


def told_by(caplog: pytest.LogCaptureFixture) -> str:
    """Everything that the log has from this server."""
    return "\n".join(one.getMessage() for one in caplog.records if one.name.startswith("rolellm"))


REFUSALS = {
    "wrong key": api_error(401, "Incorrect API key provided: Basic dXNlcjpTRUNSRVQ="),
    "odd request": api_error(400, "Incorrect API key provided: sk-SECRET123 at db7.internal.example"),
    "server error": api_error(500, "db7.internal.example: password=SECRET123 failed", Retry_After_Ms="1"),
    "breaks off": Answer(
        200,
        stream_of("A", " few") + 'data: {"error": {"message": "sk-SECRET123 at db7.internal"}}\n\n',
        SSE,
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_the_upstream_stays_unknown_to_clients(case: str, caplog: pytest.LogCaptureFixture) -> None:
    with serving(REFUSALS[case]) as upstream:
        base_url = upstream.url.replace("http://", "http://user:SECRETPW@")
        model = get_model("openai:some-model", base_url=base_url)
        async with asked_in_process(create_app(options_of(model))) as client:
            whole = await client.post(CHAT, json=ASKED)
            streamed = await client.post(CHAT, json={**ASKED, "stream": True})
    for response in (whole, streamed):
        shown = response.text + str(response.headers)
        for inside in ("SECRET", "dXNl", "127.0.0.1", "internal.", "some-model", "Incorrect", upstream.url):
            assert inside not in shown
        request_id = response.headers["x-request-id"]
        assert request_id in response.text
        assert f"Request {request_id} failed" in told_by(caplog)
        assert '"code":"model_error"' in response.text
    assert "127.0.0.1" in told_by(caplog)  # the log has the rest, without secrets
    assert "SECRET" not in told_by(caplog)
    assert "dXNl" not in told_by(caplog)
    assert whole.status_code == 502


@pytest.mark.parametrize("error", [ModelError, StorageError, KeyError])
async def test_the_log_has_what_the_client_is_not_told(
    error: type[Exception], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: list[BaseMessage]) -> Iterator[str]:
        yield from ()
        raise error("/home/somebody/x cannot be used") from ValueError("sk-SECRET123 was the cause\x1b[31m")

    file = tmp_path / "keys.toml"
    file.write_text(entry_of("phone", "the-key-of-ours"), encoding="utf-8")
    app = create_app(options_of(FunctionModel(function=fails), key_file=file))
    async with asked_in_process(app) as client:
        refused = await client.post(CHAT, json=ASKED, headers={"Authorization": "Bearer the-key-of-ours"})
    assert refused.status_code in (500, 502)
    assert "somebody" not in refused.text
    told = told_by(caplog)
    assert f"Request {refused.headers['x-request-id']} (key phone) failed" in told
    assert "/home/somebody/x cannot be used" in told
    assert "*** was the cause" in told.replace("sk-***", "***")
    assert "SECRET" not in told
    assert "the-key-of-ours" not in told
    assert "\x1b" not in told


async def test_an_error_that_no_route_expects_is_reported_in_the_same_way(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app: FastAPI = create_app(options_of(ScriptedChatModel(replies=["x"])))

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("password=SECRET123 in /home/somebody")

    async with asked_in_process(app) as client:  # which would raise what reaches the server
        refused = await client.get("/broken")
    assert refused.status_code == 500
    assert refused.json()["error"]["code"] == "internal_error"
    assert "somebody" not in refused.text
    assert "/home/somebody" in told_by(caplog)
    assert "SECRET" not in told_by(caplog)


async def test_each_response_has_an_id_of_its_own() -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=["x"])))) as client:
        answers = [await client.get("/health", headers={"X-Request-Id": "mine"}) for _ in range(3)]
        unknown = await client.get("/nothing")
    ids = {one.headers["x-request-id"] for one in (*answers, unknown)}
    assert len(ids) == 4
    assert all(re.fullmatch(r"req_[0-9a-f]{24}", one) for one in ids)


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "user", "content": HALF}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": f"a{HALF}"}]}]},
        {"messages": [{"role": "user", "content": "x", "name": HALF}]},
        {"model": HALF},
        {"model": f"sherlock-holmes@{HALF}"},
        {"stop": [HALF]},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"const": HALF}}}},
        {"user": HALF},
        {HALF: 1},
        {"metadata": {HALF: 1}},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("path", [CHAT, "/v1/completions"])
async def test_half_of_a_surrogate_pair_is_refused_in_a_sentence(path: str, fields: dict[str, Any]) -> None:
    body = json.dumps({**ASKED, "prompt": "Who are you?", **fields})
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=["Good day."])))) as client:
        refused = await client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert error["message"].endswith(
        "contains half of a surrogate pair, which is no text; send whole characters."
    )
    assert error["param"] in (*fields, "�")


@pytest.mark.parametrize("depth", [500, 100_000])
async def test_a_body_that_nests_very_deeply_is_refused_in_a_sentence(depth: int) -> None:
    body = b'{"model": "x", "messages": ' + b"[" * depth + b"]" * depth + b"}"
    async with asked_in_process(create_app(options_of(ScriptedChatModel(replies=["Good day."])))) as client:
        refused = await client.post(CHAT, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"].endswith(".")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ChatLlamaCpp:
    path = make_tiny_gguf(tmp_path_factory.mktemp("tiny") / "tiny.gguf", seed=3)
    return ChatLlamaCpp(model_path=path, n_ctx=2048, sequences=2, n_threads=1, max_tokens=20)


@pytest.mark.core
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": 5},
        {"required": 5},
        {"properties": 3},
        {"enum": {}},
        {"minItems": "x", "items": False},
        {"type": "banana"},
        {"type": "object", "properties": {f"a{number}": {"$ref": f"#{number}"} for number in range(800)}},
        5,
    ],
    ids=lambda schema: json.dumps(schema)[:30],
)
async def test_a_schema_that_cannot_be_prescribed_is_the_clients_mistake(
    tiny: ChatLlamaCpp, schema: Any
) -> None:
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    async with asked_in_process(create_app(options_of(tiny))) as client:
        whole = await client.post(CHAT, json={**ASKED, "response_format": form})
        streamed = await client.post(CHAT, json={**ASKED, "response_format": form, "stream": True})
    for refused in (whole, streamed):
        assert refused.status_code == 400
        error = refused.json()["error"]
        assert (error["param"], error["code"]) == ("response_format", "invalid_schema")
        assert error["message"].endswith(".")


def test_the_list_of_models_shows_no_secret_options() -> None:
    write_models(
        '[models.mine]\nspec = "openai:x"\napi_key = "my-own-SECRET"\n'
        'base_url = "http://user:SECRETPW@127.0.0.1:1/v1"\ntemperature = 0.5\n'
    )
    for arguments in (("list",), ("list", "--json"), ("show", "mine"), ("show", "mine", "--json")):
        shown = rolellm("models", *arguments)
        assert shown.returncode == 0, shown.stderr
        assert "SECRET" not in shown.stdout
        assert "0.5" in shown.stdout
