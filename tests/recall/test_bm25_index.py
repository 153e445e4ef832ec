"""Which passages are nearest to a line by the words they share."""

import math
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from helpers.hypotheses import examples
from helpers.passages import persona_of, pieces, texts_of
from hypothesis import example, given
from hypothesis import strategies as st

from rolellm_agents.persona import Persona
from rolellm_agents.recall import Hit, demonstrations_of
from rolellm_agents.recall.bm25 import FLOOR, Bm25Index, _best
from rolellm_agents.text.language import Language
from rolellm_agents.text.words import weight, words_of


def index_of(persona: Persona, *, floor: float | None = None) -> Bm25Index:
    return Bm25Index(demonstrations_of(persona), persona.language, floor=floor)


def indexes(persona: Persona, user: str, k: int) -> list[int]:
    return [hit.passage.index for hit in index_of(persona).search(user, k)]


BAKER = persona_of(
    [
        ("How do you bake bread?", "Slowly, with rye."),
        ("Do you fear wolves?", "Only at night."),
        ("What is your name?", "Ada, and I keep wolves away from my bread."),
        ("Tell me a joke.", "Laughing burns the crust."),
    ]
)

MONKEY = persona_of(
    [
        ("你好。", "何方妖怪？"),
        ("你师父是谁？", "唐僧，东土大唐来的和尚。"),
        ("你会什么本事？", "七十二般变化，一个筋斗云十万八千里。"),
        ("你最怕什么？", "紧箍咒。"),
    ],
    "zh",
)


# Which comes first


@pytest.mark.parametrize(
    ("user", "ranking"),
    [
        # In the user's line.
        ("Are wolves so bad?", [1, 2, 0, 3]),
        # In the reply.
        ("Is the crust done?", [3, 0, 1, 2]),
        # A word that two pairs share, and one that only the longer has.
        ("wolves bread", [2, 1, 0, 3]),
        ("WOLVES, bread!!!", [2, 1, 0, 3]),
        ("a joke", [3, 0, 1, 2]),
        # A part of a word is not the word.
        ("wolf breadth", [0, 1, 2, 3]),
        # Words that every line has say nothing, though in so small a file they are rare.
        ("How do you only tell with what?", [3, 0, 1, 2]),
    ],
)
def test_the_nearest_pair_comes_first_and_those_that_share_no_word_last_in_their_order(
    user: str, ranking: list[int]
) -> None:
    assert indexes(BAKER, user, 4) == ranking


@pytest.mark.parametrize(
    ("user", "nearest"),
    [("谁是唐僧？", 1), ("师父呢", 1), ("筋斗云有多快？", 2), ("念紧箍咒了！", 3)],
)
def test_chinese_is_compared_word_by_word(user: str, nearest: int) -> None:
    assert indexes(MONKEY, user, 1) == [nearest]


def test_a_hit_tells_its_passage_its_score_and_why() -> None:
    # By hand: two pairs, "wolves" in one of them; each has two words, so the length counts nothing.
    persona = persona_of([("wolves", "grey"), ("bread", "rye")])
    grey, rye = demonstrations_of(persona)
    score = round(math.log(1 + (2 - 1 + 0.5) / (1 + 0.5)) * 1 / (1 + 1.5), 4)
    assert index_of(persona).search("wolves", 2) == [
        Hit(grey, score, 1.0, True, "shares “wolves”"),
        Hit(rye, 0.0, 0.0, False, "shares no word"),
    ]


@pytest.mark.parametrize(("k", "count"), [(-1, 0), (0, 0), (1, 1), (3, 3), (4, 4), (5, 4), (1_000, 4)])
def test_as_many_are_found_as_are_asked_for_and_there_are(k: int, count: int) -> None:
    assert len(indexes(BAKER, "bread", k)) == count


@pytest.mark.parametrize(
    "user", ["", " \n", "?!…", "the of and", "zebra", "👍🏽", "{x} \\ %s", "\ud83d", "\x00"]
)
def test_a_line_that_shares_nothing_brings_the_first_pairs_with_no_score(user: str) -> None:
    found = index_of(BAKER).search(user, 2)
    assert [(hit.passage.index, hit.score, hit.closeness, hit.is_near) for hit in found] == [
        (0, 0.0, 0.0, False),
        (1, 0.0, 0.0, False),
    ]


