"""Model servers on this machine are found, named and used."""

import json
from urllib.parse import urlsplit

import pytest
from helpers.broken_servers import Answer, finished, serving, serving_paths, stream_of
from helpers.commands import rolellm
from helpers.llama_server import CONTEXT, llama_server
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.server_details import ServerDetails, server_details
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
    assert [(one.name, one.server, one.details.context) for one in found] == expected


def ollama_shows(sent: dict[str, str]) -> dict[str, object]:
    able = {"qwen3:4b": ["completion", "tools", "thinking"], "llava": ["completion", "vision"]}
    return {"capabilities": able[sent["model"]], "model_info": {"qwen3.context_length": 40960}}


def openai_list(owner: str, *names: str, **fields: object) -> dict[str, object]:
    return {"object": "list", "data": [{"id": name, "owned_by": owner, **fields} for name in names]}


SERVERS: dict[str, tuple[dict[str, object], list[ServerDetails]]] = {
    "Ollama": (
        {
            "/v1/models": openai_list("library", "qwen3:4b", "llava"),
            "/api/ps": {"models": [{"name": "qwen3:4b", "context_length": 4096}]},
            "/api/show": ollama_shows,
        },
        [ServerDetails(4096, ("tools", "reasoning", "JSON")), ServerDetails(None, ("images", "JSON"))],
    ),
    "LM Studio": (
        {
            "/v1/models": openai_list("organization_owner", "qwen/qwen3.5-9b", "text-embedding"),
            "/api/v1/models": {
                "models": [
                    {
                        "type": "llm",
                        "key": "qwen/qwen3.5-9b",
                        "loaded_instances": [{"id": "a", "config": {"context_length": 4096}}],
                        "max_context_length": 262144,
                        "capabilities": {"vision": True, "trained_for_tool_use": True},
                    }
                ]
            },
        },
        [ServerDetails(4096, ("tools", "images", "JSON")), ServerDetails(None, ("JSON",))],
    ),
    "llama-server": (
        {
            "/v1/models": openai_list("llamacpp", "m", meta={"n_ctx": 2048, "n_ctx_train": 8192}),
            "/props": {
                "default_generation_settings": {"n_ctx": 1024},
                "modalities": {"vision": True, "audio": False},
                "chat_template_caps": {"supports_tool_calls": True},
            },
        },
        [ServerDetails(1024, ("tools", "JSON", "logprobs", "images"))],
    ),
    "KoboldCpp": (
        {
            "/v1/models": openai_list("koboldcpp", "koboldcpp/nemo"),
            "/api/extra/true_max_context_length": {"value": 8192},
            "/api/extra/version": {"result": "KoboldCpp", "version": "1.100", "vision": False},
        },
        [ServerDetails(8192, ("JSON", "logprobs"))],
    ),
    "vLLM": (
        {"/v1/models": openai_list("vllm", "Qwen/Qwen3-8B", max_model_len=40960)},
        [ServerDetails(40960, ("JSON", "logprobs"))],
    ),
}


@pytest.mark.parametrize("program", SERVERS)
def test_what_a_server_states_about_its_models_is_read(program: str) -> None:
    answers, expected = SERVERS[program]
    with serving_paths(answers) as server:
        found = served_models([port_of(server.url)])
    assert [one.server for one in found] == [program] * len(expected)
    assert [one.details for one in found] == expected


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["models", "name", "key", "config", "capabilities", "meta", "value"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(list(SERVERS)), JSON_VALUES, JSON_VALUES)
def test_no_answer_of_a_server_is_too_strange(program: str, answer: object, meta: object) -> None:
    found = server_details(program, [{"id": "m", "meta": meta}], lambda *_: answer)
    assert list(found) == ["m"]
    assert found["m"].context is None or found["m"].context > 0


@pytest.mark.parametrize("answer", [Answer(status=404), Answer(body="<html>"), Answer(silent=True)])
def test_what_is_no_model_server_is_passed_over(answer: Answer) -> None:
    with serving(answer) as server, serving(Answer(body=json.dumps(OLLAMA))) as other:
        found = served_models([port_of(server.url), port_of(other.url), 1])
    assert [one.name for one in found] == ["qwen3:4b"]


def test_a_real_llama_server_is_found_with_its_context() -> None:
    with llama_server(embedded_gguf(), alias="smol", api_key="") as url:
        (found,) = served_models([port_of(url)])
    assert (found.name, found.server) == ("smol", "llama-server")
    # Not what the model could have, but what the server has.
    assert found.details == ServerDetails(CONTEXT, ("JSON", "logprobs"))


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
        details = ServerDetails(None, ("JSON",))
        expected = ServedModel("qwen3:4b", "Ollama", f"http://127.0.0.1:{port}/v1", details)
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
