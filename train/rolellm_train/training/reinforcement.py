"""Reinforcement learning with judges, as a run: GRPO by TRL (Shao et al., arXiv 2402.03300).

Several answers to each question are sampled and rated. Answers that are better than the others to their
question become more likely. TRL samples with transformers; nothing of its loss is ours.
"""

import asyncio
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolellm_agents.errors import ModelError
from rolellm_agents.judging import ConversationTurn, Judged
from rolellm_agents.persona import Persona
from rolellm_agents.runs.folder import Run
from rolellm_train.base.chat_form import bos_of
from rolellm_train.data.material import TrainingMaterial, counted, fingerprint, gather
from rolellm_train.data.rows import Prompts, TrainingRow
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe, recorded_recipe
from rolellm_train.training.loading import OpenBase, open_base
from rolellm_train.training.memory import Batch
from rolellm_train.training.processes import open_training
from rolellm_train.training.rewards import Reward, RewardFunction, rewards_of
from rolellm_train.training.tuning import TrainingResult, keep, learn

if TYPE_CHECKING:
    from rolellm_train.training.trainer import Step


@dataclass(frozen=True)
class Question:
    """A question whose answers are sampled."""

    prompt: str
    """The rendered prompt, which TRL converts to the same tokens as a conversation's."""
    tokens: int
    row: TrainingRow
    references: tuple[str, ...]


def train(
    recipe: Recipe,
    data: Sequence[Path],
    cast: Sequence[Persona],
    folder: Path,
    *,
    on_step: "Step" = lambda _step, _steps, _figures: None,
) -> TrainingResult:
    """Tune a model by the rewards of its own answers, or resume a stopped run.

    A resumed run samples other answers than an uninterrupted one.

    Args:
        recipe: the recipe of the training.
        data: folders of RoleBench, or of generators' runs, for the questions and references.
        cast: the personas of the roles in the data.
        folder: the run's folder.
        on_step: called after every step.

    Raises:
        TrainingError: there are no questions or too little memory, or the base model cannot be tuned or
            exported.
        SettingsError: the recipe has no rewards, or a judge without a model.
        ModelError: a model cannot be used, or the extra `rl` is not installed.
        RoleBenchError: the data cannot be read.
        StorageError: the folder cannot be written, or contains another run; the last checkpoint is kept.
    """
    _check_extra()
    rewards = rewards_of(recipe)
    # Rewards take the place of a held-out loss.
    material = gather(recipe.model_copy(update={"held_out_questions": 0}), data, cast)
    with open_training(folder, _config(recipe, data, material)) as run:
        return _trained(recipe, material, rewards, run, on_step)


def _trained(
    recipe: Recipe,
    material: TrainingMaterial,
    rewards: Mapping[str, Reward],
    run: Run,
    on_step: "Step",
) -> TrainingResult:
    from rolellm_train.training.reward_trainer import trainer_of

    base = open_base(recipe)
    questions, too_long = questions_of(material.learned, base, recipe)
    _check_step(questions, recipe)
    prompts = [question.prompt for question in questions]
    # One loop for all steps: clients of judges' models belong to the loop that they were first used in.
    with asyncio.Runner() as runner, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # TRL uses older names of transformers
        functions = [_reward_function(name, one, questions, runner) for name, one in rewards.items()]
        trainer_for = partial(trainer_of, recipe=recipe, base=base, prompts=prompts, rewards=functions)
        largest = _largest_batch(questions, recipe)
        done = learn(recipe, base, run, on_step, trainer_for, largest=largest)
    too_long_counted = {"too long": too_long} if too_long else {}
    figures = {
        "rows": counted(material),
        "questions": len(questions),
        "left_out": {**material.left_out, **too_long_counted},
        "unknown_roles": dict(material.unknown_roles),
        "reward_course": _course(run.items.values()),
    }
    return keep(done, run, figures)


