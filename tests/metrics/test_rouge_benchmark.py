"""The benchmark of scoring, beside Google's package where it is installed."""

import sys
from types import ModuleType
from typing import NamedTuple

import pytest

from rolellm_agents.metrics import MEASURES
from rolellm_speed.rouge import made_answers, measure_rouge

ROWS = ["rouge-1-f1", "rouge-2-f1", "rouge-l-f1", "all three"]


def test_answers_are_made_with_one_to_five_references_that_are_a_little_like_them() -> None:
    answers = made_answers(60)
    assert {len(answer.references) for answer in answers} == {1, 2, 3, 4, 5}
    assert answers == made_answers(60) != made_answers(60, seed=1)
    scores = [MEASURES["rouge-l-f1"](*answer) for answer in answers]
    assert 0.3 < min(scores) < max(scores) < 1


class Score(NamedTuple):
    """What the package gives."""

    fmeasure: float


def test_another_package_s_values_and_seconds_are_laid_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"rouge1": "rouge-1-f1", "rouge2": "rouge-2-f1", "rougeL": "rouge-l-f1"}

    class Scorer:
        """Scores as we do, but for ROUGE-2."""

        def __init__(self, kinds: list[str]) -> None:
            self.kinds = kinds

        def score_multi(self, references: list[str], reply: str) -> dict[str, Score]:
            return {
                kind: Score(MEASURES[names[kind]](reply, references, "en") + 0.25 * (kind == "rouge2"))
                for kind in self.kinds
            }

    package, module = ModuleType("rouge_score"), ModuleType("rouge_score.rouge_scorer")
    module.RougeScorer = Scorer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rouge_score", package)
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", module)
    rows = measure_rouge(made_answers(40), 10)
    assert [row["measure"] for row in rows] == ROWS
    assert [row["greatest_difference"] for row in rows] == [0, pytest.approx(0.25), 0, pytest.approx(0.25)]
    assert {row["replies"] for row in rows} == {40}


def test_without_the_other_package_only_our_seconds_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score", None)
    rows = measure_rouge(made_answers(20), 10)
    assert [(row["measure"], row["times_as_fast"]) for row in rows] == [(name, None) for name in ROWS]
    assert all(row["seconds"] >= 0 for row in rows)


def test_the_package_itself_gives_the_same_values() -> None:
    pytest.importorskip("rouge_score")
    rows = measure_rouge(made_answers(30), 30)
    assert all(row["greatest_difference"] < 1e-9 for row in rows)
