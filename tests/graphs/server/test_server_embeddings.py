"""Vectors of texts, as the `openai` package asks for them."""

import json
from typing import Any

import pytest
from helpers.api_server import asked_in_process, options_of
from openai import AsyncOpenAI

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.recall.embeddings import get_embeddings
from rolellm_graphs.server.app import create_app

TEXTS = ["Elementary, my dear Watson.", "The fog is thick tonight."]


@pytest.mark.parametrize("form", [{}, {"encoding_format": "float"}])
async def test_the_openai_package_reads_our_vectors(form: Any) -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel()))) as client:
        same: Any = client  # the package's types name another client of the same kind
        openai = AsyncOpenAI(api_key="none", base_url="http://test/v1", http_client=same)
        several = await openai.embeddings.create(model="lexical", input=TEXTS, **form)
        one = await openai.embeddings.create(model="lexical", input=TEXTS[1], **form)
    assert [list(each.embedding) for each in several.data] == [
        pytest.approx(vector, abs=1e-6) for vector in get_embeddings("lexical").embed(TEXTS)
    ]
    assert list(one.data[0].embedding) == list(several.data[1].embedding)
    assert several.usage.total_tokens > one.usage.total_tokens > 0


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": "lexicall"}, 404, "model"),
        ({"model": "huggingface:/etc"}, 404, "model"),
        ({"input": []}, 400, "input"),
        ({"input": [[1, 2]]}, 400, "input[0]"),
        ({"input": 3}, 400, "input"),
        ({"input": "\ud800"}, 400, "input"),
        ({"dimensions": 7}, 400, "dimensions"),
        ({"encoding_format": "text"}, 400, "encoding_format"),
    ],
)
async def test_what_has_no_vector_is_refused(fields: Any, status: int, param: str) -> None:
    async with asked_in_process(create_app(options_of(ScriptedChatModel()))) as client:
        refused = await client.post(
            "/v1/embeddings",
            content=json.dumps({"model": "lexical", "input": "Fog.", **fields}),
        )
    assert (refused.status_code, refused.json()["error"]["param"]) == (status, param)
