"""Passages in a Chroma server."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from helpers.broken_servers import Answer, not_listening, serving
from helpers.chroma_server import ChromaServer
from helpers.passages import persona_of, pieces, texts_of
from helpers.recording_embeddings import RecordingEmbeddings

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import StorageError
from rolellm_agents.recall import Recaller, RecallOptions
from rolellm_agents.recall.chroma import ChromaIndex, ChromaStore

WOLVES, BREAD, BEES = "Wolves are grey.", "Bread is baked with rye.", "My brother counts bees."
PASSAGES = pieces(WOLVES, BREAD, BEES)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    running = ChromaServer(tmp_path_factory.mktemp("chroma-server"))
    running.start()
    yield running
    running.stop()


def complaint_of(call: Callable[[], object]) -> str:
    with pytest.raises(StorageError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.core
def test_passages_are_found_in_a_server_and_nothing_is_put_into_the_users_folders(
    server: ChromaServer,
) -> None:
    recording = RecordingEmbeddings()
    store = ChromaStore(server.url)
    found = ChromaIndex(PASSAGES, "finding", recording.named(), store).search("brothers and bees", 9)
    assert texts_of(found)[0] == BEES
    assert sorted(texts_of(found)) == sorted([WOLVES, BREAD, BEES])
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert not (user_paths().cache / "chroma").exists()
    # Somebody else finds them there, and has to embed only what is new.
    recording.documents.clear()
    newer = pieces(WOLVES, "A new line about bees.")
    again = ChromaIndex(newer, "finding", recording.named(), ChromaStore(f"{server.url}/"))
    assert recording.documents == ["A new line about bees."]
    assert texts_of(again.search("bees", 9)) == ["A new line about bees.", WOLVES]


def test_a_server_gives_the_same_hits_as_a_folder(
    server: ChromaServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    named = RecordingEmbeddings().named()
    there = ChromaIndex(PASSAGES, "same", named, ChromaStore(server.url))
    here = ChromaIndex(PASSAGES, "same", named, ChromaStore(folder=tmp_path_factory.mktemp("here")))
    for line in ("grey wolves bake bread", "baked bees of my brother"):
        assert there.search(line, 2) == here.search(line, 2)


def test_two_versions_of_a_persona_take_turns(server: ChromaServer) -> None:
    named = RecordingEmbeddings().named()
    first = ChromaIndex(pieces("grey wolf", "tall ship"), "turns", named, ChromaStore(server.url))
    second = ChromaIndex(pieces("grey wolf", "moist cheese"), "turns", named, ChromaStore(server.url))
    for _ in range(2):
        assert texts_of(first.search("a tall ship, and a wolf", 1)) == ["tall ship"]
        assert texts_of(second.search("a moist cheese, and a wolf", 1)) == ["moist cheese"]


def test_a_server_that_stops_is_told_and_one_that_comes_back_is_used_again(server: ChromaServer) -> None:
    index = ChromaIndex(PASSAGES, "stops", RecordingEmbeddings().named(), ChromaStore(server.url))
    options = RecallOptions(method="chroma", chroma_url=server.url)
    recaller = Recaller(PASSAGES, persona_of([]), "hybrid", options)
    server.stop()
    try:
        for searched in (lambda: index.search("bees", 1), lambda: recaller.search("bees")):
            told = complaint_of(searched)
            assert told.startswith(f"The Chroma server at {server.url} cannot be used (")
            assert told.endswith(
                "); is it running there? “chroma run” starts one, and without a URL none is needed."
            )
    finally:
        server.start()
    assert texts_of(index.search("bees", 1)) == [BEES]
    assert texts_of(recaller.search("bees"))[0] == BEES


def test_where_nobody_listens_is_told() -> None:
    with not_listening() as url:
        place = url.removesuffix("/v1")
        assert complaint_of(lambda: ChromaStore(place)).startswith(
            f"The Chroma server at {place} cannot be used ("
        )


@pytest.mark.parametrize(
    "answer",
    [Answer(200, "{}"), Answer(404, "not here"), Answer(500, "{}"), Answer(200, "<html>", "text/html")],
    ids=["json", "missing", "broken", "page"],
)
def test_a_server_that_is_not_chroma_is_told(answer: Answer) -> None:
    with serving(replace(answer, headers={"Connection": "close"})) as running:
        place = running.url.removesuffix("/v1")
        told = complaint_of(
            lambda: ChromaIndex(PASSAGES, "ada", RecordingEmbeddings().named(), ChromaStore(place))
        )
        assert told.startswith(f"The Chroma server at {place} cannot be used (")


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://127.0.0.1", "http://", "https:///x", "127.0.0.1", "chroma"]
)
def test_what_is_no_url_is_told(url: str) -> None:
    assert complaint_of(lambda: ChromaStore(url)) == (
        f"The Chroma URL {url!r} must begin with http:// or https:// and name a host."
    )


@pytest.mark.parametrize("url", ["http://127.0.0.1:port", "http://127.0.0.1:99999", "http://[::1"])
def test_a_url_with_a_wrong_port_or_host_is_told(url: str) -> None:
    assert url in complaint_of(lambda: ChromaStore(url))