def test_words_that_are_in_every_text_are_no_reason_to_be_found() -> None:
    persona = persona_of([("the and of", "is it"), ("the ship", "it is the sea")])
    assert indexes(persona, "is it of the ship", 1) == [1]


def test_equal_pairs_keep_their_order() -> None:
    persona = persona_of([("sea", "salt"), ("ship", "mast"), ("ship", "mast"), ("ship", "mast")])
    assert indexes(persona, "ship", 4) == [1, 2, 3, 0]
    assert indexes(persona, "ship", 2) == [1, 2]


def test_without_passages_nothing_is_found() -> None:
    assert index_of(persona_of([])).search("wolves", 5) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_passages_without_a_word_are_found_too(language: Language) -> None:
    persona = persona_of([("?", "!"), ("…", "。")], language)
    assert indexes(persona, "?", 5) == [0, 1]


def test_searching_again_finds_the_same() -> None:
    index = index_of(BAKER)
    first = index.search("wolves", 4)
    index.search("bread", 2)
    assert index.search("wolves", 4) == first


def test_half_a_character_among_chinese_is_no_reason_to_fail() -> None:
    assert Bm25Index(pieces("狼\ud83d来了", "面包"), "zh").search("狼\udcff", 1)[0].passage.index == 0


def test_a_line_of_a_hundred_thousand_characters_is_searched() -> None:
    assert indexes(BAKER, "joke " + "wolf " * 20_000, 1) == [3]


# How near, and why


def test_the_closeness_is_the_share_of_the_lines_words_by_their_squared_weights() -> None:
    wolves, bread, zebra = (weight(word, "en") ** 2 for word in ("wolves", "bread", "zebra"))
    passages = pieces("wolves", "Bread!", "bread wolves", "sea")
    line = "Zebra, wolves: wolves and the bread?"
    closeness = {
        hit.passage.text: hit.closeness for hit in Bm25Index(passages, "en").search(line, len(passages))
    }
    whole = wolves + bread + zebra
    assert closeness == {
        "wolves": round(wolves / whole, 4),
        "Bread!": round(bread / whole, 4),
        "bread wolves": round((wolves + bread) / whole, 4),
        "sea": 0.0,
    }


def test_what_is_below_the_floor_is_found_but_not_near() -> None:
    passages = pieces("wolves", "sea")
    (hit,) = Bm25Index(passages, "en").search("wolves bread", 1)
    assert 0 < hit.closeness < 1
    near_by_floor = {0.0: True, hit.closeness: True, hit.closeness + 0.0001: False, 1.0: False}
    for floor, is_near in near_by_floor.items():
        assert Bm25Index(passages, "en", floor=floor).search("wolves bread", 1)[0].is_near == is_near
    assert hit.is_near == (hit.closeness >= FLOOR)


def test_with_a_floor_of_nothing_even_what_shares_no_word_is_near() -> None:
    found = index_of(BAKER, floor=0.0).search("zebra", 4)
    assert [hit.is_near for hit in found] == [True] * 4


def test_why_names_the_rarest_shared_words() -> None:
    passages = pieces("the old baker fears wolves in the bread")
    rarest = sorted(["wolves", "bread", "baker", "old"], key=lambda word: -weight(word, "en"))
    assert len({weight(word, "en") for word in rarest}) == 4  # or their order would tell nothing
    (hit,) = Bm25Index(passages, "en").search("An old Baker, bread, wolves and zebras?", 1)
    assert hit.why == f"shares “{rarest[0]}”, “{rarest[1]}”, “{rarest[2]}”"
    (hit,) = Bm25Index(passages, "en").search("zebras", 1)
    assert hit.why == "shares no word"


WORDS = st.lists(st.sampled_from(["sea", "ship", "mast", "salt", "gull", "storm"]), min_size=1, max_size=6)


