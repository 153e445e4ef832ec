"""`lexical`: vectors of words, hashed."""

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.recall.lexical import DIMENSIONS, VERSION, LexicalEmbeddings

LEXICAL = LexicalEmbeddings()
HALVES = st.text(st.characters(exclude_categories=()), max_size=80)
"""Any text, with characters that are cut in half among it."""
TEXTS = st.text(max_size=80) | HALVES | st.text("狼来了面包师父 the wolf's", max_size=40)


def cosine(one: str, other: str) -> float:
    return float(np.dot(LEXICAL.embed_query(one), LEXICAL.embed_query(other)))


def length(text: str) -> float:
    return float(np.linalg.norm(LEXICAL.embed_query(text)))


@given(TEXTS)
def test_a_vector_has_the_length_one_or_is_zero(text: str) -> None:
    vector = LEXICAL.embed_query(text)
    assert len(vector) == DIMENSIONS
    assert length(text) == pytest.approx(1, abs=1e-5) or not any(vector)


@pytest.mark.parametrize("text", ["", " \n", "?!…", "the of and", "👍🏽", "\ud83d", "\udcff\ud83d", "\x00"])
def test_without_a_word_the_vector_is_zero(text: str) -> None:
    assert not any(LEXICAL.embed_query(text))


@pytest.mark.parametrize("text", ["wolf", "x", "221b", "狼", "狼来了", "wolf\ud83d", "狼\ud83d来\udcff了"])
def test_with_a_word_it_is_not(text: str) -> None:
    assert length(text) == pytest.approx(1, abs=1e-5)


@examples(0.3)
@given(st.lists(TEXTS, max_size=4))
def test_many_texts_have_the_vectors_that_each_has_alone(texts: list[str]) -> None:
    assert LEXICAL.embed_documents(texts) == [LEXICAL.embed_query(text) for text in texts]


FROZEN: dict[str, dict[int, float]] = {
    "Wolf, wolf!": {76: -0.331, 237: 0.331, 339: 0.331, 828: -0.819},
    "师父，狼！": {52: -0.472, 468: -0.234, 738: -0.234, 827: -0.817},
}
"""Of each text, the places that are not zero."""


def test_the_vectors_are_those_that_are_in_everybodys_collections() -> None:
    """Whoever changes them, or the counts of words behind them, must change the version."""
    found = {
        text: {place: round(value, 3) for place, value in enumerate(LEXICAL.embed_query(text)) if value}
        for text in FROZEN
    }
    assert (VERSION, found) == ("1", FROZEN)


@pytest.mark.core
def test_another_process_hashes_alike() -> None:
    program = (
        "from rolellm_agents.recall.lexical import LexicalEmbeddings as L; "
        "print(L().embed_query('The baker fears grey wolves, 师父'))"
    )
    told = [
        subprocess.run(
            (sys.executable, "-c", program),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1] == f"{LEXICAL.embed_query('The baker fears grey wolves, 师父')}\n"


@pytest.mark.parametrize(
    ("line", "form", "unrelated"),
    [
        ("baking", "He baked and bakes.", "He sailed and sails."),
        ("wolf", "A wolfish grin.", "A sheepish grin."),
        ("detectives", "the detective", "the carpenter"),
        ("friendship", "Friends.", "Ships."),
        ("Who is Watson's brother?", "My brother Mycroft.", "My violin."),
        # The long list's words say nothing, however many are shared.
        ("What is it that you would do with bread?", "Bread.", "What is it that you do with it?"),
        ("你师父是谁", "师父叫唐僧", "我爱吃桃子"),
        # Of a Chinese word, its characters.
        ("师傅", "师父", "桃子"),
    ],
)
def test_forms_of_a_word_are_nearer_than_other_words(line: str, form: str, unrelated: str) -> None:
    assert cosine(line, form) > cosine(line, unrelated) + 0.05


def test_case_and_order_and_punctuation_say_nothing() -> None:
    assert cosine("Wolves eat BREAD?", "bread: wolves eat…") == pytest.approx(1, abs=1e-5)


def test_a_rare_word_that_is_shared_says_more_than_a_common_one() -> None:
    assert cosine("wolves night", "wolves sea") > cosine("wolves night", "sea night")


@pytest.mark.parametrize("piece", ["wolf ", "狼来了", "x", "\ud83d"])
def test_a_hundred_thousand_characters_have_a_vector_too(piece: str) -> None:
    assert len(LEXICAL.embed_query(piece * (100_000 // len(piece)))) == DIMENSIONS


def test_a_word_said_ten_times_says_more_but_not_ten_times_as_much() -> None:
    once, often = cosine("wolves", "wolves bread"), cosine("wolves", "wolves " * 10 + "bread")
    assert once < often < 1
    by_count = cosine("wolves bread", "bread " + "wolves " * 100)
    assert by_count > cosine("bread", "bread " + "wolves " * 100) > 0
