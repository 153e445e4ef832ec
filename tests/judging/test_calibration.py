"""A judge's agreement with people, and the translation of its values to their scale."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import rolellm

from rolellm_agents.judging import JudgingError, Verdict
from rolellm_agents.judging.calibration import (
    PEOPLE,
    calibration_of,
    read_calibration,
    write_calibration,
)
from rolellm_agents.judging.checking import JudgeCheck, MeasureCheck
from rolellm_agents.judging.human_labels import HumanLabel
from rolellm_agents.judging.judge_comparison import judge_agreements
from rolellm_agents.judging.judged import ConversationTurn
from rolellm_agents.judging.label_agreement import agreement_on_preferences, agreement_on_scores, agreements
from rolellm_agents.judging.published_judges import published_judges
from rolellm_agents.reports import write_report
from rolellm_agents.reports.judge_agreement import agreement_report

CONFIG = {"judge": "rubric", "models": ["m"], "seed": 1, "prompts": ["p@1"], "rubrics": {"voice/en@1": "d"}}


def label(number: int, score: float, aspect: str = "voice", **values: Any) -> HumanLabel:
    return HumanLabel(
        key=f"label/{aspect}/{number}",
        persona=f"p{number % 6}",
        turns=(ConversationTurn("user", "Cold?"),),
        reply=f"Aye {number}.",
        other=values.pop("other", None),
        by_person={"Ana": score, "Ben": score},
        aspect=aspect,
        **values,
    )


LABELS = [label(number, 1.0 + number % 5) for number in range(30)]
VALUES = {one.key: one.value / 10 - 7 for one in LABELS}


def check(values: dict[str, float | None], labels: list[HumanLabel], judge: str = "rubric") -> JudgeCheck:
    measure = MeasureCheck(measure="voice", labels=agreements(labels, values))
    return JudgeCheck(judge=judge, model="m", measures=(measure,))


def test_values_on_another_scale_agree_with_people_after_translation() -> None:
    found = agreement_on_scores(LABELS, [*VALUES.values()])
    assert found.alpha is not None
    assert found.alpha.value == pytest.approx(1.0)
    assert found.scale is not None
    assert found.scale.error == pytest.approx(0.0)
    assert found.scale.mean_error == pytest.approx(1.2)
    assert found.scale.curve(-6.75) == pytest.approx(2.5)


def test_a_judge_that_tells_nothing_of_people_is_no_better_than_their_mean() -> None:
    found = agreement_on_scores(LABELS, [float(number * 7 % 6) for number in range(30)])
    assert found.scale is not None
    assert found.scale.error >= 0.9 * found.scale.mean_error
    assert found.alpha is not None
    assert found.alpha.value is not None
    assert found.alpha.value < 0.3


@pytest.mark.parametrize("values", [[None] * 30, [1.0] * 30, [*VALUES.values()][:9] + [None] * 21])
def test_too_few_values_have_no_scale(values: list[float | None]) -> None:
    found = agreement_on_scores(LABELS, values)
    assert (found.scale, found.alpha) == (None, None)


def test_preferences_have_alpha_too() -> None:
    pairs = [label(number, float(number % 2), other="No.") for number in range(12)]
    found = agreement_on_preferences(pairs, [one.value for one in pairs])
    assert found.alpha is not None
    assert found.alpha.value == pytest.approx(1.0)


def test_a_calibration_is_kept_and_translates_verdicts(tmp_path: Path) -> None:
    file = tmp_path / "calibration.json"
    write_calibration(calibration_of([check({**VALUES}, LABELS)], [CONFIG], "people.csv"), file)
    judge = read_calibration(file).of_judge({**CONFIG, "seed": 2})
    verdict = Verdict(subject="x", measure="voice", value=-6.8, status="scored", model="m")
    assert judge.translated(verdict).details[PEOPLE]["voice"] == pytest.approx(2.0)
    for other in (
        Verdict(subject="x", measure="safety", value=-6.8, status="scored", model="m"),
        Verdict(subject="x", measure="voice", value=None, status="unparsed", model="m"),
    ):
        assert judge.translated(other) == other


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"models": ["n"]}, "rubric with m differs in models"),
        ({"prompts": ["p@2"]}, "differs in prompts"),
        ({"rubrics": {"voice/en@2": "e"}}, "differs in rubrics"),
    ],
)
def test_another_judge_has_no_calibration(change: dict[str, Any], what: str) -> None:
    calibration = calibration_of([check({**VALUES}, LABELS)], [CONFIG], "people.csv")
    with pytest.raises(JudgingError, match=what):
        calibration.of_judge({**CONFIG, **change})


def test_a_judge_may_use_fewer_of_its_rubrics() -> None:
    several = {**CONFIG, "rubrics": {"voice/en@1": "d", "safety/en@1": "s"}}
    calibration = calibration_of([check({**VALUES}, LABELS)], [several], "people.csv")
    assert calibration.of_judge(CONFIG).aspects[0].aspect == "voice"


def test_a_judge_without_agreement_is_not_calibrated() -> None:
    against = {key: -value for key, value in VALUES.items()}
    with pytest.raises(JudgingError, match="Nothing can be calibrated"):
        calibration_of([check({**against}, LABELS)], [CONFIG], "people.csv")


@pytest.mark.parametrize("text", ["", "{}", '{"version": 1, "labels": "x", "judges": [{"settings": {}}]}'])
def test_what_is_no_calibration_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "calibration.json").write_text(text, encoding="utf-8")
    with pytest.raises(JudgingError, match="is not a calibration"):
        read_calibration(tmp_path / "calibration.json")


def test_the_strongest_judge_of_each_aspect_comes_first_and_the_page_says_so(tmp_path: Path) -> None:
    published = [
        label(number, 1.0 + number % 5, by_judge={"gpt-4": float(number % 2)}) for number in range(30)
    ]
    other = [label(number, float(number % 3), "memory") for number in range(30)]
    labels = [*published, *other]
    values: dict[str, float | None] = {one.key: float(number * 7 % 5) for number, one in enumerate(other)}
    judges = [check({**VALUES, **values}, labels), *published_judges(labels)]
    memory, voice = judge_agreements(judges)
    assert [(one.name, one.agreement.strength) for one in voice] == [
        ("rubric", "strong"),
        ("published", "none shown"),
    ]
    assert [one.judge.model for one in memory] == ["m"]
    written = write_report(agreement_report(judges, labels, "people.csv"), tmp_path / "trust.html")
    told = written.markdown.read_text(encoding="utf-8")
    assert "| voice | rubric | m | 1.000 [1.000 to 1.000] | 1.000 | strong |" in told
    assert "| memory | no judge | – | – | 1.000 | none shown |" in told
    assert "gpt-4" in written.page.read_text(encoding="utf-8")


def test_the_commands_check_calibrate_and_judge(tmp_path: Path) -> None:
    rows = [
        {
            "persona": persona,
            "question": "Is it cold?",
            "reply": reply,
            "score": score,
            "aspect": "voice",
            "judges": {"theirs": score},
        }
        for persona in ("shrek", "thor", "john-keating")
        for reply, score in (
            ("As an AI language model, I do not feel the cold or the heat.", 1),
            ("The weather is a set of conditions of the atmosphere.", 1.5),
            ("It is quite cold today, thank you for asking me that.", 2),
            (
                {
                    "shrek": "Get out of my swamp, Donkey, before ye freeze, ye daft beast!",
                    "thor": "Cold? I am the son of Odin! I have fought frost giants with Mjolnir!",
                    "john-keating": "Cold, gentlemen? Gather ye rosebuds while ye may! Carpe diem, lads!",
                }[persona],
                5,
            ),
        )
    ]
    labels, page, kept = (tmp_path / name for name in ("people.jsonl", "trust.html", "calibration.json"))
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = rolellm(
        *("judge", "check", "--labels", str(labels), "--limit", "0", "--out", str(tmp_path / "run")),
        *("--judge", "likelihood=llamacpp:smollm2", "--judge", "likelihood=llamacpp:rolesmol"),
        *("--report", str(page), "--calibration", str(kept)),
    )
    assert done.returncode == 0, done.stderr
    assert "theirs" in done.stdout
    assert sorted(one.name for one in (tmp_path / "run").iterdir()) == ["1-likelihood", "2-likelihood"]
    assert "llamacpp:rolesmol" in page.read_text(encoding="utf-8")
    chat = tmp_path / "chat.jsonl"
    turns = [
        {"chat_metadata": {}, "user_name": "You", "character_name": "Shrek"},
        {"name": "You", "is_user": True, "mes": "Is it cold?"},
        {"name": "Shrek", "is_user": False, "mes": "Get out of my swamp!"},
    ]
    chat.write_text("".join(json.dumps(turn) + "\n" for turn in turns), encoding="utf-8")
    ask = ("judge", "chat", str(chat), "--persona", "shrek", "--calibration", str(kept))
    judged = rolellm(*ask, "-m", "llamacpp:smollm2", "--out", str(tmp_path / "chat"))
    assert judged.returncode == 0, judged.stderr
    assert "PEOPLE" in judged.stdout
    assert "voice " in judged.stdout