@examples(0.4)
@given(WORDS, st.lists(WORDS, min_size=1, max_size=4))
def test_the_closeness_is_nothing_without_a_shared_word_and_all_with_every_word(
    query: list[str], texts: list[list[str]]
) -> None:
    passages = pieces(*(" ".join(words) for words in texts))
    for hit in Bm25Index(passages, "en").search(" ".join(query), len(passages)):
        there = set(hit.passage.text.split())
        assert 0 <= hit.closeness <= 1
        assert (hit.closeness == 0) == (not there & set(query))
        assert (hit.closeness == 1) == (set(query) <= there)
        assert hit.is_near == (hit.closeness >= FLOOR)
        shown = {word for word in query if f"“{word}”" in hit.why}
        assert shown <= there & set(query)
        assert len(shown) == min(3, len(there & set(query)))


# Words


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("The dog's BONES, and cat_9 in the Café!", "en", ["dog", "bones", "cat_9", "café"]),
        ("", "en", []),
        ("How do you do? I am here, and you were too.", "en", []),
        ("孙悟空！", "zh", ["悟空", "孙悟空"]),
        ("他说：OK，走吧。", "zh", ["他", "说", "ok", "走", "吧"]),
        ("，。！", "zh", []),
    ],
)
def test_text_is_cut_into_words(text: str, language: Language, words: list[str]) -> None:
    assert words_of(text, language) == words


def test_a_rare_word_weighs_more_than_a_common_one_and_an_unknown_one_the_most() -> None:
    assert weight("night", "en") < weight("wolves", "en") <= weight("zebrafish", "en")
    assert 0 < weight("师父", "zh") < weight("量子", "zh")


# Laws


def bm25(documents: list[list[str]], query: list[str]) -> list[float]:
    """Lucene's form of BM25 as its authors write it, k1 = 1.5 and b = 0.75."""
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in query:
            having = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            times = document.count(word)
            score += idf * times / (times + 1.5 * (1 - 0.75 + 0.75 * len(document) / mean)) if times else 0
        scores.append(score)
    return scores


@examples(0.4)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), WORDS)
@example([(["sea"], ["sea"]), (["sea"], ["sea"])], ["sea", "sea"])
def test_the_scores_are_bm25s_and_fall_from_first_to_last(
    pairs: list[tuple[list[str], list[str]]], query: list[str]
) -> None:
    persona = persona_of([(" ".join(user), " ".join(reply)) for user, reply in pairs])
    found = index_of(persona).search(" ".join(query), len(pairs))
    expected = bm25([user + reply for user, reply in pairs], query)
    assert sorted(hit.passage.index for hit in found) == list(range(len(pairs)))
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    for hit in found:
        assert hit.score == pytest.approx(expected[hit.passage.index], abs=2e-4)


@examples(0.4)
@given(
    st.text(max_size=60), st.text(min_size=1, max_size=30).filter(str.strip), st.sampled_from(["en", "zh"])
)
def test_whatever_is_said_each_pair_is_found_once(user: str, line: str, language: Language) -> None:
    persona = persona_of([(line, "a"), ("b", line)], language)
    assert sorted(indexes(persona, user, 5)) == [0, 1]


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 3.5]) | st.floats(0, 4, width=32), min_size=1, max_size=40),
    st.integers(1, 45),
)
def test_the_best_few_are_those_of_the_whole_stable_ranking(scores: Sequence[float], k: int) -> None:
    whole = sorted(range(len(scores)), key=lambda place: -scores[place])
    assert _best(np.array(scores, dtype=np.float32), k) == whole[:k]


@examples(0.2)
@given(st.lists(WORDS, min_size=1, max_size=12), WORDS, st.integers(1, 12))
def test_fewer_are_the_first_of_more(texts: list[list[str]], query: list[str], k: int) -> None:
    index = Bm25Index(pieces(*(" ".join(words) for words in texts)), "en")
    every = index.search(" ".join(query), len(texts))
    assert index.search(" ".join(query), k) == every[:k]
    assert len(set(texts_of(every))) == len({" ".join(words) for words in texts})


def test_an_application_that_logs_hears_nothing_of_others() -> None:
    code = (
        "import logging; logging.basicConfig(level=logging.DEBUG)\n"
        "from rolellm_agents.recall.bm25 import Bm25Index\n"
        "from rolellm_agents.recall import Passage\n"
        "index = Bm25Index([Passage('memory', 'The lamp is lit.', 'x')], 'en')\n"
        "assert index.search('lamp', 1) and index.search('', 1)\n"
    )
    logged = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert logged.stderr == ""
