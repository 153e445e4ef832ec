"""The window of mounted messages, as numbers."""

from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_tui.widgets.chat.window import MOST_MOUNTED, MessageWindow, around, moved, newest, resized

totals = st.integers(0, 500)


@examples(200)
@given(totals, st.lists(st.sampled_from([-1, 1]), max_size=30), st.integers(0, 499))
def test_a_window_stays_in_the_conversation_and_is_as_large_as_it_may_be(
    total: int, steps: list[int], place: int
) -> None:
    window = around(min(place, max(0, total - 1)), total)
    assert not total or min(place, total - 1) in window
    for step in steps:
        window = moved(window, step, total)
        assert 0 <= window.first <= window.end <= total
        assert window.end - window.first == min(total, MOST_MOUNTED)


def test_each_end_is_reached() -> None:
    window = newest(1_000)
    for _ in range(47):
        window = moved(window, -1, 1_000)
    assert window == MessageWindow(0, 60)
    for _ in range(47):
        window = moved(window, 1, 1_000)
    assert window == newest(1_000)


def test_a_window_at_the_end_follows_it_and_another_one_stays() -> None:
    assert resized(newest(200), 200, 202) == MessageWindow(142, 202)
    assert resized(newest(200), 200, 150) == MessageWindow(90, 150)
    assert resized(MessageWindow(20, 80), 200, 202) == MessageWindow(20, 80)
    assert resized(MessageWindow(20, 80), 200, 50) == MessageWindow(0, 50)
