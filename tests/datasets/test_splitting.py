"""Splits that never leak."""

import random
from collections import Counter

import pytest
from helpers.samples import KINDS, LANGUAGES, sample
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets import Sample
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.near_duplicates import NEAR
from rolellm_agents.datasets.splitting import split_by_instructions, split_by_roles
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text.near_copies import units_of

WORDS = [
    "who",
    "keeps",
    "the",
    "lamp",
    "at",
    "night",
    "and",
    "why",
    "does",
    "she",
    "sing",
    "灯",
    "谁",
    "守",
]


@st.composite
def leaky(draw: st.DrawFn) -> list[Sample]:
    """Samples in which many questions are asked again: of others, in other marks, with a word more."""
    samples: list[Sample] = []
    for words in draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=3, max_size=12), max_size=12)):
        variants = [
            " ".join(words),
            " ".join(words).upper() + "?",
            ", ".join(words),
            " ".join([*words, draw(st.sampled_from(WORDS))]),
            "  ".join(reversed(words)),
        ]
        samples += [
            sample(role, question, kind=draw(KINDS), language=draw(LANGUAGES))
            for question in draw(st.lists(st.sampled_from(variants), max_size=4))
            for role in draw(st.lists(st.sampled_from(["Ada", "Ben", "Cleo"]), max_size=2))
        ]
    return samples


def likeness(one: str, other: str) -> float:
    first, second = set(units_of(one)), set(units_of(other))
    return len(first & second) / len(first | second)


def divided(samples: list[Sample], share: float, seed: int) -> tuple[list[Sample], list[Sample]] | None:
    """Training and test; None when no test can be made."""
    try:
        decided = split_by_instructions(samples, test_share=share, seed=seed)
    except RoleBenchError:
        return None
    test = [one for one in samples if decided.is_test(one)]
    return [one for one in samples if not decided.is_test(one)], test


SHARES = st.sampled_from([0.1, 0.2, 0.5, 0.8, 1.0])
SEEDS = st.integers(0, 5)


@given(leaky(), SHARES, SEEDS)
def test_no_question_of_the_test_is_nearly_asked_in_training(
    samples: list[Sample], share: float, seed: int
) -> None:
    if (sides := divided(samples, share, seed)) is None:
        return
    train, test = ({one.question for one in side} for side in sides)
    assert test
    assert not [(one, other) for one in test for other in train if likeness(one, other) >= NEAR]


@given(leaky(), SHARES, SEEDS)
def test_no_test_of_a_role_is_larger_than_its_share_and_all_have_something_to_train_on(
    samples: list[Sample], share: float, seed: int
) -> None:
    if (sides := divided(samples, share, seed)) is None:
        return
    all_, test = (
        Counter((one.language, one.kind, one.role) for one in some) for some in (samples, sides[1])
    )
    assert all(test[asker] <= min(round(share * number), number - 1) for asker, number in all_.items())


@given(leaky(), SHARES, SEEDS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(
    samples: list[Sample], share: float, seed: int, drawn: random.Random
) -> None:
    other = drawn.sample(samples, len(samples))
    first, second = divided(samples, share, seed), divided(other, share, seed)
    assert (first is None) == (second is None)
    if first and second:
        assert {one.question for one in first[1]} == {one.question for one in second[1]}


def plenty(roles: int = 10, questions: int = 40) -> list[Sample]:
    drawn = random.Random(3)
    asked = [" ".join(drawn.choices([f"word{n}" for n in range(500)], k=12)) for _ in range(questions)]
    return [sample(f"Role {role}", question, kind="general") for role in range(roles) for question in asked]


def test_a_share_is_reached_where_nothing_is_near() -> None:
    samples = plenty()
    decided = split_by_instructions(samples, test_share=0.25, seed=1)
    assert Counter(one.role for one in samples if decided.is_test(one)) == {
        f"Role {role}": 10 for role in range(10)
    }


def test_another_seed_makes_another_split() -> None:
    first, again, other = (
        split_by_instructions(plenty(), test_share=0.25, seed=seed).questions for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_questions_that_cannot_be_apart_are_told() -> None:
    samples = [sample("Ada", "Who keeps the lamp?"), sample("Ada", "Who keeps the lamp")]
    with pytest.raises(RoleBenchError, match="too few"):
        split_by_instructions(samples, test_share=0.5, seed=0)


NAMES = st.sampled_from(
    ["Dr. Frank-N-Furter", "dr frank n furter", "Ada", "ADA", "Ben", "Cleo", "华妃", "?"]
)
SPOKEN = st.lists(st.builds(sample, NAMES, language=LANGUAGES), max_size=12)


@given(SPOKEN, SHARES, SEEDS, st.randoms(use_true_random=False))
def test_no_role_is_on_both_sides_however_it_is_written(
    samples: list[Sample], share: float, seed: int, drawn: random.Random
) -> None:
    roles = {(one.language, role_key(one.role)) for one in samples}
    try:
        decided = split_by_roles(samples, test_share=share, seed=seed)
    except RoleBenchError:
        assert all(sum(role[0] == language for role in roles) < 2 for language in ("en", "zh"))
        return
    test, train = (
        {(one.language, role_key(one.role)) for one in samples if decided.is_test(one) is side}
        for side in (True, False)
    )
    assert test
    assert train
    assert not test & train
    other = split_by_roles(drawn.sample(samples, len(samples)), test_share=share, seed=seed)
    assert other.roles == decided.roles


def test_named_roles_are_held_out_and_their_general_questions_may_be_old() -> None:
    samples = plenty()
    decided = split_by_roles(samples, test_share=0.1, seed=0, hold_out=["role 3", "Role 7"])
    assert {one.role for one in samples if decided.is_test(one)} == {"Role 3", "Role 7"}


def test_a_role_that_is_not_there_is_told_and_so_is_holding_out_all() -> None:
    with pytest.raises(RoleBenchError, match=r"no role 'Rolle 3' \(did you mean Role 3"):
        split_by_roles(plenty(), test_share=0.1, seed=0, hold_out=["Rolle 3"])
    with pytest.raises(RoleBenchError, match="none can be held out"):
        split_by_roles(plenty(2), test_share=0.1, seed=0, hold_out=["Role 0", "Role 1"])
    with pytest.raises(RoleBenchError, match="none can be held out"):
        split_by_roles(plenty(1), test_share=0.9, seed=0)
