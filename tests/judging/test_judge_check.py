"""A judge is run on planted faults and labels, and what is told of it is right."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import rolellm
from helpers.scoring_model import WordScoringModel

from rolellm_agents.errors import PersonaError
from rolellm_agents.judging import Judged, Verdict
from rolellm_agents.judging.checking import ALL
from rolellm_agents.judging.faults import Fault, bundled_faults, some_of_each_kind
from rolellm_agents.judging.human_labels import HumanLabel
from rolellm_agents.judging.judged import ConversationTurn
from rolellm_agents.persona import load_persona
from rolellm_graphs.judge.check import check_pair_judge, check_reply_judge
from rolellm_graphs.judge.likelihood import LikelihoodJudge


def fault(kind: str, clean: str, faulty: str, persona: str = "shrek") -> Fault:
    return Fault(
        key=f"{kind}/{persona}/{clean}",
        kind=kind,
        persona=persona,
        question="Cold?",
        clean=clean,
        faulty=faulty,
    )


def label(key: str, reply: str, value: float, other: str | None = None) -> HumanLabel:
    return HumanLabel(
        key=key,
        persona="shrek",
        turns=(ConversationTurn("user", "Cold?"),),
        reply=reply,
        other=other,
        by_person={"Ana": value},
    )


def verdict(judged: Judged, measure: str, value: float | None, **details: Any) -> Verdict:
    status: Any = "unparsed" if value is None else "scored"
    return Verdict(
        subject=judged.key, measure=measure, value=value, status=status, model="m", details=details
    )


class ByLength:
    """Thinks that long replies are good ones, in one measure, and says nothing in the other one."""

    measures = ("length", "silence")

    def __init__(self) -> None:
        self.judged: list[str] = []

    async def judge(self, judged: Judged) -> list[Verdict]:
        self.judged.append(judged.key)
        return [verdict(judged, "length", float(len(judged.reply))), verdict(judged, "silence", None)]


class FirstIsBest:
    """Prefers what stands first, whatever it is."""

    measure = "preference"

    async def compare(self, first: Judged, second: Judged) -> Verdict:
        return verdict(first, self.measure, 0.5, orders=[1.0, 0.0], consistent=False)


FAULTS = (
    fault("padding", "Aye.", "Aye. A table has four legs."),
    fault("padding", "No.", "No. A table has four legs.", "thor"),
    fault("ai-talk", "Get out of my swamp, Donkey.", "I am an AI."),
    fault("name-swap", "Aye.", "Hey."),
)


def test_a_judge_of_lengths_falls_for_padding_and_is_told_of() -> None:
    judge = ByLength()
    length, silence = asyncio.run(check_reply_judge(judge, FAULTS))
    assert {kind: rate.value for kind, rate in length.detected.items()} == {
        "padding": 0.0,
        "ai-talk": 1.0,
        "name-swap": 0.5,
        ALL: 0.375,
    }
    assert length.length is not None
    assert length.length.value is not None
    assert length.length.value > 0.8
    assert (length.unscored, length.orders) == ({}, None)
    assert silence.detected[ALL].value is None
    assert silence.detected[ALL].unjudged == 4
    assert silence.unscored == {"unparsed": 7}


def test_a_clean_reply_of_several_faults_is_judged_once_and_personas_come_one_after_the_other() -> None:
    judge = ByLength()
    asyncio.run(check_reply_judge(judge, FAULTS, at_once=1))
    assert len(judge.judged) == len(set(judge.judged)) == 7
    personas = [next(word for word in ("shrek", "thor") if word in key) for key in judge.judged]
    assert personas == sorted(personas)


def test_a_judge_of_places_is_no_better_than_a_coin_and_is_told_of() -> None:
    [found] = asyncio.run(check_pair_judge(FirstIsBest(), FAULTS, [label("1", "Aye.", 1.0, "I am an AI.")]))
    assert found.detected[ALL].value == 0.5
    assert found.orders is not None
    assert (found.orders.first_preferred, found.orders.consistent) == (1.0, 0.0)
    [agreement] = found.labels
    assert agreement.agreement is not None
    assert (agreement.what, agreement.agreement.value) == ("preferences", 0.5)


def test_what_people_said_is_laid_beside_values_and_preferences() -> None:
    labels = [
        label("1", "Aye.", 1.0),
        label("2", "Aye, cold.", 2.0),
        label("3", "Aye, it is cold.", 3.0),
        label("4", "Aye, cold.", 1.0, "Aye."),
        label("5", "Aye.", 1.0, "Aye, cold."),
    ]
    length, _ = asyncio.run(check_reply_judge(ByLength(), [], labels))
    scores, preferences = length.labels
    assert scores.correlations["spearman"].value == pytest.approx(1.0)
    assert preferences.agreement is not None
    assert preferences.agreement.value == 0.5
    assert length.length is None


def test_each_aspect_is_measured_by_itself_in_its_conversation() -> None:
    turns = tuple(
        ConversationTurn(*one) for one in (("user", "Hi."), ("persona", "Aye."), ("user", "Who?"))
    )
    mira = load_persona("shrek").model_copy(update={"id": "mira", "name": "Mira"})
    given = [(1.0, "memory"), (2.0, "memory"), (2.0, "voice"), (1.0, "voice")]
    labels = [
        replace(label(str(number), "word " * number, by), turns=turns, described=mira, aspect=aspect)
        for number, (by, aspect) in enumerate(given)
    ]
    length, _ = asyncio.run(check_reply_judge(ByLength(), [], labels))
    assert [one.aspect for one in length.labels] == ["memory", "voice"]
    assert [round(one.correlations["spearman"].value or 0) for one in length.labels] == [1, -1]


def test_a_reply_that_was_labelled_in_two_aspects_is_judged_once() -> None:
    labels = [replace(label(aspect, "Aye.", 1.0), aspect=aspect) for aspect in ("voice", "memory")]
    judge = ByLength()
    length, _ = asyncio.run(check_reply_judge(judge, [], labels))
    assert len(judge.judged) == 1
    assert [(one.aspect, one.n) for one in length.labels] == [("memory", 1), ("voice", 1)]


def test_a_stopped_check_asks_nothing_twice(tmp_path: Path) -> None:
    config = {"judge": "length"}
    first = asyncio.run(check_reply_judge(ByLength(), FAULTS, folder=tmp_path / "run", config=config))
    again = ByLength()
    second = asyncio.run(check_reply_judge(again, FAULTS, folder=tmp_path / "run", config=config))
    assert second == first
    assert again.judged == []


def test_a_persona_that_is_not_there_is_named() -> None:
    with pytest.raises(PersonaError, match="nobody-at-all"):
        asyncio.run(check_reply_judge(ByLength(), [fault("x", "a", "b", "nobody-at-all")]))


def test_the_likelihood_judge_is_checked_like_any_other() -> None:
    some = some_of_each_kind(bundled_faults(), 1, seed=0)
    judge = LikelihoodJudge(WordScoringModel(), model_name="words")
    [found] = asyncio.run(check_reply_judge(judge, some))
    assert (found.measure, found.detected[ALL].n, found.unscored) == ("likelihood", len(some), {})


def test_the_command_tells_what_the_embedded_model_is_worth(tmp_path: Path) -> None:
    row = {"persona": "shrek", "question": "Is it cold?", "reply": "Get out of my swamp, Donkey."}
    faults, labels = tmp_path / "faults.jsonl", tmp_path / "labels.jsonl"
    planted = {
        "kind": "too-polite",
        "persona": "shrek",
        "question": "Who are you?",
        "clean": "I'm an ogre, and this is my swamp.",
        "faulty": "I would be delighted to assist you with your request today.",
    }
    faults.write_text(json.dumps(planted) + "\n", encoding="utf-8")
    labels.write_text(
        json.dumps({**row, "other": "As an AI, I cannot feel cold.", "preferred": "reply"}) + "\n",
        encoding="utf-8",
    )
    asked = (
        "judge",
        "check",
        "--faults",
        str(faults),
        "--labels",
        str(labels),
        "--out",
        str(tmp_path / "run"),
    )
    done = rolellm(*asked, "--json")
    assert done.returncode == 0, done.stderr
    [told] = json.loads(done.stdout)["judges"]
    assert (told["judge"], told["model"]) == ("likelihood", "llamacpp:rolesmol")
    [measure] = told["measures"]
    assert measure["detected"]["too-polite"]["value"] == 1.0
    assert measure["labels"][0]["strength"] == "unknown"
    assert measure["labels"][0]["agreement"]["value"] == 1.0
    again = rolellm(*asked)
    assert again.returncode == 0, again.stderr
    assert "too-polite" in again.stdout
    assert "Agreement with people: preferences" in again.stdout
    assert "1.00" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--limit", "0"), "nothing to judge"),
        (("--judge", "likelyhood"), "There is no judge 'likelyhood'"),
        (("--faults", "nowhere.jsonl"), "There is no file nowhere.jsonl"),
        (("--model", "scripted:x"), "gives no probabilities"),
        (("--judge", "likelihood=nobody:x"), "nobody"),
        (("--rubric", "voice", "--judge", "likelihood"), "it needs --judge rubric"),
        (("--report", "trust.html"), "it needs --labels"),
        (("--calibration", "calibration.json"), "it needs --labels"),
    ],
)
def test_what_cannot_be_checked_is_told_in_one_sentence(arguments: tuple[str, ...], what: str) -> None:
    done = rolellm("judge", "check", *arguments)
    assert done.returncode == 2
    assert what in done.stderr
