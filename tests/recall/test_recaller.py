"""From a line to what goes into the prompt."""

import re
import threading
import time
from collections.abc import Sequence

import pytest
from helpers.passages import persona_of, pieces, texts_of
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError, SettingsError
from rolellm_agents.persona import Persona
from rolellm_agents.recall import (
    METHODS,
    Hit,
    Method,
    Passage,
    Recaller,
    RecallOptions,
    make_index,
    method_named,
    recaller,
)
from rolellm_agents.recall.recaller import within, without_name
from rolellm_agents.text import estimated_tokens
from rolellm_agents.text.language import Language

ADA = persona_of([])
TEXTS = (
    "Wolves are grey and fear fire.",
    "Bread is baked slowly, with rye.",
    "Ships have masts; storms break masts.",
    "My brother counts bees.",
)

# How much goes in


HITS = st.lists(
    st.builds(
        lambda text, is_near: Hit(Passage("lore", text, "x"), 1.0, 0.5, is_near, ""),
        st.text("abc 狼来", max_size=40),
        st.booleans(),
    ),
    max_size=8,
)


@given(HITS, st.integers(-1, 60))
def test_what_is_put_in_is_near_and_fits_and_only_what_is_not_or_does_not_stays_out(
    hits: list[Hit], tokens: int
) -> None:
    kept = within(hits, tokens)
    rest = iter(hits)
    assert all(any(hit is one for one in rest) for hit in kept)  # in their order
    left = tokens
    for hit in hits:
        needed = estimated_tokens(hit.passage.text)
        fits = hit.is_near and needed <= left
        assert fits == any(hit is one for one in kept)
        left -= needed if fits else 0
    if kept:
        assert left >= 0
    assert within(kept, tokens) == kept


def test_what_is_too_long_makes_way_for_the_next() -> None:
    long, short = (Hit(passage, 1.0, 1.0, True, "") for passage in pieces("x" * 400, "x" * 40))
    assert within([long, short], 10) == [short]
    assert within([long, short], 110) == [long, short]
    assert within([long, short], 109) == [long]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("狼来了", 3), ("狼 wolf", 3), ("x" * 4_000, 1_000)],
)
def test_tokens_are_estimated_by_characters(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


# What is looked for


@pytest.mark.parametrize(
    ("name", "language", "line", "expected"),
    [
        ("Ada", "en", "Ada, do you bake?", ", do you bake?"),
        ("Ada", "en", "Do you bake, ADA?", "Do you bake, ?"),
        # Only the whole word is the name.
        ("Ada", "en", "Was Adam in Canada?", "Was Adam in Canada?"),
        ("Dr. Who?", "en", "Tell me, Dr. Who?, of time.", "Tell me, , of time."),
        ("Sherlock Holmes", "en", "Mr. Sherlock Holmes: any siblings?", "Mr. : any siblings?"),
        # The name alone is what is asked for.
        ("Ada", "en", "Ada?", "Ada?"),
        ("Ada", "en", " ada, Ada! ", " ada, Ada! "),
        ("Ada", "en", "“Ada”…\n", "“Ada”…\n"),
        ("孙悟空", "zh", "孙悟空你师父是谁？", "你师父是谁？"),
        ("孙悟空", "zh", "请问孙悟空，怕什么", "请问，怕什么"),
        ("孙悟空", "zh", "孙悟空！", "孙悟空！"),
    ],
)
def test_the_name_of_who_is_spoken_to_is_not_looked_for(
    name: str, language: Language, line: str, expected: str
) -> None:
    persona = Persona(id="x", name=name, language=language, description="-")
    shown = without_name(line, persona)
    assert "".join(shown.split()) == "".join(expected.split())


NAMES = st.text(min_size=1, max_size=6).filter(str.strip)


@given(st.text(max_size=20), NAMES, st.sampled_from(["en", "zh"]))
def test_of_any_line_with_a_word_a_word_is_left(line: str, name: str, language: Language) -> None:
    persona = Persona(id="x", name=name, language=language, description="-")
    for said in (line, persona.name, f"{persona.name}\n", f"{persona.name} {line}"):
        left = without_name(said, persona)
        assert bool(re.search(r"\w", left)) == bool(re.search(r"\w", said))


def test_a_line_is_compared_without_the_name_of_who_is_spoken_to() -> None:
    passages = pieces("I am Ada.", "Bees!")
    for method in METHODS:
        found = Recaller(passages, ADA, method, RecallOptions()).search("Ada, bees?")
        assert [hit.is_near for hit in found] == [True, False]
        assert found[0].passage.text == "Bees!"


# Methods


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_find_what_shares_rare_words(method: Method) -> None:
    index = make_index(pieces(*TEXTS), ADA, method, RecallOptions())
    for line, nearest in (("grey wolves", 0), ("Who bakes bread with rye?", 1), ("brothers, bees", 3)):
        found = index.search(line, 4)
        assert found[0].passage.index == nearest
        assert found[0].is_near
        assert sorted(texts_of(found)) == sorted(TEXTS)


def test_hybrid_tells_both_reasons() -> None:
    (first, *_) = make_index(pieces(*TEXTS), ADA, "hybrid", RecallOptions()).search("grey wolves", 4)
    assert first.why.startswith("shares “wolves”, “grey” (rank 1); cosine 0.")
    assert first.why.endswith(" by lexical (rank 1)")


@pytest.mark.parametrize("method", METHODS)
def test_without_passages_no_method_finds_or_makes_anything(method: Method) -> None:
    assert make_index([], ADA, method, RecallOptions()).search("wolves", 5) == []
    assert Recaller([], ADA, method, RecallOptions(embeddings="there are none")).recall("wolves") == []


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_found_by_its_name(name: str) -> None:
    assert method_named(name) == name


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("BM25", " (did you mean bm25?)"), ("hybird", " (did you mean hybrid?)"), ("zzzz", ""), ("", "")],
)
def test_a_method_that_does_not_exist_is_told_with_the_known_ones(name: str, suggested: str) -> None:
    with pytest.raises(SettingsError) as caught:
        method_named(name)
    assert str(caught.value) == (
        f"There is no recall method {name!r}{suggested}; known are bm25, chroma, hybrid."
    )


