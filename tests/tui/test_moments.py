"""When something was, in words."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_tui.widgets.common.formatting import local_now, relative_time

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
"""A Saturday."""


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("2026-11-21T14:30:00.000Z", "today 14:30"),
        ("2026-11-21T00:00:00.000Z", "today 00:00"),
        ("2026-11-20T23:59:59.999Z", "yesterday 23:59"),
        ("2026-11-20T00:00:00.000Z", "yesterday 00:00"),
        ("2026-11-19T09:05:00.000Z", "Thursday 09:05"),
        ("2026-11-15T12:00:00.000Z", "Sunday 12:00"),
        ("2026-11-14T12:00:00.000Z", "14 Nov 12:00"),
        ("2026-01-01T00:00:00.000Z", "1 Jan 00:00"),
        ("2025-12-31T23:00:00.000Z", "31 Dec 2025"),
        ("2026-11-22T01:00:00.000Z", "22 Nov 01:00"),
    ],
)
def test_a_moment_is_told_as_people_say_it(moment: str, words: str) -> None:
    assert relative_time(moment, NOW) == words


def test_the_clock_and_the_day_are_those_of_the_place() -> None:
    east = NOW.astimezone(timezone(timedelta(hours=10)))
    assert relative_time("2026-11-21T14:00:00.000Z", east) == "today 00:00"
    assert relative_time("2026-11-21T13:59:00.000Z", east) == "yesterday 23:59"


@given(st.integers(0, 4_000_000_000), st.integers(-12, 14))
def test_whatever_the_moment_is_it_has_words(seconds: int, hours: int) -> None:
    now = NOW.astimezone(timezone(timedelta(hours=hours)))
    words = relative_time(datetime.fromtimestamp(seconds, UTC).isoformat(), now)
    assert 0 < len(words) <= len("Wednesday 00:00")


def test_now_has_a_time_zone() -> None:
    assert local_now().tzinfo is not None
