"""Passages found by their vectors, in Chroma's own files."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.hypotheses import examples
from helpers.passages import pieces, texts_of
from helpers.recording_embeddings import RecordingEmbeddings
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.recall import Hit, Passage, chroma
from rolellm_agents.recall.chroma import ChromaIndex, ChromaStore
from rolellm_agents.recall.embeddings import NamedEmbeddings, get_embeddings
from rolellm_agents.recall.lexical import LexicalEmbeddings

TEXTS = (
    "Wolves are grey and fear fire.",
    "Bread is baked slowly, with rye.",
    "Ships have masts; storms break masts.",
    "My brother counts bees.",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "chroma"


@pytest.fixture
def store(folder: Path) -> ChromaStore:
    return ChromaStore(folder=folder)


@pytest.fixture
def recording() -> RecordingEmbeddings:
    return RecordingEmbeddings()


def open_index(
    store: ChromaStore,
    passages: Sequence[Passage],
    embeddings: NamedEmbeddings | None = None,
    *,
    owner: str = "ada",
    floor: float | None = None,
) -> ChromaIndex:
    return ChromaIndex(passages, owner, embeddings or get_embeddings(), store, floor=floor)


def cosine(one: str, other: str) -> float:
    lexical = LexicalEmbeddings()
    return float(np.dot(lexical.embed_query(one), lexical.embed_query(other)))


# What is found


@pytest.mark.parametrize(
    ("line", "nearest"),
    [
        ("Are you afraid of a wolf?", 0),
        ("Who bakes the bread?", 1),
        ("MAST", 2),
        ("Any brothers with bees?", 3),
        ("b" * 100_000 + " rye bread", 1),
    ],
    ids=["wolf", "bread", "mast", "bees", "a hundred thousand characters"],
)
def test_the_nearest_comes_first(store: ChromaStore, line: str, nearest: int) -> None:
    found = open_index(store, pieces(*TEXTS)).search(line, len(TEXTS))
    assert found[0].passage.index == nearest
    assert sorted(hit.passage.index for hit in found) == [0, 1, 2, 3]
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1]


def test_a_hit_tells_its_passage_its_cosine_and_why(store: ChromaStore) -> None:
    wolves, bread = pieces("grey wolves", "rye bread", kind="demonstration", source="Ada's book")
    found = open_index(store, [wolves, bread]).search("wolves", 2)
    near = round(cosine("grey wolves", "wolves"), 4)
    assert found[0].score == pytest.approx(near, abs=2e-4)
    assert found == [
        Hit(wolves, found[0].score, found[0].score, True, f"cosine {near:.2f} by lexical"),
        Hit(bread, 0.0, 0.0, False, "cosine 0.00 by lexical"),
    ]


def test_what_is_below_the_floor_is_found_but_not_near(
    store: ChromaStore, recording: RecordingEmbeddings
) -> None:
    passages = pieces("grey wolves", "rye bread")
    near = open_index(store, passages).search("wolves", 1)[0].closeness
    for floor, is_near in ((near, True), (near + 0.0001, False), (0.0, True), (1.0, False)):
        (hit,) = open_index(store, passages, floor=floor).search("wolves", 1)
        assert (hit.is_near, hit.closeness) == (is_near, near)
        (hit,) = open_index(store, passages, recording.named(floor=floor)).search("wolves", 1)
        assert hit.is_near == is_near  # without one of our own, that of the embeddings


@pytest.mark.parametrize(("k", "count"), [(-1, 0), (0, 0), (1, 1), (3, 3), (4, 4), (5, 4), (1_000_000, 4)])
def test_as_many_are_found_as_are_asked_for_and_there_are(store: ChromaStore, k: int, count: int) -> None:
    assert len(open_index(store, pieces(*TEXTS)).search("bread", k)) == count


@pytest.mark.parametrize("line", ["", " \n", "?!…", "the of and", "zebrafish", "👍🏽", "\ud83d", "\x00"])
def test_a_line_that_has_nothing_in_common_finds_what_is_far(store: ChromaStore, line: str) -> None:
    found = open_index(store, pieces(*TEXTS)).search(line, 4)
    assert sorted(hit.passage.index for hit in found) == [0, 1, 2, 3]
    assert not any(hit.is_near for hit in found)


def test_passages_without_a_word_are_far_and_disturb_nobody(store: ChromaStore) -> None:
    found = open_index(store, pieces("?!", "wolves", "…", "bread")).search("wolves", 4)
    assert found[0].passage.text == "wolves"
    assert {(hit.score, hit.is_near) for hit in found[1:]} == {(0.0, False)}


def test_without_passages_nothing_is_found(store: ChromaStore) -> None:
    assert open_index(store, []).search("wolves", 5) == []


def test_of_passages_that_say_the_same_the_first_is_found_once(store: ChromaStore) -> None:
    one, bread = Passage("knowledge", "a wolf", "A", 0), Passage("knowledge", "bread", "C", 2)
    twice = Passage("knowledge", "a wolf", "B", 1)
    found = open_index(store, [one, twice, bread]).search("wolf", 5)
    assert [hit.passage for hit in found] == [one, bread]


def test_the_same_words_of_two_kinds_are_two_passages(store: ChromaStore) -> None:
    passages = [*pieces("a wolf", kind="lore"), *pieces("a wolf", kind="knowledge")]
    found = open_index(store, passages).search("wolf", 5)
    assert sorted(hit.passage.kind for hit in found) == ["knowledge", "lore"]


LINES = st.text("abcdefg wolf bread ship 狼面包", max_size=24)


@examples(0.1)
@given(st.lists(LINES, min_size=1, max_size=8, unique=True), LINES, st.integers(1, 9))
def test_the_best_are_those_with_the_highest_cosines(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], line: str, k: int
) -> None:
    store = ChromaStore(folder=tmp_path_factory.getbasetemp() / "property")
    found = open_index(store, pieces(*texts), owner="any").search(line, k)
    expected = sorted((max(0.0, cosine(text, line)) for text in texts), reverse=True)[:k]
    assert [hit.score for hit in found] == pytest.approx(expected, abs=1e-3)
    assert len({hit.passage.index for hit in found}) == len(found)
    for hit in found:
        assert hit.score == pytest.approx(max(0.0, cosine(hit.passage.text, line)), abs=1e-3)


# Brought up to date


def test_only_what_is_new_is_embedded_and_what_is_gone_is_deleted(
    store: ChromaStore, recording: RecordingEmbeddings
) -> None:
    named = recording.named()
    open_index(store, pieces(*TEXTS), named)
    assert sorted(recording.documents) == sorted(TEXTS)

    recording.documents.clear()
    open_index(store, pieces(*TEXTS), named)
    open_index(store, pieces(*reversed(TEXTS)), named)
    assert recording.documents == []

    changed = open_index(store, pieces(*TEXTS[1:], "A new line about wolves."), named)
    assert recording.documents == ["A new line about wolves."]
    assert texts_of(changed.search("wolves", 1)) == ["A new line about wolves."]
    assert sorted(store.collection("rolellm-ada-recording", named).get()["documents"] or []) == sorted(
        [*TEXTS[1:], "A new line about wolves."]
    )


def test_many_passages_come_and_go_in_portions(
    store: ChromaStore, recording: RecordingEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma, "_AT_ONCE", 3)
    numbered = pieces(*(f"wolf{number} sheep{number}" for number in range(10)))
    assert len(open_index(store, numbered, recording.named()).search("x", 20)) == 10
    fewer = open_index(store, numbered[:2], recording.named())
    assert len(fewer.search("x", 20)) == 2
    assert store.collection("rolellm-ada-recording", recording.named()).count() == 2
    assert sorted(recording.documents) == sorted(passage.text for passage in numbered)


def test_what_could_not_be_embedded_is_embedded_the_next_time(
    store: ChromaStore, recording: RecordingEmbeddings
) -> None:
    recording.error = ValueError("too busy")
    with pytest.raises(ModelError, match="too busy"):
        open_index(store, pieces(*TEXTS), recording.named())
    recording.error = None
    assert texts_of(open_index(store, pieces(*TEXTS), recording.named()).search("bees", 1)) == [TEXTS[3]]
    index = open_index(store, pieces(*TEXTS), recording.named())
    recording.error = ValueError("too busy")
    with pytest.raises(ModelError, match="too busy"):
        index.search("bees", 1)


SEARCH = """
import json, sys
from pathlib import Path
from rolellm_agents.recall import Passage
from rolellm_agents.recall.chroma import ChromaIndex, ChromaStore
from rolellm_agents.recall.embeddings import get_embeddings
folder, line, *texts = sys.argv[1:]
passages = [Passage("knowledge", text, "a book", number) for number, text in enumerate(texts)]
index = ChromaIndex(passages, "ada", get_embeddings(), ChromaStore(folder=Path(folder)))
print(json.dumps([[hit.passage.index, hit.score] for hit in index.search(line, 9)]))
"""


def test_another_process_finds_the_same(folder: Path, store: ChromaStore) -> None:
    ours = open_index(store, pieces(*TEXTS)).search("rye bread and wolves", 9)
    command = (sys.executable, "-W", "error", "-c", SEARCH, str(folder), "rye bread and wolves")
    same = subprocess.run((*command, *TEXTS), capture_output=True, text=True, check=True)
    found = json.loads(same.stdout)
    assert dict(found[:2]) == {hit.passage.index: hit.score for hit in ours[:2]}
    assert [place for place, _ in found[:2]] == [hit.passage.index for hit in ours[:2]]
    # It keeps another version of the persona; ours is still found whole.
    index = open_index(store, pieces(*TEXTS))
    subprocess.run((*command, TEXTS[0], "A line of theirs."), capture_output=True, check=True)
    assert sorted(hit.passage.index for hit in index.search("rye bread and wolves", 9)) == [0, 1, 2, 3]


def test_two_versions_of_a_persona_take_turns(store: ChromaStore) -> None:
    """None of them misses what the other took away, and none finds what the other put there."""
    first = open_index(store, pieces("grey wolf", "rye bread", "tall ship"))
    second = open_index(store, pieces("grey wolf", "rye bread", "moist cheese"))
    for _ in range(2):
        # The line is near enough to what both have that as many are found as are asked for.
        assert texts_of(first.search("a tall ship, and a wolf", 1)) == ["tall ship"]
        assert texts_of(second.search("a moist cheese, and a wolf", 1)) == ["moist cheese"]
        assert texts_of(first.search("cheese, a grey wolf", 1)) == ["grey wolf"]
        assert texts_of(second.search("ship, a grey wolf", 1)) == ["grey wolf"]
        assert sorted(texts_of(first.search("cheese", 9))) == ["grey wolf", "rye bread", "tall ship"]


def test_an_open_index_survives_that_the_collection_is_made_anew(
    store: ChromaStore, recording: RecordingEmbeddings
) -> None:
    index = open_index(store, pieces(*TEXTS), recording.named())
    newer = open_index(store, pieces(*TEXTS[:2]), recording.named(version="2"))
    assert texts_of(index.search("bees", 1)) == [TEXTS[3]]
    assert texts_of(newer.search("wolves", 1)) == [TEXTS[0]]


def test_other_kinds_of_the_same_owner_are_left_alone(
    store: ChromaStore, recording: RecordingEmbeddings
) -> None:
    knowledge = pieces(*TEXTS)
    memories = pieces("You said that wolves are grey.", "You said nothing of bees.", kind="memory")
    known = open_index(store, knowledge, recording.named())
    lived = open_index(store, memories, recording.named())
    for _ in range(2):
        assert {hit.passage.kind for hit in known.search("grey wolves said", 9)} == {"knowledge"}
        assert {hit.passage.kind for hit in lived.search("grey wolves said", 9)} == {"memory"}
        known = open_index(store, knowledge, recording.named())
        lived = open_index(store, memories, recording.named())
    assert len(recording.documents) == 6
    open_index(store, memories[:1], recording.named())
    assert len(open_index(store, knowledge, recording.named()).search("bees", 9)) == 4
    assert len(recording.documents) == 6


def test_owners_do_not_see_each_other(store: ChromaStore) -> None:
    adas = open_index(store, pieces("grey wolf"), owner="ada")
    bens = open_index(store, pieces("white wolf"), owner="ben")
    assert texts_of(adas.search("white wolf", 9)) == ["grey wolf"]
    assert texts_of(bens.search("grey wolf", 9)) == ["white wolf"]


@pytest.mark.parametrize("again", [("recording", "2"), ("recor/ding", "1")])
def test_vectors_of_other_embeddings_are_made_anew(
    store: ChromaStore, recording: RecordingEmbeddings, again: tuple[str, str]
) -> None:
    """Also where two names are the same but for characters that a collection's name cannot have."""
    name = "recor-ding" if again[0] != "recording" else "recording"
    open_index(store, pieces(*TEXTS), recording.named(name))
    recording.documents.clear()
    index = open_index(store, pieces(*TEXTS), recording.named(*again))
    assert sorted(recording.documents) == sorted(TEXTS)
    assert texts_of(index.search("bees", 1)) == [TEXTS[3]]


