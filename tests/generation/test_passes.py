"""The order in which a model is asked about a character."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.generation.passes import plan_passes
from rolellm_agents.generation.segments import SourceLine, SourceSegment


def segments(count: int) -> list[SourceSegment]:
    return [
        SourceSegment("knowledge", number, (SourceLine(f"Line {number}", "place"),))
        for number in range(count)
    ]


@given(st.integers(0, 40), st.integers(1, 3), st.integers(1, 12), st.integers(0, 6))
def test_every_segment_and_theme_comes_once_under_a_key_of_its_own(
    told: int, about: int, themes: int, unknown: int
) -> None:
    passes = plan_passes(
        segments(told),
        [SourceSegment("description", number, (SourceLine("Ada", ""),)) for number in range(about)],
        [f"theme {number}" for number in range(themes)],
        [f"thing {number}" for number in range(unknown)],
    )
    assert len({one.key for one in passes}) == len(passes)
    kinds = Counter(one.kind for one in passes)
    assert kinds["script_based"] == told
    assert kinds["script_agnostic"] == themes * about
    assert kinds["boundary"] == unknown
    assert {one.theme for one in passes} >= {f"theme {number}" for number in range(themes)}


def test_the_first_ones_are_of_all_kinds_and_from_all_over() -> None:
    about = [SourceSegment("description", 0, (SourceLine("Ada", ""),))]
    passes = plan_passes(segments(40), about, [str(number) for number in range(12)], ["a", "b", "c"])
    assert Counter(one.kind for one in passes[:10]) == {
        "script_based": 4,
        "script_agnostic": 4,
        "boundary": 2,
    }
    first = [one.segment.number for one in passes if one.kind == "script_based"][:4]
    assert max(first) >= 20
    assert min(first) < 10


def test_who_has_no_story_is_asked_the_rest() -> None:
    about = [SourceSegment("description", 0, (SourceLine("Ada", ""),))]
    assert {one.kind for one in plan_passes([], about, ["work"], ["the moon"])} == {
        "script_agnostic",
        "boundary",
    }
