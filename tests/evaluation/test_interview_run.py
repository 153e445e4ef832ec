"""Interviews from the first question to the report, with scripted models."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.chromium import measured_page
from helpers.here import rolellm_here
from helpers.scoring_model import WordScoringModel
from helpers.small_rolebench import ADA, BEN, write_cast
from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents.errors import ModelError, RoleLLMError, SettingsError, StorageError
from rolellm_agents.evaluation.drift.results import DriftResult
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.plugins import qualified_name
from rolellm_agents.reports import report_of, write_report
from rolellm_agents.reports.reading import read_run
from rolellm_graphs.evaluate.drift import DriftRequest, run_drift
from rolellm_graphs.evaluate.rolebench import NamedJudge, SystemUnderTest
from rolellm_graphs.judge.likelihood import LikelihoodJudge
from rolellm_graphs.runs.items import RunLimits


@pytest.fixture(autouse=True)
def cast(home: Path) -> None:
    write_cast(ADA, BEN)


def request(**options: Any) -> DriftRequest:
    people = tuple(map(load_persona, ("ada", "ben")))
    return DriftRequest(**{"personas": people, "turns": 6, "interviews": 2, **options})


def answer(messages: Sequence[BaseMessage]) -> str:
    """Something else each time, by how often it was asked."""
    asked = sum(isinstance(one, HumanMessage) for one in messages)
    return f"Answer number {asked}: I keep what I keep."


async def hold(
    request: DriftRequest,
    folder: Path,
    model: FunctionModel | None = None,
    judge: NamedJudge | None = None,
) -> DriftResult:
    system = SystemUnderTest("model", model or FunctionModel(function=answer))
    return await run_drift(request, [system], folder=folder, judge=judge, limits=RunLimits(at_once=3))


def likelihood(**options: Any) -> NamedJudge:
    return NamedJudge(
        "likelihood",
        LikelihoodJudge(WordScoringModel(**options), model_name="words"),
        {"judge": "likelihood"},
    )


async def test_each_persona_has_its_interviews_and_hears_all_that_was_said(tmp_path: Path) -> None:
    model = FunctionModel(function=answer)
    result = await hold(request(), tmp_path, model)
    assert [(one.persona.id, one.nth, len(one.answers)) for one in result.interviews] == [
        ("ada", 0, 6),
        ("ada", 1, 6),
        ("ben", 0, 6),
        ("ben", 1, 6),
    ]
    for one in result.interviews:
        assert [said.reply.split(":")[0] for said in one.answers] == [
            f"Answer number {turn}" for turn in range(1, 7)
        ]
    longest = max(model.calls, key=len)
    assert [message.text for message in longest if message.text.startswith("Answer number")] == [
        f"Answer number {turn}: I keep what I keep." for turn in range(1, 6)
    ]
    assert (result.complete, (tmp_path / "manifest.json").is_file()) == (True, True)


async def test_what_broke_off_is_told_and_held_again_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    def tired(messages: Sequence[BaseMessage]) -> str:
        if "Ben" in messages[0].text and len(messages) > 4:
            raise ModelError("The model is asleep; wake it.")
        return answer(messages)

    first = await hold(request(), tmp_path, FunctionModel(function=tired))
    assert (first.complete, first.failed, len(first.interviews)) == (False, 2, 2)
    assert "asleep" in first.first_failure
    model = FunctionModel(function=answer)
    second = await hold(request(), tmp_path, model)
    assert (second.complete, len(model.calls)) == (True, 12)
    whole = await hold(request(), tmp_path / "whole")
    assert second.to_json() == whole.to_json()


async def test_another_config_is_refused_with_what_differs(tmp_path: Path) -> None:
    await hold(request(), tmp_path)
    with pytest.raises(StorageError, match="another turns"):
        await hold(request(turns=7), tmp_path)


@pytest.mark.parametrize(
    ("options", "told"),
    [({"personas": ()}, "No persona is named"), ({"strategy": "telepathy"}, "telepathy")],
)
async def test_what_cannot_be_is_refused_before_anything_is_asked(
    tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    model = FunctionModel(function=answer)
    with pytest.raises(RoleLLMError, match=told):
        await hold(request(**options), tmp_path / "run", model)
    assert (model.calls, (tmp_path / "run").exists()) == ([], False)


async def test_the_likelihood_judge_reads_each_answer_after_its_question_alone(tmp_path: Path) -> None:
    result = await hold(request(), tmp_path, judge=likelihood())
    verdicts = [one for interview in result.interviews for one in interview.verdicts.values()]
    assert len(verdicts) == 4 * 6
    (system,) = result.to_json()["systems"]
    gains = [one for one in system["turns"] if one["measure"] == "likelihood"]
    assert [one["turn"] for one in gains] == [1, 2, 3, 4, 5, 6]
    # The answers differ in a number alone, so what was said before must not matter.
    assert len({one["mean"] for one in gains}) == 1
    assert (system["interviews"], system["personas"], system["unscored"]) == (4, 2, {})


async def test_answers_without_a_verdict_are_counted_and_never_zero(tmp_path: Path) -> None:
    result = await hold(
        request(), tmp_path, judge=likelihood(fails=lambda reply: reply.startswith("Answer number 3"))
    )
    (system,) = result.to_json()["systems"]
    assert system["unscored"] == {"model_error": 4}
    gains = [one["turn"] for one in system["turns"] if one["measure"] == "likelihood"]
    assert gains == [1, 2, 4, 5, 6]


async def test_a_judge_of_pairs_is_refused(tmp_path: Path) -> None:
    class Pairs:
        measure = "preference"

    judge: Any = Pairs()
    with pytest.raises(SettingsError, match="compares replies"):
        await hold(request(), tmp_path, judge=NamedJudge("ranking", judge, {}))


async def test_a_model_asks_on_by_what_it_hears(tmp_path: Path) -> None:
    asker = FunctionModel(function=lambda messages: f"You said: {messages[-1].text[:16]} Why?")
    asks = request(interviewer=SystemUnderTest("asker", asker), turns=3, interviews=1)
    result = await hold(asks, tmp_path)
    first, second, third = result.interviews[0].answers
    assert first.question.startswith("Good day to you")
    assert second.question == "You said: Answer number 1: Why?"
    assert third.question == "You said: Answer number 2: Why?"
    assert result.config["interviewer"] == "asker"


@pytest.mark.core
async def test_the_report_shows_turns_slopes_and_what_was_said(tmp_path: Path) -> None:
    await hold(request(), tmp_path / "run", judge=likelihood())
    written = write_report(report_of([read_run(tmp_path / "run")]), tmp_path / "report")
    text = written.page.read_text(encoding="utf-8")
    assert "Likelihood gain of the persona" in text
    assert "Answer number 4: I keep what I keep." in text
    assert text.count("nats a token l") == 4 * 6
    found, complaints = measured_page(written.page, 400, tmp_path, opened=True)
    assert (complaints, found["needed"] <= found["width"]) == ([], True)


def test_the_command_shows_a_row_for_each_turn_and_the_slopes(tmp_path: Path) -> None:
    model = "scripted:I keep the bees."
    options = ("--persona", "ada", "--interviews", "2", "--turns", "4", "--out", str(tmp_path))
    done = rolellm_here("eval", "drift", "-m", model, *options)
    assert done.returncode == 0, done.stderr
    assert "replies are not judged" in done.stderr
    title, head, *rows = done.stdout.splitlines()
    assert title == f"{model} · system: 2 conversations with 1 persona"
    assert head.split()[:3] == ["TURN", "STYLE", "DISTANCE"]
    assert [row.split()[0] for row in rows[:5]] == ["1", "2", "3", "4", "slope"]
    told = json.loads(rolellm_here("eval", "drift", "-m", model, *options, "--json").stdout)
    repeats = [one["mean"] for one in told["systems"][0]["turns"] if one["measure"] == "repeats_earlier"]
    assert repeats == [1, 1, 1]


async def test_a_strategy_of_a_users_is_an_object_and_recorded_by_where_it_is(tmp_path: Path) -> None:
    def bare(
        _persona: Persona, history: Sequence[BaseMessage], _recalled: Any, user: str
    ) -> list[BaseMessage]:
        return [*history, HumanMessage(user)]

    model = FunctionModel(function=answer)
    result = await hold(request(strategy=bare, turns=2, interviews=1), tmp_path, model)
    assert {one.strategy for one in result.interviews} == {qualified_name(bare)}
    assert result.config["strategy"] == qualified_name(bare)
    assert all(isinstance(prompt[0], HumanMessage) for prompt in model.calls)
