"""How many answers a second there were."""

from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.evaluation import Throughput
from rolellm_agents.evaluation.throughput import busy_seconds

SPANS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda one: (one[0], one[0] + one[1])), max_size=8
)


def test_what_overlaps_counts_once_and_pauses_do_not_count() -> None:
    assert busy_seconds([(0, 2), (1, 3), (1, 2), (10, 11)]) == 4
    assert busy_seconds([(5, 6), (0, 6)]) == 6
    assert busy_seconds([]) == 0


@given(SPANS)
def test_it_is_the_seconds_in_which_something_was_going_on(spans: list[tuple[int, int]]) -> None:
    seconds = {second for begin, end in spans for second in range(begin, end)}
    assert busy_seconds(spans) == len(seconds)


def test_a_rate_is_of_the_busy_time() -> None:
    told = Throughput(model="m", at_once=8, answers=10, tokens=50, seconds=4).to_json()
    assert (told["answers_per_second"], told["tokens_per_second"], told["at_once"]) == (2.5, 12.5, 8)
    nothing = Throughput(model="m", at_once=1, answers=0, tokens=0, seconds=0).to_json()
    assert (nothing["answers_per_second"], nothing["tokens_per_second"]) == (None, None)