# The recaller


def test_what_is_recalled_are_plain_values() -> None:
    passages = [*pieces("wolves howl", kind="demonstration"), *pieces("wolves bite", source="a book")]
    found = Recaller(passages, ADA, "bm25", RecallOptions()).recall("wolves")
    howled, bitten = sorted(found, key=lambda item: item["kind"])
    assert bitten == {
        "kind": "passage",
        "of": "knowledge",
        "text": "wolves bite",
        "source": "a book",
        "score": bitten["score"],
        "why": "shares “wolves”",
    }
    assert howled == {
        "kind": "demonstration",
        "index": 0,
        "score": howled["score"],
        "why": "shares “wolves”",
    }


def test_nothing_that_is_far_is_recalled() -> None:
    recall = Recaller(pieces(*TEXTS), ADA, "hybrid", RecallOptions()).recall
    assert recall("How do you do?") == recall("") == recall("zebrafish") == []
    assert [item["why"][:6] for item in recall("grey wolves")] == ["shares"]


def test_no_more_are_recalled_than_asked_for_and_than_there_is_room_for() -> None:
    passages = pieces(*(f"wolves {word}" for word in ("howl", "bite", "run", "sleep")))

    def recalled(options: RecallOptions) -> int:
        return len(Recaller(passages, ADA, "bm25", options).recall("wolves"))

    assert recalled(RecallOptions()) == 4
    assert [recalled(RecallOptions(k=k)) for k in (0, 1, 3)] == [0, 1, 3]
    # "wolves run" is three tokens by the estimate, as are the others but "wolves sleep".
    assert [recalled(RecallOptions(tokens=tokens)) for tokens in (0, 2, 3, 6, 9)] == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("method", METHODS)
def test_a_floor_in_the_options_goes_before_the_methods_own(method: Method) -> None:
    passages = pieces(*TEXTS)
    everything = Recaller(passages, ADA, method, RecallOptions(floor=0.0)).recall("grey wolves")
    nothing = Recaller(passages, ADA, method, RecallOptions(floor=1.0)).recall("grey wolves or bread")
    assert (len(everything), nothing) == (4, [])


def test_a_method_in_the_options_goes_before_the_strategys() -> None:
    by_words = Recaller(pieces(*TEXTS), ADA, "hybrid", RecallOptions(method="bm25"))
    assert not by_words.uses_vectors
    assert by_words.recall("grey wolves")[0]["why"] == "shares “wolves”, “grey”"
    assert not (user_paths().cache / "chroma").exists()
    assert Recaller([], ADA, "bm25", RecallOptions(method="chroma")).uses_vectors
    assert Recaller([], ADA, "hybrid", RecallOptions()).uses_vectors


def test_what_cannot_be_used_is_told_at_the_first_line_and_not_before() -> None:
    later = Recaller(pieces(*TEXTS), ADA, "chroma", RecallOptions(embeddings="lexcal"))
    for _ in range(2):
        with pytest.raises(ModelError, match="did you mean lexical"):
            later.search("wolves")


def test_its_index_is_made_once_whoever_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Sequence[Passage]] = []

    def counted(
        passages: Sequence[Passage], persona: Persona, method: Method, options: RecallOptions
    ) -> object:
        made.append(passages)
        time.sleep(0.05)  # long enough that all have come
        return make_index(passages, persona, method, options)

    monkeypatch.setattr(recaller, "make_index", counted)
    ours = Recaller(pieces(*TEXTS), ADA, "chroma", RecallOptions())
    assert made == []
    together = threading.Barrier(8)
    found: list[list[str]] = []

    def ask() -> None:
        together.wait()
        found.append(texts_of(ours.search("grey wolves")))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert [texts[0] for texts in found] == [TEXTS[0]] * 8
