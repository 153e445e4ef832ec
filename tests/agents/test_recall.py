"""Which demonstrations are nearest to a line."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rolellm_agents.persona import Demonstration, Language, Persona
from rolellm_agents.recall import DemonstrationIndex, RecalledDemonstration
from rolellm_agents.recall.words import words_of


def persona_of(pairs: Sequence[tuple[str, str]], language: Language = "en") -> Persona:
    return Persona(
        id="ada",
        name="Ada",
        language=language,
        description="Somebody.",
        demonstrations=tuple(Demonstration(user=user, reply=reply) for user, reply in pairs),
    )


def indexes(persona: Persona, user: str, k: int) -> list[int]:
    return [found["index"] for found in DemonstrationIndex(persona).search(user, k)]


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


def test_what_is_found_are_plain_values_with_their_score() -> None:
    # By hand: two pairs, "wolves" in one of them; each has two words, so the length counts nothing.
    persona = persona_of([("wolves", "grey"), ("bread", "rye")])
    score = round(math.log(1 + (2 - 1 + 0.5) / (1 + 0.5)) * 1 / (1 + 1.5), 4)
    assert DemonstrationIndex(persona).search("wolves", 2) == [
        RecalledDemonstration(kind="demonstration", index=0, score=score),
        RecalledDemonstration(kind="demonstration", index=1, score=0.0),
    ]


@pytest.mark.parametrize(("k", "count"), [(-1, 0), (0, 0), (1, 1), (3, 3), (4, 4), (5, 4), (1_000, 4)])
def test_as_many_are_found_as_are_asked_for_and_there_are(k: int, count: int) -> None:
    assert len(indexes(BAKER, "bread", k)) == count


@pytest.mark.parametrize("user", ["", " \n", "?!…", "the of and", "zebra", "👍🏽", "{x} \\ %s"])
def test_a_line_that_shares_nothing_brings_the_first_pairs_with_no_score(user: str) -> None:
    found = DemonstrationIndex(BAKER).search(user, 2)
    assert [(item["index"], item["score"]) for item in found] == [(0, 0.0), (1, 0.0)]


def test_words_that_are_in_every_text_are_no_reason_to_be_found() -> None:
    persona = persona_of([("the and of", "is it"), ("the ship", "it is the sea")])
    assert indexes(persona, "is it of the ship", 1) == [1]


def test_equal_pairs_keep_their_order() -> None:
    persona = persona_of([("sea", "salt"), ("ship", "mast"), ("ship", "mast"), ("ship", "mast")])
    assert indexes(persona, "ship", 4) == [1, 2, 3, 0]


def test_without_demonstrations_nothing_is_found() -> None:
    assert DemonstrationIndex(persona_of([])).search("wolves", 5) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_demonstrations_without_a_word_are_found_too(language: Language) -> None:
    persona = persona_of([("?", "!"), ("…", "。")], language)
    assert indexes(persona, "?", 5) == [0, 1]


def test_searching_again_finds_the_same() -> None:
    index = DemonstrationIndex(BAKER)
    first = index.search("wolves", 4)
    index.search("bread", 2)
    assert index.search("wolves", 4) == first


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("The dog's BONES, and cat_9 in the Café!", "en", ["dog", "s", "bones", "cat_9", "café"]),
        ("", "en", []),
        ("孙悟空！", "zh", ["悟空", "孙悟空"]),
        ("他说：OK，走吧。", "zh", ["他", "说", "ok", "走", "吧"]),
        ("，。！", "zh", []),
    ],
)
def test_text_is_cut_into_words(text: str, language: Language, words: list[str]) -> None:
    assert words_of(text, language) == words


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


WORDS = st.lists(st.sampled_from(["sea", "ship", "mast", "salt", "gull", "storm"]), min_size=1, max_size=6)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), WORDS)
@example([(["sea"], ["sea"]), (["sea"], ["sea"])], ["sea", "sea"])
def test_the_scores_are_bm25s_and_fall_from_first_to_last(
    pairs: list[tuple[list[str], list[str]]], query: list[str]
) -> None:
    persona = persona_of([(" ".join(user), " ".join(reply)) for user, reply in pairs])
    found = DemonstrationIndex(persona).search(" ".join(query), len(pairs))
    expected = bm25([user + reply for user, reply in pairs], query)
    assert sorted(item["index"] for item in found) == list(range(len(pairs)))
    assert [item["score"] for item in found] == sorted((item["score"] for item in found), reverse=True)
    for item in found:
        assert item["score"] == pytest.approx(expected[item["index"]], abs=2e-4)


@settings(deadline=None, max_examples=80)
@given(
    st.text(max_size=60), st.text(min_size=1, max_size=30).filter(str.strip), st.sampled_from(["en", "zh"])
)
def test_whatever_is_said_each_pair_is_found_once(user: str, line: str, language: Language) -> None:
    persona = persona_of([(line, "a"), ("b", line)], language)
    assert sorted(indexes(persona, user, 5)) == [0, 1]
