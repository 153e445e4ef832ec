"""Questions that are nearly the same, among few and among many."""

import random
from collections import defaultdict

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets.near_duplicates import near_duplicates, near_groups
from rolellm_agents.text.near_copies import units_of

WORDS = st.sampled_from(
    ["ada", "ben", "who", "keeps", "the", "lamp", "and", "why", "灯", "谁", "守", "7", "?!"]
)
TEXTS = st.lists(st.lists(WORDS, max_size=9).map(" ".join), max_size=14)
LIKENESSES = st.sampled_from([0.05, 0.3, 0.5, 2 / 3, 0.7, 0.75, 0.8, 0.9, 1.0])


def likeness(one: str, other: str) -> float:
    """The Jaccard index, from its definition."""
    first, second = (set(units_of(text) or [text.strip()]) for text in (one, other))
    return len(first & second) / len(first | second)


def by_definition(texts: list[str], at_least: float) -> dict[tuple[int, int], float]:
    return {
        (first, second): likeness(texts[first], texts[second])
        for second in range(len(texts))
        for first in range(second)
        if likeness(texts[first], texts[second]) >= at_least
    }


@examples(2)
@given(TEXTS, LIKENESSES)
def test_exactly_the_near_pairs_are_found_each_once(texts: list[str], at_least: float) -> None:
    found = list(near_duplicates(texts, at_least=at_least))
    assert len(found) == len({one[:2] for one in found})
    assert {(one.first, one.second): one.likeness for one in found} == by_definition(texts, at_least)


@examples(2)
@given(TEXTS, LIKENESSES)
def test_groups_are_what_near_pairs_hold_together(texts: list[str], at_least: float) -> None:
    together = {place: {place} for place in range(len(texts))}
    for first, second in by_definition(texts, at_least):
        joined = together[first] | together[second]
        for place in joined:
            together[place] = joined
    expected = sorted({tuple(sorted(group)) for group in together.values()})
    assert [tuple(group) for group in near_groups(texts, at_least=at_least)] == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada, how would you describe your wife, Wendy?", "ada – how would YOU describe your wife Wendy"),
        (
            "Stifler, what's the craziest thing you've ever done at a party?",
            "Stifler, what's the craziest thing you've ever done for a party?",
        ),
        ("华妃，你觉得自己在宫中最大的优势是什么？", "华妃，在后宫中，你觉得自己的最大优势是什么？"),
        ("???", " ??? "),
    ],
)
def test_the_same_in_nearly_the_same_words_is_near(one: str, other: str) -> None:
    assert near_groups(["Who keeps the lamp?", one, other]) == [[0], [1, 2]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Who is Ada?", "Who is Ben?"),
        ("Ada, how did you learn to keep the lamp?", "Ada, how did you lose the keeper's lamp?"),
        ("皇上，您如何看待权力？", "皇上，您如何看待华妃？"),
        ("???", "!!!"),
        ("", "?"),
    ],
)
def test_other_questions_are_not(one: str, other: str) -> None:
    assert near_groups([one, other]) == [[0], [1]]


def test_nothing_has_no_groups() -> None:
    assert near_groups([]) == []
    assert list(near_duplicates([])) == []


def test_many_copies_of_one_question_are_one_group() -> None:
    assert near_groups(["Who keeps the lamp?"] * 30_000) == [list(range(30_000))]


def test_planted_among_many_they_are_all_found_and_hardly_anything_else() -> None:
    drawn = random.Random(5)
    vocabulary = [f"word{number}" for number in range(3_000)]
    questions = [["Ada,", *drawn.choices(vocabulary, k=drawn.randint(11, 30)), "?"] for _ in range(12_000)]
    planted = {}
    for place in drawn.sample(range(12_000), 1_500):
        changed = list(questions[place])
        changed[drawn.randrange(1, len(changed) - 1)] = drawn.choice(vocabulary)
        planted[len(questions)] = place
        questions.append(changed)
    found = defaultdict(set)
    for first, second, _ in near_duplicates([" ".join(words) for words in questions]):
        found[second].add(first)

    hits = sum(place in found[copy] for copy, place in planted.items())
    recall, precision = hits / len(planted), hits / sum(map(len, found.values()))
    assert recall >= 0.999
    assert precision >= 0.99
