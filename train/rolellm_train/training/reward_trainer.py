"""TRL's trainer for GRPO, with our checkpoints and callbacks."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from rolellm_train.recipe import Recipe
from rolellm_train.training import processes
from rolellm_train.training.loading import OpenBase
from rolellm_train.training.rewards import RewardFunction
from rolellm_train.training.trainer import SavesWeights, Step, callbacks_of, common_arguments

QUESTION = "question"
"""The column of the data set with the number of the prompt."""


class RewardTrainer(SavesWeights, GRPOTrainer):  # type: ignore[misc]  # TRL is not typed here
    """Trains on sampled answers and their rewards."""


def trainer_of(
    model: Any,
    *,
    recipe: Recipe,
    base: OpenBase,
    prompts: Sequence[str],
    rewards: Sequence[RewardFunction],
    folder: Path,
    on_step: Step,
) -> RewardTrainer:
    """Build a trainer.

    Args:
        model: the model with its trainable weights.
        recipe: the recipe of the training.
        base: the opened base model.
        prompts: the rendered prompts, without a mark that the tokenizer adds by itself.
        rewards: the rewards, in the order of the recipe's.
        folder: the folder for checkpoints.
        on_step: called after every step.

    Raises:
        TrainingError: the processes cannot share the questions of a step equally.
        ModelError: the package of a tracker is not installed.
    """
    accumulation = processes.share("questions_per_step", recipe.questions_per_step)
    # TRL leaves out the last questions of an epoch if they do not fill a step.
    steps = math.ceil(len(prompts) // recipe.questions_per_step * recipe.epochs)
    arguments = GRPOConfig(
        **common_arguments(recipe, folder),
        per_device_train_batch_size=recipe.samples,
        gradient_accumulation_steps=accumulation,
        num_generations=recipe.samples,
        max_completion_length=recipe.longest_answer,
        temperature=recipe.temperature,
        beta=0.0,
        reward_weights=[*recipe.rewards.values()],
        # Rewards have different scales.
        multi_objective_aggregation="normalize_then_sum",
        save_steps=max(1, steps // 4),
    )
    # An answer ends where conversations end it.
    model.generation_config.eos_token_id = [base.encoder.end]
    trainer = RewardTrainer(
        model=model,
        reward_funcs=[*rewards],
        args=arguments,
        train_dataset=Dataset.from_list(
            [{"prompt": prompt, QUESTION: number} for number, prompt in enumerate(prompts)]
        ),
        processing_class=base.tokenizer,
        callbacks=callbacks_of(recipe, folder, on_step),
    )
    # It would print every step to standard output.
    trainer.remove_callback(PrinterCallback)
    return trainer
