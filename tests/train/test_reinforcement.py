"""Learning from the rewards of sampled answers, through TRL."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.small_rolebench import ADA, BEN, SPECIFIC, samples_of, write_cast, write_data
from helpers.tiny_gguf import make_tiny_gguf

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.judging import ConversationTurn, Judged, Verdict
from rolellm_agents.persona import Persona, list_personas
from rolellm_train.data.material import gather
from rolellm_train.data.rows import Prompts
from rolellm_train.recipe import Recipe, load_recipe, with_settings
from rolellm_train.training import rewards
from rolellm_train.training.loading import open_base
from rolellm_train.training.reinforcement import questions_of, train
from rolellm_train.training.rewards import (
    few_detections,
    judge_reward,
    rewards_of,
    similarity_to_references,
)
from rolellm_train.training.trainer import last_complete_checkpoint
from rolellm_train.training.tuning import ADAPTER, CHECKPOINTS

pytest.importorskip("trl")


@pytest.fixture
def cast() -> list[Persona]:
    write_cast(ADA, BEN)
    return [found.persona for found in list_personas().found if found.origin == "user"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_data(tmp_path / "data", [], samples_of(SPECIFIC))
    return tmp_path / "data"


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    return Recipe(
        id="tiny",
        about="",
        base=str(make_tiny_gguf(tmp_path / "tiny.gguf", seed=3)),
        objective="grpo",
        rewards={"letters": 1.0},
        samples=16,
        questions_per_step=2,
        longest_answer=8,
        general=0,
        cast=0,
        rank=8,
        learning_rate=0.1,
        warmup=0,
        epochs=8,
        longest=1200,
        held_out_questions=1,
    )


def judged(reply: str, persona: Persona, *references: str) -> Judged:
    turns = (ConversationTurn("user", "Who are you?"),)
    return Judged(key=reply, persona=persona, turns=turns, reply=reply, references=references)


async def test_similar_answers_have_the_higher_reward_and_answers_without_references_none(
    cast: list[Persona],
) -> None:
    ada = cast[0]
    answers = [
        judged("the lamp burns", ada, "the lamp burns"),
        judged("a red door", ada, "the lamp burns", "a red lamp"),
        judged("anything", ada),
    ]
    assert await similarity_to_references(answers) == [1.0, pytest.approx(2 / 3), None]


async def test_each_fault_costs(cast: list[Persona]) -> None:
    ada = cast[0]
    clean, faulty = await few_detections(
        [judged("I keep the lamp.", ada), judged("As an AI language model, I cannot say.", ada)]
    )
    assert clean == 0
    assert faulty is not None
    assert faulty < 0


class Halves:
    """A judge with two measures, one of which fails for answers that begin with a question mark."""

    measures = ("voice", "facts")

    async def judge(self, judged: Judged) -> list[Verdict]:
        failed = Verdict(subject=judged.key, measure="facts", value=None, status="unparsed", model="m")
        if judged.reply == "?":
            return [failed]
        voice = Verdict(subject=judged.key, measure="voice", value=4.0, status="scored", model="m")
        return [voice, failed]


async def test_a_judges_reward_is_the_mean_of_what_it_could_judge(cast: list[Persona]) -> None:
    reward = judge_reward(Halves())
    assert await reward([judged("yes", cast[0]), judged("?", cast[0])]) == [4.0, None]


def test_a_recipe_without_rewards_and_a_judge_without_a_model_are_told() -> None:
    recipe = load_recipe("grpo")
    assert set(rewards_of(recipe)) == {"references", "detections"}
    with pytest.raises(RoleLLMError, match=r"has no rewards; set some, such as --set 'rewards="):
        rewards_of(recipe.model_copy(update={"rewards": {}}))
    with pytest.raises(RoleLLMError, match=r"'rubric' is a judge.*--set judge_model=SPEC"):
        rewards_of(with_settings(recipe, ["rewards={rubric: 1}"]))
    with pytest.raises(RoleLLMError, match=r"There is no judge 'rubrik'"):
        rewards_of(with_settings(recipe, ["rewards={rubrik: 1}", "judge_model=scripted:Yes."]))
    assert set(rewards_of(with_settings(recipe, ["rewards={rubric: 1}", "judge_model=scripted:Yes."]))) == {
        "rubric"
    }


async def few_letters(answers: list[Judged]) -> list[float | None]:
    """A reward that a random model can learn: answers without the letter that is most frequent at first."""
    return [-sum(map(str.isalpha, one.reply)) / (len(one.reply) or 1) for one in answers]


@pytest.mark.timeout(600)
def test_what_is_rewarded_becomes_likelier_and_the_run_records_how(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewards, "few_detections", few_letters)
    chosen = recipe.model_copy(update={"rewards": {"detections": 1.0}})
    seen: list[Mapping[str, float]] = []
    done = train(
        chosen, [data], cast, tmp_path / "run", on_step=lambda _s, _n, figures: seen.append(figures)
    )
    assert any("rewards/detections/mean" in figures for figures in seen)
    course = done.figures["reward_course"]
    assert course[-1] > course[0] + 0.05
    assert (tmp_path / "run" / ADAPTER / "adapter_model.safetensors").is_file()
    config = json.loads((tmp_path / "run/config.json").read_text())["config"]
    assert config["trainer"] == "grpo"


def test_a_stopped_run_goes_on_from_its_checkpoint(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    chosen = recipe.model_copy(update={"rewards": {"references": 1.0}, "samples": 4, "epochs": 2})
    steps: list[int] = []

    def stop(step: int, total: int, figures: Mapping[str, float]) -> None:
        steps.append(step)
        if step == total // 2 + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(chosen, [data], cast, tmp_path / "run", on_step=stop)
    kept = last_complete_checkpoint(tmp_path / "run" / CHECKPOINTS)
    assert kept is not None
    last, stopped = int(kept.name.rpartition("-")[2]), steps[-1]
    again: list[int] = []
    train(chosen, [data], cast, tmp_path / "run", on_step=lambda step, _n, _f: again.append(step))
    assert last < again[0] <= stopped + 1
    assert (tmp_path / "run" / ADAPTER / "adapter_model.safetensors").is_file()


def test_a_step_with_more_questions_than_there_are_is_told(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    chosen = recipe.model_copy(update={"rewards": {"references": 1.0}, "questions_per_step": 500})
    with pytest.raises(RoleLLMError, match=r"A step has 500 questions.*set “questions_per_step: \d+”"):
        train(chosen, [data], cast, tmp_path / "run")


def test_the_same_tokens_are_learned_as_run(recipe: Recipe, data: Path, cast: list[Persona]) -> None:
    chosen = recipe.model_copy(update={"base": "llamacpp:smollm2"})
    base = open_base(chosen)
    rows = gather(chosen, [data], cast).learned
    found, too_long = questions_of(rows, base, chosen)
    assert (len(found), too_long) == (len({(row.persona.id, row.question) for row in rows}), 0)
    for question in found:
        ids = base.encoder.prompt(Prompts().of(question.row))
        assert base.tokenizer(question.prompt)["input_ids"] == ids
    with pytest.raises(RoleLLMError, match=r"All \d+ prompts with answers of 8 tokens are longer than 40"):
        questions_of(rows, base, chosen.model_copy(update={"longest": 40}))
