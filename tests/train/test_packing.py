"""Rows that begin alike in one sequence."""

from collections import Counter

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_train.data.encoding import Encoded
from rolellm_train.data.packing import PackedSequence, pack, shared_beginning

TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=12)


@st.composite
def rows(draw: st.DrawFn) -> list[Encoded]:
    made = []
    beginnings = {group: draw(TOKENS) for group in "ab"}
    for _ in range(draw(st.integers(1, 12))):
        group = draw(st.sampled_from("ab"))
        prompt = [*beginnings[group], *draw(TOKENS)]
        ids = (*prompt, *draw(TOKENS))
        made.append(Encoded(group, ids, (range(len(prompt), len(ids)),)))
    return made


def read_back(packs: list[PackedSequence]) -> Counter[Encoded]:
    return Counter(row for one in packs for tree in one.trees for row in tree.rows)


@given(rows(), st.integers(40, 90), st.integers(0, 5))
def test_every_row_is_in_one_pack_once_and_no_pack_is_too_long(
    made: list[Encoded], size: int, seed: int
) -> None:
    packs = pack(made, size, seed=seed)
    assert read_back(packs) == Counter(made)
    assert all(len(one) <= size for one in packs)


@given(rows(), st.integers(0, 5))
def test_what_a_tree_shares_is_alike_in_all_its_rows_and_never_an_answer(
    made: list[Encoded], seed: int
) -> None:
    for one in pack(made, 64, seed=seed):
        for tree in one.trees:
            assert len({row.group for row in tree.rows}) == 1
            assert len({row.ids[: tree.shared] for row in tree.rows}) == 1
            # The answer's first token is predicted in the branch.
            assert all(tree.shared < row.answers[0].start for row in tree.rows)


@examples(0.25)
@given(rows(), st.integers(0, 5))
def test_the_same_seed_lays_the_same_packs(made: list[Encoded], seed: int) -> None:
    assert pack(made, 64, seed=seed) == pack(made, 64, seed=seed)


def test_a_row_that_fits_into_no_pack_is_refused() -> None:
    with pytest.raises(ValueError, match="a row of 9 tokens does not fit into 8"):
        pack([Encoded("a", tuple(range(9)), (range(3, 9),))], 8, seed=0)


def test_a_long_instruction_is_computed_once_for_many_rows() -> None:
    many = [
        Encoded("a", (*range(300), 500 + number, *([7] * 60)), (range(301, 361),)) for number in range(60)
    ]
    packs = pack(many, 2048, seed=0)
    assert shared_beginning(many) == 300
    computed = sum(map(len, packs))
    assert computed == 60 * 61 + 300 * len(packs)
    # All but the last are full.
    assert sum(map(len, sorted(packs, key=len)[1:])) / (2048 * (len(packs) - 1)) > 0.95


def test_one_row_alone_shares_nothing() -> None:
    assert shared_beginning([Encoded("a", (1, 2, 3), (range(2, 3),))]) == 0
