"""Several rankings fused by rank."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from helpers.passages import pieces, texts_of
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.recall import Hit, Passage
from rolellm_agents.recall.fusion import FusedIndex

LETTERS = "abcdefgh"


@dataclass
class Fixed:
    """An index that finds always the same."""

    hits: Sequence[Hit]
    asked: int = 0

    def search(self, query: str, k: int) -> list[Hit]:
        self.asked = k
        return list(self.hits[:k])


def ranking(*passages: Passage, near: str = LETTERS) -> list[Hit]:
    """These, best first; near are those whose text is in `near`."""
    return [
        Hit(passage, 9.0 - rank, 1 / (rank + 1), passage.text in near, f"rank {rank}")
        for rank, passage in enumerate(passages)
    ]


def letters(*texts: str) -> list[Hit]:
    return ranking(*pieces(*texts))


def fused(*rankings: Sequence[Hit], k: int = 50) -> list[Hit]:
    return FusedIndex([Fixed(hits) for hits in rankings]).search("whatever", k)


def test_what_is_first_in_both_is_first() -> None:
    assert texts_of(fused(letters("b", "a", "c"), letters("b", "c", "a")))[0] == "b"


def test_what_both_find_goes_before_what_only_one_finds_first() -> None:
    found = texts_of(fused(letters("a", "b"), letters("c", "b")))
    assert (found[0], set(found[1:])) == ("b", {"a", "c"})


def test_a_hit_tells_the_sum_and_both_reasons_and_the_greater_closeness() -> None:
    b, a = pieces("b", "a")
    first = [Hit(a, 3.0, 0.2, False, "shares “a”"), Hit(b, 2.0, 0.1, False, "shares “b”")]
    second = [Hit(b, 0.9, 0.9, True, "cosine 0.90")]
    assert fused(first, second) == [
        Hit(b, round(1 / 12 + 1 / 11, 6), 0.9, True, "shares “b” (rank 2); cosine 0.90 (rank 1)"),
        Hit(a, round(1 / 11, 6), 0.2, False, "shares “a” (rank 1)"),
    ]


@pytest.mark.parametrize(("k", "count"), [(-1, 0), (0, 0), (1, 1), (3, 3), (100, 3)])
def test_as_many_are_found_as_are_asked_for_and_there_are(k: int, count: int) -> None:
    assert len(fused(letters("a", "b"), letters("c"), k=k)) == count


def test_without_anything_to_fuse_nothing_is_found() -> None:
    assert fused() == []
    assert fused([], []) == []


def test_more_is_looked_at_than_is_asked_for() -> None:
    """What is second in both is better than what is first in one and nowhere in the other."""
    first, second = Fixed(letters("a", "b")), Fixed(letters("c", "b"))
    assert texts_of(FusedIndex([first, second]).search("whatever", 1)) == ["b"]
    FusedIndex([first]).search("whatever", 1_000)
    assert first.asked == 1_000


def test_copies_that_say_the_same_count_once_each_by_its_best_place() -> None:
    one, copy = Passage("lore", "a", "x", 0), Passage("lore", "a", "y", 1)
    other = Passage("lore", "b", "z", 2)
    found = fused(ranking(one, copy, other), ranking(other))
    assert [hit.passage.text for hit in found] == ["b", "a"]
    assert found[1].score == round(1 / 11, 6)
    assert found[1].passage == one
    assert found[0].score == round(1 / 13 + 1 / 11, 6)


RANKINGS = st.lists(
    st.lists(st.sampled_from(LETTERS), max_size=12).map(lambda texts: pieces(*texts)), max_size=3
)


@given(RANKINGS, st.sets(st.sampled_from(LETTERS)), st.integers(0, 10))
def test_the_order_is_by_the_summed_inverse_ranks(
    rankings: list[list[Passage]], near: set[str], k: int
) -> None:
    hits = [ranking(*passages, near="".join(near)) for passages in rankings]
    sums: dict[str, float] = {}
    for passages in rankings:
        texts = [passage.text for passage in passages]
        for text in set(texts):
            sums[text] = sums.get(text, 0) + 1 / (10 + 1 + texts.index(text))
    found = fused(*hits, k=k)
    assert len(found) == min(k, len(sums))
    assert len(set(texts_of(found))) == len(found)
    assert [hit.score for hit in found] == [
        round(total, 6) for total in sorted(sums.values(), reverse=True)[:k]
    ]
    for hit in found:
        assert hit.score == round(sums[hit.passage.text], 6)
        assert hit.is_near == (hit.passage.text in near)
    # What is fused does not depend on which index comes first.
    assert texts_of(fused(*reversed(hits), k=k)) == texts_of(found)
