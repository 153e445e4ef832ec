"""People read answers and accept, edit or reject them; their reviews are applied to the data."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import rolellm
from helpers.samples import sample

from rolellm_agents.datasets import read_samples
from rolellm_agents.datasets.review import (
    Review,
    ReviewCounts,
    answer_key,
    answers_to_review,
    append_review,
    apply_reviews,
    read_reviews,
)
from rolellm_agents.errors import RoleBenchError

ROW = sample(
    "Ada", "Who keeps the lamp?", "I do.", "Nobody.", labels=["boundary", "copied"], passage="Lines."
)


def review(number: int, verdict: Any, text: str = "") -> Review:
    return Review(answer=answer_key(ROW, number), verdict=verdict, text=text, reviewer="bo")


def test_the_last_review_of_an_answer_counts_and_may_be_withdrawn(tmp_path: Path) -> None:
    file = tmp_path / "reviews.jsonl"
    assert read_reviews(file) == {}
    for one in (
        review(0, "reject"),
        review(1, "accept"),
        review(0, "edit", "I\u2028do."),
        review(1, "withdrawn"),
    ):
        append_review(file, one)
    assert [*read_reviews(file).values()] == [review(0, "edit", "I\u2028do.")]


def test_accepted_and_edited_answers_stay_and_rejected_ones_go() -> None:
    reviews = {one.answer: one for one in (review(0, "edit", "I keep it."), review(1, "reject"))}
    counts = ReviewCounts()
    other = sample("Ada", "Why?", "Because.")
    first, second = apply_reviews([ROW, other], reviews, counts, reviewed_only=False)
    assert first.references == ("I keep it.",)
    assert first.extra == {"labels": ["boundary"], "passage": "Lines.", "reviewed": ["bo"]}
    assert second == other
    assert (counts.by_verdict, counts.unreviewed) == ({"edit": 1, "reject": 1}, 1)
    assert [*apply_reviews([other], reviews, ReviewCounts(), reviewed_only=True)] == []
    rejected = {one.answer: one for one in (review(0, "reject"), review(1, "reject"))}
    assert [*apply_reviews([ROW], rejected, ReviewCounts(), reviewed_only=False)] == []


def test_an_answer_that_occurs_twice_is_read_once() -> None:
    assert [one.text for one in answers_to_review([ROW, ROW])] == ["I do.", "Nobody."]


@pytest.mark.parametrize(
    "row",
    [
        {"answer": "x", "verdict": "splendid", "reviewer": "bo"},
        {"answer": "x", "verdict": "edit", "reviewer": "bo"},
        {"answer": "x", "verdict": "accept", "reviewer": "bo", "text": "y"},
        {"answer": 3, "verdict": "accept", "reviewer": "bo"},
        [],
    ],
)
def test_a_line_that_is_no_review_is_named(tmp_path: Path, row: Any) -> None:
    file = tmp_path / "reviews.jsonl"
    file.write_text(f"\n{json.dumps(row)}\n", encoding="utf-8")
    with pytest.raises(RoleBenchError, match=r"reviews\.jsonl, line 2: .*; correct the line"):
        read_reviews(file)


def test_the_command_reads_edits_undoes_and_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    rows = [{"role": "Ada", "question": f"Lamp {one}?", "generated": [f"Answer {one}."]} for one in "abcd"]
    rows[3]["labels"] = ["unsupported"]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    first = rolellm("data", "look", str(file), stdin="a\nr\nu\ne\nAnswer edited.\nq\n")
    assert first.returncode == 0, first.stderr
    assert "2 of 4 read." in first.stdout
    second = rolellm("data", "look", str(file), "--label", "unsupported", stdin="r\n")
    assert "> Lamp d?" in second.stdout
    assert "> Lamp c?" not in second.stdout
    out = tmp_path / "reviewed.jsonl"
    written = rolellm("data", "look", str(file), "--out", str(out), "--json")
    assert json.loads(written.stdout) == {
        "out": str(out),
        "rows": 3,
        "accept": 1,
        "edit": 1,
        "reject": 1,
        "unreviewed": 1,
    }
    assert [one.references for one in read_samples(out)] == [
        ("Answer a.",),
        ("Answer edited.",),
        ("Answer c.",),
    ]
    refused = rolellm("data", "look", str(file), "--left-out")
    assert "needs the folder of a run" in refused.stderr
