"""The judge that follows no instructions, on a model whose probabilities are known."""

import asyncio
import math
from collections.abc import Awaitable
from typing import TypeVar

import pytest
from helpers.scoring_model import WordScoringModel

from rolellm_agents.errors import ModelError
from rolellm_agents.judging import ConversationTurn, Judged
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_graphs.judge.likelihood import LikelihoodJudge

BEES = Persona(id="bees", name="Ada", description="Ada keeps bees and hives of honey.")
MILL = Persona(id="mill", name="Ben", description="Ben grinds corn in the windy mill.")
OWN = "Bees keeps honey hives."
STRANGE = "Corn grinds windy mill."
GAIN = math.log(0.5 / 0.1)

_T = TypeVar("_T")


def judged(reply: str, persona: Persona = BEES, key: str = "k") -> Judged:
    return Judged(
        key=key, persona=persona, turns=(ConversationTurn("user", "What do you do?"),), reply=reply
    )


def judge_with(model: WordScoringModel) -> LikelihoodJudge:
    return LikelihoodJudge(model, model_name="words")


def run(work: Awaitable[_T]) -> _T:
    async def inside() -> _T:
        return await work

    return asyncio.run(inside())


def test_a_reply_in_the_personas_words_gains_and_anothers_does_not() -> None:
    judge = judge_with(WordScoringModel())
    [own], [strange] = run(judge.judge(judged(OWN))), run(judge.judge(judged(STRANGE)))
    assert own.status == strange.status == "scored"
    assert own.value == pytest.approx(GAIN * 4 / 24)
    assert strange.value == pytest.approx(0)
    assert own.measure == "likelihood"
    assert own.details["tokens"] == 4
    assert "Ada" in own.reason


def test_words_that_have_nothing_to_do_with_the_persona_make_a_reply_worse() -> None:
    judge = judge_with(WordScoringModel())
    [bare], [padded] = run(judge.judge(judged(OWN))), run(judge.judge(judged(f"{OWN} {STRANGE}")))
    assert bare.value is not None
    assert padded.value is not None
    assert bare.value > padded.value > 0


def test_an_empty_reply_is_skipped_unasked() -> None:
    model = WordScoringModel()
    [verdict] = run(judge_with(model).judge(judged(" \n")))
    assert (verdict.status, verdict.value) == ("skipped", None)
    assert model.asked == []


def test_a_reply_that_cannot_be_scored_has_no_value_and_the_others_have() -> None:
    judge = judge_with(WordScoringModel(fails=lambda reply: "corn" in reply.lower()))

    async def both() -> list[str]:
        found = await asyncio.gather(judge.judge(judged(STRANGE)), judge.judge(judged(OWN)))
        return [verdict.status for verdicts in found for verdict in verdicts]

    assert run(both()) == ["model_error", "scored"]


def test_a_model_without_probabilities_is_refused_with_one_to_use() -> None:
    with pytest.raises(ModelError, match=r"openai:x gives no probabilities .*llamacpp:smollm2\.$"):
        LikelihoodJudge(ScriptedChatModel(), model_name="openai:x")


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [(OWN, STRANGE, 1.0), (STRANGE, OWN, 0.0), (OWN, OWN, 0.5), ("", OWN, 0.0)],
)
def test_of_two_replies_the_one_that_gains_more_is_better(first: str, second: str, value: float) -> None:
    verdict = run(judge_with(WordScoringModel()).compare(judged(first, key="a"), judged(second, key="b")))
    assert (verdict.subject, verdict.value, verdict.measure) == ("a", value, "likelihood")
    assert verdict.details["consistent"]


def test_two_replies_that_gain_the_same_are_a_tie() -> None:
    verdict = run(
        judge_with(WordScoringModel()).compare(judged("Bees keeps honey."), judged("Hives honey bees."))
    )
    assert verdict.value == 0.5


