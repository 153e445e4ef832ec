"""Generated answers are compared with their lines, repaired once, and labelled if they are still wrong."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import rolellm
from helpers.samples import sample
from helpers.scoring_model import WordScoringModel

from rolellm_agents.datasets.sample import Sample
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.generation.samples import PASSAGE
from rolellm_agents.generation.support import read_support
from rolellm_agents.judging.rubrics import choose_rubrics
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_graphs.generate.answer_checks import (
    AnswerCheck,
    GainCheck,
    LinesCheck,
    RubricCheck,
    SupportCheck,
)
from rolellm_graphs.generate.run import GenerationOutcome
from rolellm_graphs.generate.verification import VerificationRequest, verify
from rolellm_graphs.judge.likelihood import LikelihoodJudge
from rolellm_graphs.judge.reply_scoring import ReplyScoring
from rolellm_graphs.runs.items import RunLimits

MIRA = Persona(id="mira", name="Mira", description="Mira keeps the lighthouse and counts ships.")
LINES = "I counted seven ships on the night of the storm. My brother rowed out to the last of them."
ASKED = "How many ships did you count?"


def verdict(name: str, reason: str = "The answer says so.") -> str:
    return json.dumps({"reason": reason, "verdict": name})


def answered(*answers: str, **extra: Any) -> Sample:
    return sample("Mira", ASKED, *answers, **{PASSAGE: LINES, **extra})


async def verified(
    folder: Path,
    model: ScriptedChatModel,
    *samples: Sample,
    checks: Sequence[AnswerCheck] = (SupportCheck(),),
    repair: bool = True,
    limits: RunLimits | None = None,
) -> GenerationOutcome:
    request = VerificationRequest(
        samples=samples,
        personas=dict.fromkeys(range(len(samples)), MIRA),
        checks=tuple(checks),
        repair=repair,
    )
    return await verify(
        request, model, model_name="scripted:", folder=folder, limits=limits or RunLimits(at_once=1)
    )


def rows(folder: Path, part: str = "samples") -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (folder / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


async def test_a_supported_answer_is_kept_with_its_check(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=[verdict("supported")])
    outcome = await verified(tmp_path, model, answered("Seven, sir."))
    assert outcome.complete
    [row] = rows(tmp_path)
    assert (row["generated"], row["labels"], row["checks"]) == (
        ["Seven, sir."],
        [],
        [{"support": "supported"}],
    )
    assert row[PASSAGE] == LINES
    asked = model.calls[0][0].text
    assert all(text in asked for text in (LINES, ASKED, "Seven, sir.", MIRA.description))
    assert rows(tmp_path, "left_out") == []


async def test_an_invented_answer_is_repaired_once(tmp_path: Path) -> None:
    model = ScriptedChatModel(
        replies=[verdict("invented", "No line has forty."), "Seven. I counted.", verdict("supported")]
    )
    await verified(tmp_path, model, answered("Forty, sir."))
    [row] = rows(tmp_path)
    assert (row["generated"], row["labels"]) == (["Seven. I counted."], ["repaired"])
    [item] = [json.loads(line)["value"] for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert item["original"] == "Forty, sir."
    assert item["found"][0]["value"] == "invented"
    roles = [message.type for message in model.calls[1]]
    assert roles == ["system", "human", "ai", "human"]
    assert "No line has forty." in model.calls[1][-1].text
    assert LINES in model.calls[1][-1].text
    assert item["tokens"]["read"] > 0


@pytest.mark.parametrize(
    ("replies", "asked"),
    [
        ([verdict("contradicted"), "Nine, I think.", verdict("invented")], 3),
        ([verdict("contradicted"), "As an AI language model, I cannot count."], 2),
        ([verdict("contradicted"), ""], 2),
    ],
)
async def test_an_answer_that_cannot_be_repaired_is_labelled_and_kept_aside(
    tmp_path: Path, replies: list[str], asked: int
) -> None:
    model = ScriptedChatModel(replies=replies)
    outcome = await verified(tmp_path, model, answered("Forty, sir."))
    assert rows(tmp_path) == []
    [row] = rows(tmp_path, "left_out")
    assert (row["generated"], row["labels"]) == (["Forty, sir."], ["unsupported"])
    assert len(model.calls) == asked
    assert outcome.written.labels == {"unsupported": 1}


async def test_without_repair_nothing_is_answered_again(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=[verdict("off-question")])
    await verified(tmp_path, model, answered("The sea is blue."), repair=False)
    [row] = rows(tmp_path, "left_out")
    assert (row["labels"], len(model.calls)) == (["off-question"], 1)


async def test_each_answer_is_checked_by_itself(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=[verdict("supported"), verdict("invented")])
    await verified(tmp_path, model, answered("Seven.", "Forty."), repair=False)
    assert [row["generated"] for row in rows(tmp_path)] == [["Seven."]]
    assert [row["generated"] for row in rows(tmp_path, "left_out")] == [["Forty."]]


async def test_an_answer_without_a_judgement_is_kept_and_says_so(tmp_path: Path) -> None:
    await verified(tmp_path, ScriptedChatModel(replies=["I would rather not."]), answered("Seven."))
    [row] = rows(tmp_path)
    assert (row["checks"], row["labels"]) == ([{"support": None}], ["unchecked"])


async def test_a_question_that_nobody_can_answer_has_no_lines_to_compare(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=["x"])
    await verified(tmp_path, model, answered("I cannot know.", labels=["boundary"]))
    assert (rows(tmp_path)[0]["labels"], model.calls) == (["boundary", "unchecked"], [])


async def test_rubrics_and_gains_are_checks_too(tmp_path: Path) -> None:
    grades = ScriptedChatModel(replies=['{"reason": "It is dull.", "grade": 2}'])
    judge = LikelihoodJudge(WordScoringModel(), model_name="words")
    checks = (RubricCheck(choose_rubrics(["voice"])), GainCheck(judge, model_name="words", least=0.01))
    await verified(tmp_path, grades, answered("Mira counts ships."), checks=checks, repair=False)
    [row] = rows(tmp_path, "left_out")
    assert row["labels"] == ["low-grade"]
    assert row["checks"][0]["voice"] == 2
    assert row["checks"][0]["gain"] > 0.01


async def test_lines_make_their_own_answer_likelier_for_the_embedded_model(tmp_path: Path) -> None:
    scoring = ReplyScoring(get_model("llamacpp:smollm2"), model_name="llamacpp:smollm2")
    check = LinesCheck(scoring, model_name="llamacpp:smollm2")
    model = ScriptedChatModel(replies=["x"])
    own = "Seven ships on the night of the storm, and my brother rowed out to the last."
    other = "The coal-scuttle is a curious thing, and I have never seen it before."
    await verified(tmp_path, model, answered(own, other), checks=[check], repair=False)
    assert [row["generated"] for row in rows(tmp_path)] == [[own]]
    assert [row["generated"] for row in rows(tmp_path, "left_out")] == [[other]]


async def test_a_stopped_run_goes_on_and_other_settings_are_another_run(tmp_path: Path) -> None:
    samples = [answered(f"Seven, and {number} more.") for number in range(4)]
    model = ScriptedChatModel(replies=[verdict("supported")])
    few = RunLimits(at_once=1, most_tokens=1_000)
    first = await verified(tmp_path, model, *samples, limits=few)
    assert (first.stopped, first.complete) == ("budget", False)
    before = len(model.calls)
    assert 0 < before < 4
    second = await verified(tmp_path, model, *samples)
    assert (second.complete, len(model.calls)) == (True, 4)
    with pytest.raises(RoleLLMError, match=r"repair"):
        await verified(tmp_path, model, *samples, repair=False)


async def test_rows_of_nobody_are_refused(tmp_path: Path) -> None:
    request = VerificationRequest(samples=(answered("x"),), personas={}, checks=(SupportCheck(),))
    with pytest.raises(RoleLLMError, match="None of the rows belongs to a persona"):
        await verify(request, ScriptedChatModel(replies=["x"]), model_name="x", folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (verdict("contradicted"), "contradicted"),
        ("Reason first. {'verdict': 'supported', 'reason': 'x'}", "supported"),
        ('{"verdict": "splendid"}', None),
        ("supported", None),
        ("", None),
    ],
)
def test_only_a_named_verdict_is_one(text: str, found: str | None) -> None:
    read = read_support(text)
    assert (read and read.verdict) == found


def test_the_command_verifies_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    row = {
        "role": "Shrek",
        "question": "Shrek, where do you live?",
        "generated": ["In a tree stump with a chimney, in my swamp."],
        "type": ["script_based"],
        "language": "en",
        PASSAGE: "Mud, reeds, and my house, which is a tree stump with a chimney in the swamp.",
    }
    other = {**row, "generated": ["The economy of the region relies on trade and on tourism."]}
    nobody = {**row, "role": "Nobody At All"}
    file.write_text("".join(f"{json.dumps(one)}\n" for one in (row, other, nobody)), encoding="utf-8")
    asked = ("data", "verify", str(file), "--no-repair", "--out", str(tmp_path / "run"))
    estimated = rolellm(*asked, "--dry-run")
    assert "2 items" in estimated.stdout, estimated.stderr
    done = rolellm(*asked, "--json")
    assert done.returncode == 0, done.stderr
    assert "not in the cast are left out: 1 (Nobody At All)" in done.stderr
    assert json.loads(done.stdout)["rows"] == {"samples": 1, "left_out": 1}
    assert rows(tmp_path / "run")[0]["generated"] == row["generated"]
    checked = rolellm("data", "stats", str(tmp_path / "run"))
    assert checked.returncode == 0, checked.stderr
