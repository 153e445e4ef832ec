"""Anthropic's models, which cache only what a request marks."""

from typing import Any

import pytest
from helpers.broken_servers import serving_paths
from langchain_core.messages import HumanMessage

from rolellm_agents.models.catalog import get_model
from rolellm_agents.persona import Persona
from rolellm_graphs import role_graph


def answered(_: Any) -> dict[str, Any]:
    usage = {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 400}
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "Elementary."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {**usage, "cache_creation_input_tokens": 0},
    }


def test_a_conversation_is_marked_and_grows_at_its_end(
    holmes: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    with serving_paths({"/v1/messages": answered}) as server:
        url = server.url.removesuffix("/v1")
        graph = role_graph(holmes, model=get_model("anthropic:claude", base_url=url))
        first = graph.invoke({"messages": [HumanMessage("Who are you?")]})
        graph.invoke({"messages": [*first["messages"], HumanMessage("Where do you live?")]})
        one, two = server.requests
    assert one["cache_control"] == two["cache_control"] == {"type": "ephemeral"}
    assert one["system"] == two["system"]
    assert two["messages"][: len(one["messages"])] == one["messages"]
    assert first["messages"][-1].usage_metadata["input_token_details"]["cache_read"] == 400


def test_the_marks_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    with serving_paths({"/v1/messages": answered}) as server:
        url = server.url.removesuffix("/v1")
        get_model("anthropic:claude", base_url=url, model_kwargs={}).invoke("Hello")
    assert "cache_control" not in server.requests[0]
