"""The judges that ask a model: what they ask, what they make of its words, and what its failures become."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableLambda
from pydantic import Field

from rolellm_agents.errors import ModelError
from rolellm_agents.judging import ConversationTurn, Judged, JudgingError, Verdict
from rolellm_agents.judging.flaws import DIMENSIONS, JudgedScene, JudgedSceneLine
from rolellm_agents.judging.pooling import agreement, members_of, pooled
from rolellm_agents.judging.ranking import EMPTY_RULE
from rolellm_agents.judging.rubrics import RUBRICS, RubricChoice, choose_rubrics
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Persona
from rolellm_graphs.judge.judges import (
    default_reply_judge,
    judge_config,
    judge_named,
    pair_judge_named,
    reply_judge_named,
)
from rolellm_graphs.judge.model import JudgingModel
from rolellm_graphs.judge.panel import PairPanel, ReplyPanel, ScenePanel
from rolellm_graphs.judge.ranking import RankingJudge
from rolellm_graphs.judge.rubric import RubricJudge
from rolellm_graphs.judge.scene import SceneJudge

ADA = Persona(id="ada", name="Ada", description="Ada keeps a lighthouse.")
VOICE = RubricChoice(("voice",))
FOUR = '{"reason": "It is hers.", "grade": 4}'


def reply(text: str = "By the lamp, no.", key: str = "k") -> Judged:
    return Judged(key=key, persona=ADA, turns=(ConversationTurn("user", "Cold?"),), reply=text)


def saying(*replies: str | Exception) -> JudgingModel:
    return JudgingModel(ScriptedChatModel(replies=[*replies], once=True), model_name="mine", at_once=1)


def picking(best: str) -> JudgingModel:
    """A judge that prefers the reply with a word in it, wherever it stands."""

    def answer(messages: Sequence[BaseMessage]) -> str:
        shown = messages[-1].text.split("Reply 1:")[1].split("Two things decide")[0].split("<<<")[1:]
        order = sorted(range(len(shown)), key=lambda place: best not in shown[place])
        return json.dumps({"reason": "Hers.", "best_first": " > ".join(str(one + 1) for one in order)})

    return JudgingModel(FunctionModel(function=answer), model_name="picker")


def scene(lines: int = 3) -> JudgedScene:
    return JudgedScene(
        key="tea",
        title="Tea",
        setting="A kitchen.",
        language="en",
        people={"Ada": "Keeps a lighthouse."},
        lines=tuple(JudgedSceneLine("Ada", f"Line {n}.") for n in range(lines)),
    )


class TakesForms(ScriptedChatModel):
    """Says that it takes forms, and keeps to them or not."""

    forms: list[Any] = Field(default_factory=list)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        self.forms.append(schema)
        return RunnableLambda(lambda messages: {"raw": AIMessage(self.invoke(messages).text)})


async def test_a_grade_with_its_reason_becomes_a_verdict() -> None:
    (verdict,) = await RubricJudge(saying(FOUR), VOICE).judge(reply())
    assert (verdict.subject, verdict.measure, verdict.value, verdict.status) == (
        "k",
        "voice",
        4.0,
        "scored",
    )
    assert (verdict.reason, verdict.model) == ("It is hers.", "mine")
    assert verdict.prompt == "judge-rubric/en@1, voice/en@1"
    assert verdict.details["tokens"]["written"] > 0


async def test_each_rubric_is_asked_for_itself() -> None:
    model = FunctionModel(function=lambda _: FOUR)
    verdicts = await RubricJudge(JudgingModel(model)).judge(reply())
    assert [one.measure for one in verdicts] == [*RUBRICS]
    assert len(model.calls) == len(RUBRICS) - 1, "the first reply has nothing to be consistent with"
    assert {one.measure for one in verdicts if one.status == "skipped"} == {"consistency"}


async def test_nonsense_is_unparsed_and_has_no_value() -> None:
    (verdict,) = await RubricJudge(saying("Who knows?"), VOICE).judge(reply())
    assert (verdict.value, verdict.status) == (None, "unparsed")
    assert "Who knows?" in verdict.reason


async def test_a_failure_of_the_model_is_in_the_verdict() -> None:
    (verdict,) = await RubricJudge(saying(ModelError("The model has gone.")), VOICE).judge(reply())
    assert (verdict.value, verdict.status, verdict.reason) == (None, "model_error", "The model has gone.")


async def test_a_model_that_cannot_be_had_is_an_error() -> None:
    class Absent(ScriptedChatModel):
        def load(self) -> object:
            raise ModelError("There is no such file.")

        def prefetch(self, messages: object) -> object:
            raise NotImplementedError

    with pytest.raises(ModelError, match="no such file"):
        await RubricJudge(JudgingModel(Absent()), VOICE).judge(reply())


async def test_a_defect_of_ours_is_not_taken_for_the_models() -> None:
    with pytest.raises(ZeroDivisionError):
        await RubricJudge(saying(ZeroDivisionError()), VOICE).judge(reply())


async def test_an_empty_reply_is_skipped_unasked() -> None:
    (verdict,) = await RubricJudge(saying(), VOICE).judge(reply(" "))
    assert (verdict.value, verdict.status) == (None, "skipped")


async def test_where_a_model_takes_forms_the_form_is_prescribed() -> None:
    model = TakesForms(replies=[FOUR])
    (verdict,) = await RubricJudge(JudgingModel(model), VOICE).judge(reply())
    assert verdict.value == 4
    assert [*model.forms[0]["properties"]] == ["reason", "grade"]
    assert model.forms[0]["properties"]["grade"]["enum"] == [1, 2, 3, 4, 5]


def test_a_judge_can_be_used_from_one_event_loop_after_another() -> None:
    judge = RubricJudge(JudgingModel(FunctionModel(function=lambda _: FOUR), at_once=1))
    for _ in range(2):
        verdicts = asyncio.run(judge.judge(reply()))
        assert [one.value for one in verdicts].count(4.0) == len(RUBRICS) - 1


async def test_the_better_reply_wins_from_either_place() -> None:
    judge = RankingJudge(picking("lamp"))
    won = await judge.compare(reply("By the lamp."), reply("No.", "other"))
    lost = await judge.compare(reply("No."), reply("By the lamp.", "other"))
    assert (won.value, won.details["orders"], won.details["consistent"]) == (1.0, [1.0, 1.0], True)
    assert (lost.value, lost.details["orders"], lost.details["consistent"]) == (0.0, [0.0, 0.0], True)
    assert (won.subject, won.prompt) == ("k", "judge-ranking/en@1")


async def test_orders_that_disagree_are_a_tie() -> None:
    first = '{"reason": "Hers.", "best_first": "1 > 2"}'
    verdict = await RankingJudge(saying(first, first)).compare(reply("A."), reply("B."))
    assert (verdict.value, verdict.details["orders"]) == (0.5, [1.0, 0.0])
    assert not verdict.details["consistent"]
    assert verdict.details["reasons"] == ["Hers.", "Hers."]


async def test_one_order_without_a_judgement_is_no_verdict() -> None:
    first = '{"reason": "Hers.", "best_first": "1 > 2"}'
    verdict = await RankingJudge(saying(first, "Hm.")).compare(reply("A."), reply("B."))
    assert (verdict.value, verdict.status, verdict.details["orders"]) == (None, "unparsed", [1.0, None])
    failed = await RankingJudge(saying(first, ModelError("Gone."))).compare(reply("A."), reply("B."))
    assert (failed.value, failed.status, failed.reason) == (None, "model_error", "Gone.")


async def test_an_empty_reply_loses_unasked() -> None:
    verdict = await RankingJudge(saying()).compare(reply(""), reply("B."))
    assert (verdict.value, verdict.model) == (0.0, EMPTY_RULE)


async def test_several_systems_are_ranked_and_empty_ones_come_last() -> None:
    judge = RankingJudge(picking("lamp"))
    texts = ("No.", "", "By the lamp.", " ")
    verdicts = await judge.rank([reply(text, f"k{place}") for place, text in enumerate(texts)])
    assert [one.subject for one in verdicts] == ["k0", "k1", "k2", "k3"]
    assert [one.value for one in verdicts] == pytest.approx([2 / 3, 1 / 6, 1.0, 1 / 6])
    assert sum(one.value or 0 for one in verdicts) == pytest.approx(2)
    alone = await judge.rank([reply("Lamp."), reply("", "other")])
    assert [one.value for one in alone] == [1.0, 0.0]
    nobody = await judge.rank([reply(""), reply("", "other")])
    assert [one.status for one in nobody] == ["skipped", "skipped"]
    with pytest.raises(ValueError, match="no rank"):
        await judge.rank([reply()])


async def test_a_scene_has_a_score_in_each_dimension_by_its_flaws() -> None:
    def answer(messages: Sequence[BaseMessage]) -> str:
        flaws = [
            {"flaw": "She is flat.", "line": 2, "severity": 4},
            {"flaw": "?", "line": 9, "severity": 1},
        ]
        return json.dumps({"flaws": flaws if "unfaithfulness" in messages[-1].text else []})

    judge = SceneJudge(JudgingModel(FunctionModel(function=answer)))
    by_measure = {one.measure: one for one in await judge.judge(scene())}
    assert [*by_measure] == [*DIMENSIONS]
    fidelity = by_measure["fidelity"]
    assert fidelity.value == pytest.approx(100 - 5 * (4 - 0.3 * 3))
    assert fidelity.details["flaws"] == [
        {"what": "She is flat.", "line": 2, "speaker": "Ada", "severity": 4}
    ]
    assert (fidelity.details["dropped"], fidelity.reason) == (1, "She is flat.")
    assert by_measure["anthropomorphism"].value == 100


async def test_a_long_scene_is_looked_through_in_parts_and_needs_all_of_them() -> None:
    model = FunctionModel(function=lambda _: '{"flaws": []}')
    assert all(one.value == 100 for one in await SceneJudge(JudgingModel(model)).judge(scene(90)))
    assert len(model.calls) == 3 * len(DIMENSIONS)

    def answer(messages: Sequence[BaseMessage]) -> str:
        return "Hm." if "lines 41 to 80" in messages[-1].text else '{"flaws": []}'

    broken = SceneJudge(JudgingModel(FunctionModel(function=answer)))
    assert {one.status for one in await broken.judge(scene(90))} == {"unparsed"}


async def test_a_scene_in_which_nobody_speaks_is_skipped() -> None:
    empty = JudgedScene(
        key="k",
        title="T",
        setting="",
        language="en",
        people={},
        lines=(JudgedSceneLine("", "Night falls."),),
    )
    assert {one.status for one in await SceneJudge(saying()).judge(empty)} == {"skipped"}


async def test_a_panel_pools_and_keeps_what_each_judge_said() -> None:
    grades = ['{"reason": "So.", "grade": 2}', FOUR, "Hm."]
    panel = ReplyPanel([RubricJudge(saying(one), VOICE) for one in grades])
    (verdict,) = await panel.judge(reply())
    assert (verdict.value, verdict.status, verdict.reason) == (3.0, "scored", "So. / It is hers.")
    assert verdict.model == "panel:mine+mine+mine"
    assert [one.value for one in members_of([verdict])] == [2.0, 4.0, None]
    assert panel.measures == ("voice",)


async def test_a_panel_of_pairs_takes_the_majority() -> None:
    judges = [RankingJudge(picking(word)) for word in ("lamp", "lamp", "No")]
    verdict = await PairPanel(judges).compare(reply("By the lamp."), reply("No.", "other"))
    assert (verdict.value, verdict.details["consistent"]) == (1.0, True)
    assert [one.value for one in members_of([verdict])] == [1.0, 1.0, 0.0]


async def test_a_panel_of_scenes_pools_scores() -> None:
    some = '{"flaws": [{"flaw": "She is flat.", "line": 1, "severity": 5}]}'
    judges = [
        SceneJudge(JudgingModel(FunctionModel(function=lambda _, one=one: one)))
        for one in ('{"flaws": []}', some)
    ]
    values = [one.value for one in await ScenePanel(judges).judge(scene())]
    assert values == pytest.approx([(100 + 100 - 5 * (5 - 0.9)) / 2] * 4)


def test_a_panel_without_judges_or_of_different_ones_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a judge"):
        ReplyPanel([])
    with pytest.raises(ValueError, match="needs a judge"):
        PairPanel([])
    with pytest.raises(ValueError, match="same measures"):
        ReplyPanel([RubricJudge(saying(), VOICE), RubricJudge(saying())])


def graded(model: str, subject: str, value: float | None) -> Verdict:
    status: Any = "unparsed" if value is None else "scored"
    return Verdict(subject=subject, measure="voice", value=value, status=status, model=model)


def test_judges_that_say_the_same_agree_wholly_and_opposite_ones_less_than_chance() -> None:
    same = [graded(model, f"k{n}", float(n)) for model in ("a", "b") for n in range(1, 6)]
    assert agreement(same)["voice"] == pytest.approx(1)
    turned = [graded("a", f"k{n}", float(n)) for n in range(1, 6)]
    turned += [graded("b", f"k{n}", 6.0 - n) for n in range(1, 6)]
    against = agreement(turned)["voice"]
    assert against is not None
    assert against < 0
    assert agreement([graded("a", "k", 3.0), graded("b", "k", None)])["voice"] is None


def test_pooling_counts_only_what_has_a_value() -> None:
    none = pooled([graded("a", "k", None), graded("b", "k", None)], "mean")
    assert (none.value, none.status) == (None, "unparsed")
    tied = pooled([graded("a", "k", 1.0), graded("b", "k", 0.0), graded("c", "k", None)], "majority")
    assert tied.value == 0.5


def test_judges_are_found_by_name() -> None:
    model = ScriptedChatModel()
    assert isinstance(judge_named("rubric", model, rubrics=VOICE), RubricJudge)
    assert isinstance(pair_judge_named("ranking", model), RankingJudge)
    with pytest.raises(ModelError, match="gives no probabilities"):
        reply_judge_named("likelihood", model)
    wrongs: list[Callable[[], object]] = [
        lambda: judge_named("rubrik", model),
        lambda: reply_judge_named("ranking", model),
        lambda: pair_judge_named("rubric", model),
    ]
    for wrong in wrongs:
        with pytest.raises(JudgingError):
            wrong()


def test_where_a_model_gives_probabilities_they_judge_unless_somebody_is_named(
    small_model: ChatLlamaCpp,
) -> None:
    assert default_reply_judge(small_model) == "likelihood"
    assert default_reply_judge(ScriptedChatModel()) == "rubric"


def test_a_runs_config_changes_with_what_verdicts_depend_on() -> None:
    models = [("mine", ScriptedChatModel())]
    config = judge_config("rubric", models, rubrics=VOICE)
    assert config == judge_config("rubric", models, rubrics=VOICE)
    assert config["prompts"] == ["judge-rubric/en@1", "judge-rubric/zh@1"]
    others = (
        judge_config("rubric", models, rubrics=choose_rubrics(["safety"])),
        judge_config("rubric", [("other", ScriptedChatModel())], rubrics=VOICE),
        judge_config("rubric", models, rubrics=VOICE, seed=1),
        judge_config("ranking", models),
    )
    assert all(other != config for other in others)


async def test_the_embedded_model_gives_valid_verdicts_by_grammar(small_model: ChatLlamaCpp) -> None:
    judging = JudgingModel(small_model, at_once=2)
    (grade,) = await RubricJudge(judging, VOICE).judge(reply())
    order = await RankingJudge(judging).compare(reply("By the lamp."), reply("I am an assistant."))
    assert (grade.status, grade.value in (1, 2, 3, 4, 5)) == ("scored", True)
    assert (order.status, order.value in (0.0, 0.5, 1.0)) == ("scored", True)
    assert grade.reason