def test_of_two_replies_without_a_score_nothing_is_said() -> None:
    model = WordScoringModel(fails=lambda reply: "corn" in reply.lower())
    verdict = run(judge_with(model).compare(judged(OWN, key="a"), judged(STRANGE, key="b")))
    assert (verdict.subject, verdict.value, verdict.status) == ("a", None, "model_error")


def test_the_speaker_is_told_by_the_words_of_all_replies() -> None:
    replies = ["Nothing to say.", "Corn bees mill.", "Windy corn."]
    found = run(judge_with(WordScoringModel()).identify_speaker(replies, [BEES, MILL]))
    assert list(found) == ["bees", "mill"]
    assert found["mill"] > found["bees"] > 0


def test_what_a_prompt_does_for_anybodys_replies_is_taken_off() -> None:
    talker = Persona(id="talker", name="Cy", description="Cy says yes and no and maybe and so and well.")
    judge = judge_with(WordScoringModel())
    replies, usual = ["Yes and no, bees."], ["Yes and no.", "Well, so, no."]
    plain = run(judge.identify_speaker(replies, [talker, BEES]))
    fair = run(judge.identify_speaker(replies, [talker, BEES], background=usual))
    assert plain["talker"] > plain["bees"]
    assert fair["bees"] > fair["talker"]


def test_an_instruction_is_read_once_before_all_replies_that_follow_it() -> None:
    model = WordScoringModel(seconds=0.02)
    run(judge_with(model).evidence([f"Bees {number}." for number in range(6)], BEES))
    [instruction] = {told for told, _ in model.asked if "bees" in told}
    before = [
        answered
        for (told, _), answered in zip(model.asked, model.answered_before, strict=True)
        if told == instruction
    ]
    assert len(before) == 6
    assert before[0] == 0
    assert all(answered > 0 for answered in before[1:])


def test_nobodys_probabilities_are_computed_once_for_all_candidates() -> None:
    model = WordScoringModel()
    run(judge_with(model).identify_speaker(["Bees.", "Corn."], [BEES, MILL]))
    assert len(model.asked) == 6


def test_a_judge_can_be_used_in_one_event_loop_after_another() -> None:
    judge = judge_with(WordScoringModel())
    first = run(judge.judge(judged(OWN)))
    assert run(judge.judge(judged(OWN))) == first


def test_a_failed_first_reply_lets_the_others_go_on() -> None:
    judge = judge_with(WordScoringModel(fails=lambda reply: reply == "Bad."))

    async def several() -> list[str]:
        found = await asyncio.gather(*(judge.judge(judged(text)) for text in ("Bad.", "Bees.", "Corn.")))
        return [verdict.status for verdicts in found for verdict in verdicts]

    assert run(asyncio.wait_for(several(), 20)) == ["model_error", "scored", "scored"]


@pytest.mark.core
def test_the_embedded_model_knows_a_detective_from_an_ogre(small_model: ChatLlamaCpp) -> None:
    holmes, shrek = load_persona("sherlock-holmes"), load_persona("shrek")
    judge = LikelihoodJudge(small_model, model_name="llamacpp:smollm2")
    replies = ["You see, but you do not observe, my dear Watson.", "Irene Adler left Baker Street at nine."]
    found = run(judge.identify_speaker(replies, [shrek, holmes]))
    assert found["sherlock-holmes"] > found["shrek"]
    [own] = run(judge.judge(judged(replies[0], holmes)))
    [strange] = run(judge.judge(judged(replies[0], shrek)))
    assert own.value is not None
    assert strange.value is not None
    assert own.value > strange.value


def test_a_call_that_is_given_up_calls_no_score_off() -> None:
    model = WordScoringModel(seconds=1.0)

    async def given_up() -> None:
        work = asyncio.ensure_future(judge_with(model).judge(judged(OWN)))
        while len(model.asked) < 2:  # noqa: ASYNC110 - the model tells nobody that it was asked
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    run(asyncio.wait_for(given_up(), 20))
    assert model.given_up() == 0
