"""The way from a line to its answer does not grow longer."""

from pathlib import Path

import pytest

from journey.trace import JOURNEYS, Trace, traced
from rolellm_agents.text import one_line, replace_surrogates

MOST = {
    "role_graph(...).invoke": {"files": 16, "functions": 47, "calls": 66, "changes of file": 35},
    "Session.send": {"files": 32, "functions": 128, "calls": 256, "changes of file": 136},
    "Stage.step": {"files": 54, "functions": 249, "calls": 599, "changes of file": 318},
}
"""When one of them shrinks, lower it here and in docs/design/journey.md."""


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_is_no_longer_than_it_was(name: str, tmp_path: Path) -> None:
    figures = JOURNEYS[name](tmp_path).figures()

    assert {what: figure for what, figure in figures.items() if figure > MOST[name][what]} == {}
    # A trace that misses a thread would pass, too.
    assert figures["calls"] > MOST[name]["calls"] * 0.7


def test_a_trace_counts_calls_of_ours_alone() -> None:
    with traced() as trace:
        replace_surrogates("a line")
        sorted(["a", "b"])
    before = Trace()
    with traced() as nothing:
        pass

    assert trace.figures() == {"files": 1, "functions": 1, "calls": 1, "changes of file": 0}
    assert nothing == before


def test_a_trace_sees_the_calls_within_a_call() -> None:
    with traced() as trace:
        one_line("a line", 40)

    assert trace.calls.total() > 1
