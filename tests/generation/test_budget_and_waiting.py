"""What may be spent, and how long to wait."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import SettingsError
from rolellm_agents.runs.backoff import Backoff, seconds_to_wait
from rolellm_agents.runs.budget import Budget, Prices, Tokens
from rolellm_agents.runs.seeds import seed_of

PAIR = st.tuples(st.integers(0, 500), st.integers(0, 500))


@given(st.lists(st.tuples(PAIR, st.floats(0, 1)), max_size=30), st.integers(0, 3_000), st.booleans())
def test_no_more_is_spent_than_may_be(
    asked: list[tuple[tuple[int, int], float]], most: int, by_cost: bool
) -> None:
    prices = Prices(1.0, 2.0)
    budget = (
        Budget(most_cost=most / 1_000_000, prices=prices)
        if by_cost
        else Budget(most_tokens=most, prices=prices)
    )
    running: list[tuple[Tokens, Tokens]] = []
    for number, ((read, written), share) in enumerate(asked):
        expected = Tokens(read, written)
        if budget.reserve(expected):
            running.append((expected, Tokens(int(read * share), int(written * share))))
        if number % 3 == 0 and running:
            budget.settle(*running.pop(0))
    for one in running:
        budget.settle(*one)
    spent = prices.cost(budget.spent) * 1_000_000 if by_cost else budget.spent.total
    assert spent <= most + 1e-6
    assert budget.cost == prices.cost(budget.spent)


def test_what_was_spent_before_counts() -> None:
    budget = Budget(most_tokens=100, spent=Tokens(60, 30))
    assert not budget.reserve(Tokens(6, 5))
    assert budget.reserve(Tokens(5, 5))
    assert not budget.reserve(Tokens(0, 1))


def test_a_greatest_cost_needs_prices() -> None:
    with pytest.raises(SettingsError, match="limit requires prices; set --price-read"):
        Budget(most_cost=1.0)


def refused(status: int, *, after: str | None = None, code: str | None = None) -> Exception:
    error: Any = RuntimeError("refused")
    error.status_code, error.code = status, code
    error.response = SimpleNamespace(headers={} if after is None else {"retry-after": after})
    return error  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("error", "tries", "seconds"),
    [
        (refused(429), 1, 2.0),
        (refused(429), 3, 8.0),
        (refused(429), 7, 60.0),
        (refused(429), 8, None),
        (refused(429, after="17"), 1, 17.0),
        (refused(429, after="-3"), 1, 0.0),
        (refused(429, after="86400"), 1, None),
        (refused(429, after="tomorrow"), 1, 2.0),
        (refused(429, after="nan"), 1, 2.0),
        (refused(429, code="insufficient_quota"), 1, None),
        (refused(529), 5, 32.0),
        (refused(503), 1, 2.0),
        (refused(503), 4, None),
        (refused(401), 1, None),
        (refused(400), 1, None),
        (ConnectionError("broke"), 1, 2.0),
        (ConnectionError("broke"), 4, None),
        (TimeoutError(), 2, 4.0),
        (ValueError("ours"), 1, None),
    ],
)
def test_only_what_waiting_mends_is_waited_for(error: Exception, tries: int, seconds: float | None) -> None:
    assert seconds_to_wait(error, tries) == seconds


async def test_a_gate_holds_everybody_up_and_tells_once() -> None:
    now = 0.0
    told: list[float] = []

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    backoff = Backoff(clock=lambda: now, sleep=sleep, on_wait=told.append)
    await backoff.passed()
    assert now == 0
    backoff.shut(5)
    backoff.shut(3)
    backoff.shut(9)
    await backoff.passed()
    assert now == 9
    assert told == [5]
    backoff.shut(1)
    assert told == [5, 1]


@given(st.integers(), st.text(max_size=30), st.integers(0, 3))
def test_a_seed_is_the_same_for_the_same_item_and_fits_a_model(seed: int, key: str, tries: int) -> None:
    found = seed_of(seed, key, tries)
    assert found == seed_of(seed, key, tries)
    assert 0 <= found < 2**31
    assert found != seed_of(seed, key + "x", tries) or found != seed_of(seed + 1, key, tries)
