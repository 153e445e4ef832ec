"""Several sources as one."""

import tracemalloc
from collections.abc import Iterator

from helpers.samples import any_samples, sample
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets import Sample
from rolellm_agents.datasets.keys import question_key
from rolellm_agents.datasets.merging import MergeCounts, merge_samples

FEW = st.sampled_from(["Ada", "Ben"])
SAMPLES = st.lists(
    st.builds(
        lambda one, question: Sample(
            one.role, question, one.references, one.kind, one.types, one.language, one.extra
        ),
        any_samples(FEW),
        st.sampled_from(["Who?", "Who  ?", "Why?"]),
    ),
    max_size=12,
)


def merged(samples: list[Sample]) -> list[Sample]:
    counts = MergeCounts()
    result = list(merge_samples(lambda: iter(samples), counts))
    assert (counts.read, counts.written) == (len(samples), len(result))
    assert counts.read - counts.written == counts.repeated + counts.joined
    return result


def asked(one: Sample) -> tuple[str, str, str, str]:
    return one.language, one.kind, one.role, question_key(one.question)


def answers(samples: list[Sample]) -> set[tuple[tuple[str, str, str, str], str]]:
    return {(asked(one), text) for one in samples for text in one.references}


@given(SAMPLES)
def test_each_question_to_a_role_is_there_once_and_no_answer_is_lost(samples: list[Sample]) -> None:
    result = merged(samples)
    assert len({asked(one) for one in result}) == len(result)
    assert answers(result) == answers(samples)
    assert [asked(one) for one in result] == list(dict.fromkeys(asked(one) for one in samples))
    assert all(len(one.types) in (0, len(one.references)) for one in result)


@given(SAMPLES)
def test_merging_again_changes_nothing(samples: list[Sample]) -> None:
    once = merged(samples)
    assert merged(once) == once
    assert answers(merged(samples + samples)) == answers(once)


@given(SAMPLES, SAMPLES)
def test_merging_in_steps_is_merging_at_once(some: list[Sample], others: list[Sample]) -> None:
    at_once, in_steps = merged(some + others), merged(merged(some) + others)
    assert [(asked(one), one.references) for one in at_once] == [
        (asked(one), one.references) for one in in_steps
    ]


def test_other_answers_join_with_their_types_and_what_else_is_said() -> None:
    counts = MergeCounts()
    rows = [
        sample("Ada", "Who?", "I do.", types=("script_based",), labels=["a"], seed=1),
        sample("Ada", " Who? ", "I do."),
        sample("Ada", "Who?", "My father.", "I do.", labels=["b", "a"], seed=2),
        sample("Ben", "Who?", "Not me."),
    ]
    first, second = merge_samples(lambda: iter(rows), counts)
    assert first == sample(
        "Ada",
        "Who?",
        "I do.",
        "My father.",
        types=("script_based", "script_based"),
        labels=["a", "b"],
        seed=1,
    )
    assert second.role == "Ben"
    assert counts == MergeCounts(read=4, written=2, repeated=1, joined=1)


def test_what_is_asked_once_is_not_held_in_memory() -> None:
    def many() -> Iterator[Sample]:
        for number in range(10_000):
            yield sample("Ada", f"Who keeps lamp {number}?", f"{number} " + "I do. " * 400)

    tracemalloc.start()
    try:
        written = sum(1 for _ in merge_samples(many, MergeCounts()))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert written == 10_000
    assert most < 5_000_000  # of 24 MB of answers