@pytest.mark.parametrize(
    "name", ["huggingface:" + "/very/long" * 100, "openai:模型", "openai:…", "huggingface:~/.x//y--"]
)
@pytest.mark.parametrize("owner", ["a", "sun-wukong-" + "9" * 69])
def test_any_embeddings_name_and_any_persona_make_a_collection(
    store: ChromaStore, recording: RecordingEmbeddings, name: str, owner: str
) -> None:
    index = open_index(store, pieces(*TEXTS), recording.named(name), owner=owner)
    assert texts_of(index.search("bees", 1)) == [TEXTS[3]]


def test_chromas_own_embeddings_are_never_used(store: ChromaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be downloaded."""
    from chromadb.utils import embedding_functions

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("Chroma's own embeddings were used")

    for own in (embedding_functions.DefaultEmbeddingFunction, embedding_functions.ONNXMiniLM_L6_V2):
        monkeypatch.setattr(own, "__call__", fail)
    open_index(store, pieces(*TEXTS))
    index = open_index(store, pieces(*TEXTS[1:], "wolves"))
    assert texts_of(index.search("bees", 1)) == [TEXTS[3]]


def test_threads_may_open_and_search_at_once(folder: Path) -> None:
    found: dict[int, list[str]] = {}

    def work(number: int) -> None:
        texts = [f"{text} {number}" for text in TEXTS]
        index = open_index(ChromaStore(folder=folder), pieces(*texts), owner=f"ada-{number}")
        found[number] = texts_of(index.search("bees", 1))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [f"{TEXTS[3]} {number}"] for number in range(6)}


def test_without_a_folder_it_is_in_the_users_cache() -> None:
    store = ChromaStore()
    assert texts_of(open_index(store, pieces(*TEXTS)).search("bees", 1)) == [TEXTS[3]]
    assert (user_paths().cache / "chroma" / "chroma.sqlite3").is_file()
    assert store.place == str(user_paths().cache / "chroma")


# What cannot be used


def complaint_of(call: Callable[[], object]) -> str:
    with pytest.raises(StorageError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        (None, "was not made by rolellm; delete it."),
        ({"theirs": "x"}, "was not made by rolellm; delete it."),
        ({"rolellm_format": "one"}, "was not made by rolellm; delete it."),
        ({"rolellm_format": 2}, "is of a newer rolellm; update this one."),
    ],
)
def test_a_collection_that_is_not_ours_is_refused_and_left_as_it_is(
    folder: Path, store: ChromaStore, metadata: dict[str, Any] | None, told: str
) -> None:
    theirs = store._client.create_collection(
        "rolellm-ada-lexical", metadata=metadata, embedding_function=None
    )
    theirs.add(ids=["1"], embeddings=np.ones((1, 2), dtype=np.float32), documents=["theirs"])
    assert complaint_of(lambda: open_index(store, pieces(*TEXTS))) == (
        f"The Chroma collection 'rolellm-ada-lexical' at {folder} {told}"
    )
    kept = store._client.get_collection("rolellm-ada-lexical", embedding_function=None)
    assert (kept.get()["documents"], kept.metadata) == (["theirs"], metadata)


def test_a_damaged_store_is_told_with_what_to_do(folder: Path) -> None:
    folder.mkdir()
    (folder / "chroma.sqlite3").write_bytes(b"garbage" * 1_000)
    told = complaint_of(lambda: ChromaStore(folder=folder))
    assert told.startswith(f"The store at {folder} cannot be used (")
    assert told.endswith(
        "); move that folder away and start again (it is rebuilt from the personas), or use --recall bm25."
    )
    assert (folder / "chroma.sqlite3").read_bytes() == b"garbage" * 1_000


HOLDER = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_store_that_another_program_holds_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolellm_agents.recall.chroma._PATIENCE", 0.1)
    ChromaStore(folder=folder)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder / "chroma.sqlite3")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        told = complaint_of(lambda: ChromaStore(folder=folder))
        assert told == f"The store at {folder} is locked by another program; close it and try again."
        holder.communicate()


def test_an_empty_file_is_a_new_store(folder: Path) -> None:
    folder.mkdir()
    (folder / "chroma.sqlite3").touch()
    index = open_index(ChromaStore(folder=folder), pieces(*TEXTS))
    assert texts_of(index.search("bees", 1)) == [TEXTS[3]]


def test_a_file_where_the_folder_should_be_is_told(folder: Path) -> None:
    folder.write_text("mine", encoding="utf-8")
    assert str(folder) in complaint_of(lambda: ChromaStore(folder=folder))
    assert folder.read_text(encoding="utf-8") == "mine"


@pytest.fixture
def read_only(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    yield folder
    folder.chmod(0o700)


def test_a_folder_that_cannot_be_written_is_told(read_only: Path) -> None:
    told = complaint_of(lambda: open_index(ChromaStore(folder=read_only), pieces(*TEXTS)))
    assert str(read_only) in told


HOLD = """
import sqlite3, sys, time
held = sqlite3.connect(sys.argv[1])
held.execute("PRAGMA locking_mode = EXCLUSIVE")
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(1)
"""


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Another process has the database for itself, and lets go of it after a second."""
    with subprocess.Popen((sys.executable, "-c", HOLD, str(file)), stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        yield


@pytest.mark.parametrize("is_open", [True, False])
def test_what_another_process_holds_is_waited_for_or_told(
    folder: Path, store: ChromaStore, is_open: bool
) -> None:
    """Never is it taken for empty."""
    before = open_index(store, pieces(*TEXTS))
    with held(folder / "chroma.sqlite3"):
        try:
            index = before if is_open else open_index(store, pieces(*TEXTS, "A fifth."))
            told = len(index.search("bees", 9))
        except StorageError as error:
            told = f"{folder} is locked by another program" in str(error)
    assert told in (True, 4 if is_open else 5)
    assert len(open_index(store, pieces(*TEXTS)).search("bees", 9)) == 4


# What was deleted


def test_memories_are_forgotten_and_their_text_is_in_no_file(folder: Path) -> None:
    memories = [Passage("memory", f"You: zebra{number}\nAda: Well.", "yesterday") for number in range(4)]
    knowledge = pieces(*TEXTS)
    index = open_index(ChromaStore(folder=folder), [*knowledge, *memories])
    assert index.search("zebra2", 1)[0].passage == memories[2]
    assert b"zebra" not in b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())

    kept_ids = [passage.id.encode() for passage in memories]
    chroma.forget_memories(folder)

    contents = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert not [one for one in kept_ids if one in contents]
    # A chat that is open goes on.
    assert index.search("bread", 1)[0].passage.text == TEXTS[1]


def test_nothing_is_made_to_forget(folder: Path) -> None:
    chroma.forget_memories(folder)
    assert not folder.exists()