def questions_of(rows: Sequence[TrainingRow], base: OpenBase, recipe: Recipe) -> tuple[list[Question], int]:
    """Each question once, with its references, and the number of those that are too long."""
    references: dict[tuple[str, str], list[str]] = {}
    first: dict[tuple[str, str], TrainingRow] = {}
    for row in rows:
        key = (row.persona.id, row.question)
        first.setdefault(key, row)
        references.setdefault(key, []).append(row.answer)
    prompts = Prompts()
    found: list[Question] = []
    too_long = 0
    for key, row in first.items():
        messages = prompts.of(row)
        ids, text = base.encoder.prompt(messages), base.encoder.text(messages)
        prompt = _without_bos(text, base.tokenizer)
        if base.tokenizer(prompt)["input_ids"] != ids:
            raise TrainingError(
                f"The tokenizer of {recipe.base} gives prompts other tokens in TRL than in llama.cpp, so "
                "what is learned would not be what runs; choose another base model for GRPO."
            )
        if len(ids) + recipe.longest_answer > recipe.longest:
            too_long += 1
        else:
            found.append(Question(prompt, len(ids), row, tuple(dict.fromkeys(references[key]))))
    if not found:
        raise TrainingError(
            f"All {too_long} prompts with answers of {recipe.longest_answer} tokens are longer than "
            f"{recipe.longest}; raise “longest” in the recipe."
        )
    return found, too_long


def _check_step(questions: Sequence[Question], recipe: Recipe) -> None:
    if len(questions) < recipe.questions_per_step:
        raise TrainingError(
            f"A step has {recipe.questions_per_step} questions, and there are {len(questions)}; set "
            f"“questions_per_step: {len(questions)}” in the recipe, or name more data."
        )


def _largest_batch(questions: Sequence[Question], recipe: Recipe) -> Batch:
    """All samples of the longest question; TRL pads them to one length."""
    longest = max(question.tokens for question in questions)
    answers = recipe.samples * recipe.longest_answer
    return Batch(recipe.samples * longest + answers, answers)


def _without_bos(text: str, tokenizer: Any) -> str:
    """The text without the mark that the tokenizer adds by itself."""
    return text.removeprefix(tokenizer.bos_token) if bos_of(tokenizer) is not None else text


def _reward_function(
    name: str, reward: Reward, questions: Sequence[Question], runner: asyncio.Runner
) -> RewardFunction:
    """A reward in the form that TRL calls; its name is that of the figure."""

    def rate(completions: Sequence[str], question: Sequence[int], **_: Any) -> list[float | None]:
        answers = [
            _judged(str(index), questions[number], completion)
            for index, (number, completion) in enumerate(zip(question, completions, strict=True))
        ]
        return runner.run(reward(answers))

    rate.__name__ = name
    return rate


def _judged(key: str, question: Question, answer: str) -> Judged:
    row = question.row
    turns = (ConversationTurn("user", row.question),)
    return Judged(
        key=key, persona=row.persona, turns=turns, reply=answer.strip(), references=question.references
    )


def _course(items: Iterable[Mapping[str, Any]]) -> list[float]:
    """The mean reward of each quarter of the steps."""
    rewards = [item["reward"] for item in items if "reward" in item]
    ends = [len(rewards) * part // 4 for part in range(5)]
    quarters = [rewards[start:end] for start, end in pairwise(ends) if end > start]
    return [round(sum(quarter) / len(quarter), 4) for quarter in quarters]


def _check_extra() -> None:
    try:
        import trl  # noqa: F401
    except ImportError as error:
        raise ModelError(
            "GRPO needs TRL, which is not installed; “pip install 'rolellm-agents[rl]'” installs it."
        ) from error


def _config(recipe: Recipe, data: Sequence[Path], material: TrainingMaterial) -> Mapping[str, Any]:
    return {
        "trainer": recipe.objective,
        "recipe": recorded_recipe(recipe),
        "base": recipe.base,
        "data": [str(folder.resolve()) for folder in data],
        "rows": fingerprint(material),
    }
