"""A training as a run, shared by all objectives."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rolellm_agents.errors import StorageError
from rolellm_agents.runs.folder import Run
from rolellm_train.recipe import Recipe
from rolellm_train.training.adapter import has_adapter, trainable
from rolellm_train.training.loading import OpenBase
from rolellm_train.training.loss_curve import write_loss_curve
from rolellm_train.training.memory import Batch, out_of_memory
from rolellm_train.training.preflight import check
from rolellm_train.training.processes import is_first

if TYPE_CHECKING:
    from transformers import Trainer

    from rolellm_train.training.trainer import Step, TrainerFactory

ADAPTER: Final = "adapter"
"""Folder of a run with the tuned weights, in PEFT's format."""
MODEL: Final = "model"
"""Folder of a run whose recipe tunes all weights, with the complete model."""
CHECKPOINTS: Final = "checkpoints"
CURVE: Final = "loss.svg"


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training."""

    weights: Path
    """The folder of the best checkpoint's weights: `ADAPTER` in the run's folder, or `MODEL`."""
    steps: int
    held_out_loss: float | None
    """That of the best checkpoint."""
    figures: Mapping[str, Any]
    """Figures of the manifest."""


@dataclass(frozen=True)
class Learned:
    """A tuned model."""

    model: Any
    """With its adapter, if the recipe trains one."""
    tokenizer: Any
    trainer: "Trainer"
    steps: int
    held_out_loss: float | None
    seconds: float


def learn(
    recipe: Recipe,
    base: OpenBase,
    run: Run,
    on_step: "Step",
    trainer_for: "TrainerFactory",
    *,
    largest: Batch,
) -> Learned:
    """Train to the end, from the last complete checkpoint.

    Args:
        recipe: the recipe of the training.
        base: the opened base model.
        run: records the figures of each step and the checkpoints.
        on_step: called after every step.
        trainer_for: builds the trainer.
        largest: the largest batch.

    Raises:
        TrainingError: the base model cannot be tuned or exported, there is too little memory, or the loss
            became NaN.
        StorageError: the disk is full; the last checkpoint is kept.
    """
    import torch
    from transformers import set_seed

    from rolellm_train.training.trainer import last_complete_checkpoint

    check(recipe, base.model, largest)
    set_seed(recipe.seed)
    began = time.monotonic()

    def record(step: int, steps: int, figures: Mapping[str, float]) -> None:
        if not is_first():
            return
        run.append(f"{step:06}/{'-'.join(sorted(figures))}", {"step": step, **figures})
        on_step(step, steps, figures)

    checkpoints = run.folder / CHECKPOINTS
    last = last_complete_checkpoint(checkpoints)
    try:
        model = trainable(base.model, recipe)
        trainer = trainer_for(model, folder=checkpoints, on_step=record)
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    except torch.OutOfMemoryError as error:
        raise out_of_memory(recipe) from error
    seconds = round(time.monotonic() - began, 1)
    steps = int(trainer.state.global_step)
    return Learned(model, base.tokenizer, trainer, steps, trainer.state.best_metric, seconds)


def keep(learned: Learned, run: Run, figures: Mapping[str, Any]) -> TrainingResult:
    """Write the weights and the loss curve, and finish the run.

    Args:
        learned: the tuned model.
        run: the run of the training.
        figures: further figures for the manifest.

    Raises:
        StorageError: the disk is full.
    """
    summary = {
        **figures,
        "steps": learned.steps,
        "held_out_loss": learned.held_out_loss,
        "seconds": learned.seconds,
    }
    folder = run.folder / (ADAPTER if has_adapter(learned.model) else MODEL)
    if is_first():
        _save(learned, folder)
        write_loss_curve(run.folder / CURVE, run.items.values())
        run.finish(summary)
    return TrainingResult(folder, learned.steps, learned.held_out_loss, summary)


def _save(learned: Learned, folder: Path) -> None:
    """Write the weights atomically; a complete model with its tokenizer, so that it can be a base model."""
    from rolellm_train.training.trainer import save_weights

    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        save_weights(learned.model, part)
        if not has_adapter(learned.model):
            learned.tokenizer.save_pretrained(part)
    except OSError as error:
        raise StorageError(
            f"The weights cannot be written to {folder} ({error}); free disk space."
        ) from error
    shutil.rmtree(folder, ignore_errors=True)
    part.replace(folder)
