"""What a judge made of faults, lengths and people's words, in numbers."""

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.judging.checking import (
    ALL,
    FaultOutcome,
    detections,
    length_correlation,
    preference,
    unscored,
)
from rolellm_agents.judging.human_labels import HumanLabel
from rolellm_agents.judging.judged import ConversationTurn
from rolellm_agents.judging.label_agreement import agreement_on_preferences, agreement_on_scores


def label(number: int, people: dict[str, float], other: str | None = None) -> HumanLabel:
    return HumanLabel(
        key=f"label/{number}",
        persona=f"p{number % 3}",
        turns=(ConversationTurn("user", "Cold?"),),
        reply="Aye.",
        other=other,
        by_person=people,
    )


@pytest.mark.parametrize(
    ("clean", "faulty", "said"),
    [(2.0, 1.0, 1.0), (1.0, 2.0, 0.0), (1.0, 1.0, 0.5), (None, 1.0, None), (1.0, None, None)],
)
def test_the_higher_value_is_the_better_reply(
    clean: float | None, faulty: float | None, said: float | None
) -> None:
    assert preference(clean, faulty) == said


def test_faults_are_counted_by_kind_and_all_together() -> None:
    found = detections(
        [
            FaultOutcome("padding", "ada", 1.0),
            FaultOutcome("padding", "ben", 0.5),
            FaultOutcome("ai-talk", "ada", 0.0),
            FaultOutcome("ai-talk", "ben", None),
        ]
    )
    assert [*found] == ["padding", "ai-talk", ALL]
    assert (found["padding"].value, found["padding"].n, found["padding"].unjudged) == (0.75, 2, 0)
    assert (found["ai-talk"].value, found["ai-talk"].n, found["ai-talk"].unjudged) == (0.0, 1, 1)
    assert (found[ALL].value, found[ALL].n, found[ALL].unjudged) == (0.5, 3, 1)
    assert found["padding"].ci95 == (0.5, 1.0)
    assert found["ai-talk"].ci95 is None


def test_nothing_judged_is_nothing_known_and_not_zero() -> None:
    assert detections([FaultOutcome("padding", "ada", None)])["padding"].value is None


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from([0.0, 0.5, 1.0, None])),
        max_size=20,
    )
)
@examples(0.15)
def test_nothing_is_lost_between_kinds_and_all(rows: list[tuple[str, str, float | None]]) -> None:
    found = detections([FaultOutcome(*row) for row in rows])
    every = found.pop(ALL)
    assert sum(one.n + one.unjudged for one in found.values()) == every.n + every.unjudged == len(rows)
    for one in found.values():
        assert one.value is None or 0 <= one.value <= 1


def test_a_judge_of_lengths_is_found_out() -> None:
    found = length_correlation([0.1, 0.2, 0.3, 0.5], [10, 20, 30, 40], ["a", "b", "c", "d"])
    assert found is not None
    assert found.value == pytest.approx(1.0)
    assert length_correlation([], [], []) is None


def test_scores_go_with_peoples_as_far_as_they_do() -> None:
    labels = [label(number, {"Ana": float(number), "Ben": number + 1.0}) for number in range(6)]
    alike = agreement_on_scores(labels, [number * 2.0 for number in range(6)])
    assert alike.n == 6
    assert set(alike.correlations) == {"pearson", "spearman", "kendall"}
    assert all(one.value == pytest.approx(1.0) for one in alike.correlations.values())
    assert alike.people_alpha is not None
    assert 0.5 < alike.people_alpha < 1
    unlike = agreement_on_scores(labels, [-number * 2.0 for number in range(5)] + [None])
    assert unlike.n == 5
    assert unlike.correlations["kendall"].value == pytest.approx(-1.0)


def test_what_a_judge_is_good_for_follows_from_the_lower_end_of_its_interval() -> None:
    labels = [label(number, {"Ana": float(number)}) for number in range(30)]
    assert agreement_on_scores(labels, [float(number) for number in range(30)]).strength == "strong"
    random = [float(number * 7 % 11) for number in range(30)]
    assert agreement_on_scores(labels, random).strength == "none shown"
    assert agreement_on_scores(labels[:1], [1.0]).strength == "unknown"
    pairs = [label(number, {"Ana": 1.0}, "b") for number in range(30)]
    assert agreement_on_preferences(pairs, [1.0] * 30).strength == "strong"
    assert agreement_on_preferences(pairs, [0.5] * 30).strength == "none shown"


def test_without_any_value_there_is_no_correlation() -> None:
    assert agreement_on_scores([label(0, {"": 1.0})], [None]).correlations == {}


def test_preferences_agree_with_most_people_and_their_ties_are_left_out() -> None:
    labels = [
        label(0, {"Ana": 1.0, "Ben": 1.0, "Cy": 0.0}, "b"),
        label(1, {"Ana": 0.0}, "b"),
        label(2, {"Ana": 0.5}, "b"),
        label(3, {"Ana": 1.0}, "b"),
        label(4, {"Ana": 1.0}, "b"),
    ]
    found = agreement_on_preferences(labels, [1.0, 1.0, 1.0, 0.5, None])
    assert found.agreement is not None
    assert (found.agreement.value, found.agreement.n, found.agreement.unjudged) == (0.5, 3, 1)


def test_missing_values_are_counted_by_reason() -> None:
    assert unscored(["scored", "unparsed", "unparsed", "skipped"]) == {"unparsed": 2, "skipped": 1}
