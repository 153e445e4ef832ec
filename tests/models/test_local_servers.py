"""Model servers on this machine are found, named and used."""

import json
from urllib.parse import urlsplit

import pytest
from helpers.broken_servers import Answer, finished, serving, stream_of
from helpers.commands import rolellm
from helpers.llama_server import llama_server

from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.servers import ServedModel, served_models

OLLAMA = {"object": "list", "data": [{"id": "qwen3:4b", "object": "model", "owned_by": "library"}]}
VLLM = {"data": [{"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "max_model_len": 40960}]}
LM_STUDIO = {"data": [{"id": "gemma-3-4b", "object": "model", "owned_by": "organization_owner"}]}
KOBOLD = {"object": "list", "data": [{"id": "koboldcpp/nemo", "owned_by": "koboldcpp"}]}
OURS = {"object": "list", "data": [{"id": "sherlock-holmes", "owned_by": "rolellm"}]}


@pytest.fixture(autouse=True)
def _no_ollama(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port
    return port


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (OLLAMA, [("qwen3:4b", "Ollama", None)]),
        (VLLM, [("Qwen/Qwen3-8B", "vLLM", 40960)]),
        (LM_STUDIO, [("gemma-3-4b", "LM Studio", None)]),
        (KOBOLD, [("koboldcpp/nemo", "KoboldCpp", None)]),
        (OURS, []),
        ({"data": "no"}, []),
        ([1], []),
        ({"data": [{"id": 3}, None]}, []),
    ],
)
def test_a_server_is_known_by_what_it_says(
    answer: object, expected: list[tuple[str, str, int | None]]
) -> None:
    with serving(Answer(body=json.dumps(answer))) as server:
        found = served_models([port_of(server.url)])
    assert [(one.name, one.server, one.context) for one in found] == expected


@pytest.mark.parametrize("answer", [Answer(status=404), Answer(body="<html>"), Answer(silent=True)])
def test_what_is_no_model_server_is_passed_over(answer: Answer) -> None:
    with serving(answer) as server, serving(Answer(body=json.dumps(OLLAMA))) as other:
        found = served_models([port_of(server.url), port_of(other.url), 1])
    assert [one.name for one in found] == ["qwen3:4b"]


def test_a_real_llama_server_is_found_with_its_context() -> None:
    with llama_server(embedded_gguf(), alias="smol", api_key="") as url:
        (found,) = served_models([port_of(url)])
    assert (found.name, found.server) == ("smol", "llama-server")
    assert found.context
    assert found.context >= 2048


def test_a_model_of_a_server_is_used_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Answer(body=json.dumps(OLLAMA))) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{port_of(server.url)}")
        model = get_model("local:qwen3:4b", temperature=0.5)
        assert getattr(model, "openai_api_base", None) == server.url
        with pytest.raises(ModelError, match=r"offers 'qwen3:40b'; did you mean 'qwen3:4b'\?|qwen3:4b"):
            get_model("local:qwen3:40b")
        listed = json.loads(rolellm("models", "list", "--json").stdout)
    assert [row["name"] for row in listed if row["kind"] == "running"] == ["local:qwen3:4b"]


def test_ollamas_address_is_read_as_ollama_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Answer(body=json.dumps(OLLAMA))) as server:
        port = port_of(server.url)
        expected = ServedModel("qwen3:4b", "Ollama", f"http://127.0.0.1:{port}/v1", None)
        for given in (f"0.0.0.0:{port}", f"127.0.0.1:{port}", f"http://localhost:{port}/"):
            monkeypatch.setenv("OLLAMA_HOST", given)
            assert served_models([]) == [expected]
        monkeypatch.setenv("OLLAMA_HOST", "http://[bad")
        assert served_models([]) == []


def test_an_answer_comes_from_the_server() -> None:
    body = stream_of("Good ", "day.", end=finished())
    with serving(Answer(body=body, content_type="text/event-stream")) as server:
        model = get_model("openai:qwen3:4b", base_url=server.url)
        assert "".join(chunk.text for chunk in model.stream("Hello.")) == "Good day."
