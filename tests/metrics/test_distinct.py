"""How varied texts are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.metrics import distinct_n


@pytest.mark.parametrize(
    ("texts", "n", "share"),
    [
        (["a b a b"], 1, 2 / 4),
        (["a b a b"], 2, 2 / 3),
        (["The end", "the end"], 2, 1 / 2),
        (["天上天下"], 1, 3 / 4),
        (["one", "two"], 2, 0.0),
        ([], 1, 0.0),
    ],
)
def test_the_share_of_runs_that_are_new(texts: list[str], n: int, share: float) -> None:
    assert distinct_n(texts, n) == pytest.approx(share)


@given(st.lists(st.text(alphabet="ab 天", max_size=20), max_size=6), st.integers(1, 3))
def test_saying_all_of_it_again_halves_it(texts: list[str], n: int) -> None:
    assert distinct_n([*texts, *texts], n) == pytest.approx(distinct_n(texts, n) / 2)
