"""What the owner of a server needs: an access log, and a place behind a proxy."""

import json
import logging
from typing import Any

import httpx
import pytest
from helpers.api_server import asked_in_process, options_of, rolellm_serve
from helpers.commands import rolellm

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.server.app import create_app

CHAT = "/v1/chat/completions"
ASKED = {"model": "sherlock-holmes", "messages": [{"role": "user", "content": "A secret question."}]}
KEY = "a-key-of-ours"


def model() -> ScriptedChatModel:
    return ScriptedChatModel(replies=["A secret answer."])


async def logged(caplog: pytest.LogCaptureFixture, form: Any) -> list[str]:
    """The access log of three requests: answered, streamed and refused."""
    caplog.set_level(logging.INFO)
    app = create_app(options_of(model(), access_log=form, api_keys=(KEY,)))
    headers = {"Authorization": f"Bearer {KEY}"}
    async with asked_in_process(app) as client:
        await client.post(f"{CHAT}?api_key={KEY}", json=ASKED, headers=headers)
        await client.post(CHAT, json={**ASKED, "stream": True}, headers=headers)
        await client.get("/v1/models/%0aforged%0aline")
    return [record.message for record in caplog.records if record.name.endswith(".access")]


async def test_the_access_log_says_who_asked_for_what_and_nothing_of_the_contents(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = [json.loads(line) for line in await logged(caplog, "json")]
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("POST", CHAT, 200),
        ("POST", CHAT, 200),
        ("GET", "/v1/models/ forged line", 401),
    ]
    assert [line["key"] for line in lines] == ["key-1", "key-1", None]
    assert all(line["request"].startswith("req_") and line["seconds"] >= 0 for line in lines)
    assert set(lines[0]) == {"time", "client", "key", "method", "path", "status", "seconds", "request"}
    assert "secret" not in str(lines)
    assert KEY not in str(lines)


async def test_the_access_log_as_text_has_one_line_for_each_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = await logged(caplog, "text")
    assert [f" POST {CHAT} 200 " in line for line in lines] == [True, True, False]
    assert all("\n" not in line for line in lines)


async def test_there_is_no_access_log_unless_it_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    assert await logged(caplog, None) == []


@pytest.mark.parametrize("proxied", ["", "/rolellm"], ids=["prefix removed", "prefix left"])
async def test_a_proxy_may_offer_the_server_under_a_prefix(proxied: str) -> None:
    app = create_app(options_of(model(), root_path="/rolellm", api_keys=(KEY,)))
    async with asked_in_process(app) as client:
        page = (await client.get(f"{proxied}/docs")).text
        described = (await client.get(f"{proxied}/openapi.json")).json()
        health = await client.get(f"{proxied}/health")
        refused = await client.get(f"{proxied}/v1/models")
        listed = await client.get(f"{proxied}/v1/models", headers={"X-Api-Key": KEY})
    assert described["servers"] == [{"url": "/rolellm"}]
    assert (health.status_code, refused.status_code, listed.status_code) == (200, 401, 200)
    assert "http" not in page


async def test_the_links_of_the_description_are_relative() -> None:
    async with asked_in_process(create_app(options_of(model()))) as client:
        first = await client.get("/")
        page = (await client.get("/docs")).text
        files = [
            await client.get(f"/{name}")
            for name in ("openapi.json", "swagger/swagger-ui-bundle.js", "swagger/swagger-ui.css")
            if f'"{name}"' in page or f"'{name}'" in page
        ]
    assert first.headers["location"] == "docs"
    assert [file.status_code for file in files] == [200, 200, 200]


def test_the_process_writes_its_access_log_and_answers_a_proxys_host() -> None:
    arguments = ("--model", "scripted:Hm.", "--access-log", "json", "--allowed-host", "chat.example.org")
    with rolellm_serve(*arguments, "--log-level", "info") as (process, url):
        answers = [
            httpx.get(f"{url}/models", headers={"Host": host}).status_code
            for host in ("chat.example.org", "other.example.org")
        ]
        assert process.stdout is not None
        lines: list[dict[str, Any]] = []
        while len(lines) < 2:
            line = process.stdout.readline()
            assert line
            if line.startswith("{"):
                lines.append(json.loads(line))
    assert answers == [200, 403]
    assert [line["status"] for line in lines] == [200, 403]


@pytest.mark.parametrize("prefix", ["rolellm", "/rolellm/"])
def test_a_prefix_that_is_none_is_refused(prefix: str) -> None:
    told = rolellm("serve", "--root-path", prefix, "--model", "scripted:Hm.", "--port", "0")
    assert told.returncode == 2
    assert "--root-path /rolellm" in told.stderr
