"""The table of a benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from helpers.hypotheses import examples
from helpers.samples import sample
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets import Kind
from rolellm_agents.evaluation import (
    BASELINE,
    ResultRow,
    ScoredReply,
    System,
    markdown_table,
    paper_markdown,
)
from rolellm_agents.evaluation.columns import MARKS, SCORES, AnsweredSample, marks_of, scores_of
from rolellm_agents.evaluation.paper_table import paper_rows, printed_rows
from rolellm_agents.evaluation.result import role_scores
from rolellm_agents.evaluation.rows import rows_of
from rolellm_agents.evaluation.scored import scored
from rolellm_agents.judging import Verdict
from rolellm_agents.metrics import paper_recall, rouge_l_f1
from rolellm_agents.persona import Persona

FIRST, SECOND = System("one", "system"), System("one", "retrieval")
ADA = Persona(id="ada", name="Ada", description="Ada keeps a lighthouse.")
QUESTIONS = [
    sample("Ada", "Who?", "I keep the lamp."),
    sample("Ada", "When?", "Every single night."),
    sample("Ben", "Where?", "On the rock."),
    sample("Ben", "Why?", "Somebody must do it.", "Who else would?"),
]


def reply_of(system: System, question: int, reply: str, **changes: Any) -> ScoredReply:
    one = QUESTIONS[question]
    said = AnsweredSample(reply, ADA, one)
    return replace(scored(system, question, f"{system.strategy}/{question}", said), **changes)


def table(replies: Sequence[ScoredReply], *systems: System, training_known: bool = True) -> list[ResultRow]:
    return rows_of(
        replies,
        systems or (FIRST, SECOND, BASELINE),
        asked={"role_specific": len(QUESTIONS)},
        training_known=training_known,
    )


RIGHT = [reply_of(FIRST, place, one.references[0]) for place, one in enumerate(QUESTIONS)]


# One reply


def test_a_reply_has_the_scores_of_the_measures_and_the_marks_that_are_detected() -> None:
    said = AnsweredSample("As an AI I keep the lamp.", ADA, QUESTIONS[0])
    references = QUESTIONS[0].references
    assert scores_of(said)["rouge_l_f1"] == rouge_l_f1(said.reply, references, "en")
    assert scores_of(said)["paper"] == paper_recall(said.reply, references, "en")
    assert set(scores_of(said)) == set(SCORES)
    marks = marks_of(said)
    assert set(marks) == set(MARKS)
    assert (marks["words"], marks["ai_talk"], marks["in_role"], marks["empty"]) == (7, 1, 0, 0)


def test_an_empty_reply_is_marked_and_scores_nothing() -> None:
    said = AnsweredSample("", ADA, QUESTIONS[0])
    assert set(scores_of(said).values()) == {0.0}
    assert (marks_of(said)["empty"], marks_of(said)["words"]) == (1, 0)


def test_chinese_is_counted_by_characters() -> None:
    said = AnsweredSample("俺老孙来也！", ADA, sample("悟空", "谁？", "俺老孙来也。", language="zh"))
    assert marks_of(said)["words"] == 5
    assert scores_of(said)["rouge_l_f1"] == 1


# Rows


def test_a_row_has_means_with_intervals_and_what_differs_from_the_first() -> None:
    worse = [reply_of(SECOND, place, "lamp" if place else "I keep") for place in range(4)]
    first, second = table([*RIGHT, *worse])
    assert (first.system, first.n, first.missing, first.roles) == (FIRST, 4, 0, 2)
    assert first.scores["rouge_l_f1"].mean == 1
    assert (first.scores["rouge_l_f1"].low, first.scores["rouge_l_f1"].high) == (1, 1)
    assert first.less_first == {}
    # 2 of 4 words of the first answer: F1 is 2 · 1 · .5 / 1.5; of four replies.
    assert second.scores["rouge_l_f1"].mean == pytest.approx(1 / 6)
    assert second.less_first["rouge_l_f1"].interval.mean == pytest.approx(-5 / 6)
    # Two roles can change places in four ways; all but two of them are less far from 0.
    assert second.less_first["rouge_l_f1"].p == 0.5


def test_only_questions_that_both_answered_are_compared() -> None:
    right_too = [reply_of(SECOND, place, QUESTIONS[place].references[0]) for place in (0, 2)]
    half = [reply_of(FIRST, place, "wrong" if place in (0, 2) else "whatever else") for place in (0, 1, 2)]
    first, second = table([*half, *right_too])
    assert (first.n, first.missing) == (3, 1)
    assert (second.n, second.missing) == (2, 2)
    difference = second.less_first["rouge_l_f1"].interval
    assert (difference.mean, difference.n) == (1, 2)


def test_published_replies_have_a_row_only_where_there_are_any() -> None:
    assert [row.system for row in table(RIGHT)] == [FIRST, SECOND]
    with_published = table([*RIGHT, reply_of(BASELINE, 0, "I keep the lamp.")])
    assert [row.system for row in with_published] == [FIRST, SECOND, BASELINE]
    assert (with_published[-1].n, with_published[-1].missing) == (1, 3)


def test_a_system_without_a_single_reply_has_a_row_without_figures() -> None:
    row = table(RIGHT)[1]
    told = row.to_json()
    assert (row.n, row.missing) == (0, 4)
    assert (told["rouge_l_f1"], told["ci95"], told["words"], told["distinct_2"]) == (None,) * 4


def test_questions_that_training_knows_are_told_apart() -> None:
    replies = [
        replace(one, overlap="asked of Ada in training" if place < 2 else "")
        for place, one in enumerate(RIGHT)
    ]
    replies[3] = reply_of(FIRST, 3, "never")
    (row,) = table(replies, FIRST)
    assert (row.n, row.n_clean) == (4, 2)
    assert (row.scores["rouge_l_f1"].mean, row.clean["rouge_l_f1"].mean) == (0.75, 0.5)
    (unknown,) = table(replies, FIRST, training_known=False)
    assert (unknown.n_clean, unknown.clean) == (None, {})
    (known,) = table([replace(one, overlap="known") for one in replies], FIRST)
    assert (known.n_clean, known.clean, known.to_json()["rouge_l_f1_clean"]) == (0, {}, None)


def test_the_json_of_a_row_is_flat_and_has_what_programs_look_for() -> None:
    costs = {"prompt_tokens": 10.0, "new_tokens": 4.0, "reply_tokens": 3.0, "cut": 0.0, "seconds": 0.5}
    (row,) = table([replace(one, costs=costs) for one in RIGHT], FIRST)
    told = row.to_json()
    assert list(told)[:5] == ["model", "strategy", "kind", "rouge_l_f1", "ci95"]
    expected: Mapping[str, Any] = {
        "model": "one",
        "strategy": "system",
        "kind": "role_specific",
        "rouge_l_f1": 1.0,
        "ci95": [1.0, 1.0],
        "paper": 1.0,
        "paper_ci95": [1.0, 1.0],
        "n": 4,
        "missing": 0,
        "roles": 2,
        "words": 3.5,
        "in_role": 1.0,
        "ai_talk": 0.0,
        "loops": 0.0,
        "empty": 0.0,
        "distinct_2": 1.0,
        "n_clean": 4,
        "rouge_l_f1_clean": 1.0,
        "judged": [],
        **costs,
    }
    assert {name: told[name] for name in expected} == expected


def test_one_role_is_too_few_for_an_interval() -> None:
    (row,) = table(RIGHT[:2], FIRST)
    assert row.to_json()["ci95"] is None


def test_rows_stand_kind_by_kind_in_the_order_of_the_systems() -> None:
    general = replace(
        RIGHT[0], answered=RIGHT[0].answered._replace(sample=replace(QUESTIONS[0], kind="general"))
    )
    asked: dict[Kind, int] = {"general": 1, "role_specific": 4}
    rows = rows_of([*RIGHT, general], (FIRST, SECOND), asked=asked, training_known=True)
    assert [(row.kind, row.system) for row in rows] == [
        ("general", FIRST),
        ("general", SECOND),
        ("role_specific", FIRST),
        ("role_specific", SECOND),
    ]


@examples(0.2)
@given(
    st.lists(
        st.tuples(st.sampled_from((0, 1)), st.integers(0, 3), st.text("ab lamp", max_size=12)),
        max_size=8,
        unique_by=lambda one: one[:2],
    )
)
def test_no_reply_is_lost_and_means_lie_within_their_intervals(
    said: Sequence[tuple[int, int, str]],
) -> None:
    replies = [reply_of((FIRST, SECOND)[place], question, text) for place, question, text in said]
    rows = table(replies, FIRST, SECOND)
    assert [row.system for row in rows] == [FIRST, SECOND]
    assert sum(row.n for row in rows) == len(said)
    for row in rows:
        assert row.n + row.missing == len(QUESTIONS)
        for interval in row.scores.values():
            assert 0 <= interval.mean <= 1
            if interval.low is not None and interval.high is not None:
                assert interval.low - 1e-9 <= interval.mean <= interval.high + 1e-9
    assert sum(role.n for role in role_scores(replies)) == len(said)


# Judges


def verdict(value: float | None, measure: str = "voice", **details: Any) -> Verdict:
    status = "scored" if value is not None else "unparsed"
    return Verdict(subject="x", measure=measure, value=value, status=status, model="m", details=details)  # type: ignore[arg-type]


def test_a_judges_verdicts_are_averaged_and_those_without_a_value_are_counted_not_zero() -> None:
    judged = [
        replace(one, verdicts={"rubric": [verdict(value), verdict(1.0, "safety")]})
        for one, value in zip(RIGHT, (4.0, 2.0, None, 3.0), strict=True)
    ]
    (row,) = table(judged, FIRST)
    voice, safety = (one.to_json() for one in row.judged)
    assert (voice["judge"], voice["measure"], voice["mean"], voice["n"]) == ("rubric", "voice", 3.0, 3)
    assert voice["unscored"] == {"unparsed": 1}
    assert voice["ci95"] == [3.0, 3.0]
    assert (voice["position"], voice["at_equal_length"]) == (None, None)
    assert (safety["mean"], safety["n"], safety["unscored"]) == (1.0, 4, {})


def test_when_no_verdict_has_a_value_there_is_no_mean() -> None:
    judged = [replace(one, verdicts={"rubric": [verdict(None)]}) for one in RIGHT]
    told = table(judged, FIRST)[0].judged[0].to_json()
    assert (told["mean"], told["ci95"], told["n"], told["unscored"]) == (None, None, 0, {"unparsed": 4})


def test_a_judge_of_pairs_tells_its_bias_and_the_rate_at_equal_length() -> None:
    preferred = [
        replace(
            reply_of(SECOND, place, QUESTIONS[place].references[0]),
            verdicts={"ranking": [verdict(value, "preference", orders=orders, consistent=True)]},
        )
        for place, (value, orders) in enumerate(
            ((1.0, [1, 1]), (1.0, [1, 1]), (0.5, [1, 0]), (0.0, [0, 0]))
        )
    ]
    told = table([*RIGHT, *preferred])[1].judged[0].to_json()
    assert (told["mean"], told["n"]) == (0.625, 4)
    assert told["position"] == {"n": 4, "first_preferred": 0.625, "consistent": 0.75}
    # All replies are as long as the others, so that length explains nothing.
    assert told["at_equal_length"] == pytest.approx(0.625, abs=0.01)


# Tables

OWN = {"model": "one", "win": None, "printed": False}


def test_the_papers_table_has_its_columns_and_leaves_open_what_nobody_knows() -> None:
    general = [
        replace(one, answered=one.answered._replace(sample=replace(one.answered.sample, kind="general")))
        for one in RIGHT[:2]
    ]
    asked: dict[Kind, int] = {"role_specific": 4, "general": 2}
    rows = rows_of([*RIGHT, *general], (FIRST, SECOND), asked=asked, training_known=True)
    laid_out = paper_rows(rows, raw={FIRST: 0.4})
    assert [row.to_json() for row in laid_out] == [
        {**OWN, "strategy": "system", "raw": 0.4, "cus": 1.0, "spe": 1.0, "avg": 0.8},
        {**OWN, "strategy": "retrieval", "raw": None, "cus": None, "spe": None, "avg": None},
    ]
    assert paper_markdown(laid_out) == (
        "| Model | Strategy | RAW | CUS | SPE | AVG | Win |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| one | system | 0.4000 | 1.0000 | 1.0000 | 0.8000 | – |\n"
        "| one | retrieval | – | – | – | – | – |\n"
    )


def test_the_printed_figures_are_those_of_the_paper() -> None:
    (*_, ours) = printed_rows("instruction-generalization", "en")
    assert ours.is_printed
    assert (ours.system.model, ours.win) == ("RoleLLaMA-7B, Table 3", 0.5582)
    # The averages are printed in the paper, too.
    averages = [
        (
            printed_rows("instruction-generalization", "en"),
            [0.4772, 0.1692, 0.0807, 0.2882, 0.2521, 0.3621],
        ),
        (printed_rows("instruction-generalization", "zh"), [0.4531, 0.4032, 0.1794, 0.4570]),
        (printed_rows("role-generalization", "en"), [0.4776, 0.1700, 0.2810, 0.2469, 0.3600]),
    ]
    for rows_of_table, means in averages:
        assert [row.cells.mean for row in rows_of_table] == pytest.approx(means, abs=0.00006)
    assert printed_rows("role-generalization", "zh") == []
    assert [row.win for row in printed_rows("prompting", "en")] == [0.093, 0.298, 0.633]


@examples(0.3)
@given(st.lists(st.lists(st.text(max_size=8), min_size=2, max_size=2), max_size=4))
def test_a_markdown_table_has_as_many_lines_and_cells_whatever_they_hold(rows: list[list[str]]) -> None:
    lines = markdown_table(("a|b", "c"), rows).split("\n")
    assert len(lines) == len(rows) + 3
    assert lines[-1] == ""
    for line in lines[:-1]:
        bare = line.replace("\\\\", "").replace("\\|", "")
        assert bare.count("|") == 3


def test_each_roles_scores_are_told() -> None:
    told = [one.to_json() for one in role_scores(RIGHT)]
    assert [(one["role"], one["n"], one["rouge_l_f1"], one["words"]) for one in told] == [
        ("Ada", 2, 1.0, 3.5),
        ("Ben", 2, 1.0, 3.5),
    ]


def test_a_line_of_the_scored_replies_holds_all_that_a_report_needs() -> None:
    one = replace(RIGHT[3], overlap="known", verdicts={"rubric": [verdict(2.0)]})
    told = one.to_json()
    assert told["references"] == ["Somebody must do it.", "Who else would?"]
    assert (told["model"], told["strategy"], told["role"], told["number"]) == ("one", "system", "Ben", 3)
    assert (told["question"], told["reply"], told["overlap"]) == ("Why?", "Somebody must do it.", "known")
    assert (told["rouge_l_f1"], told["words"], told["seconds"]) == (1.0, 4.0, None)
    assert told["verdicts"] == {
        "rubric": [{"measure": "voice", "value": 2.0, "status": "scored", "reason": ""}]
    }
