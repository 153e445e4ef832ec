"""Training on packs as a run, shared by RoCIT and DPO."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rolellm_agents.errors import StorageError
from rolellm_agents.runs.folder import Run
from rolellm_train.data.packing import PackedSequence
from rolellm_train.recipe import Recipe
from rolellm_train.training.loading import with_adapter
from rolellm_train.training.loss_curve import write_loss_curve
from rolellm_train.training.preflight import check
from rolellm_train.training.processes import is_first

if TYPE_CHECKING:
    from rolellm_train.training.trainer import PackTrainer, Step

ADAPTER: Final = "adapter"
"""Folder of a run with the tuned weights, in PEFT's format."""
CHECKPOINTS: Final = "checkpoints"
CURVE: Final = "loss.svg"


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training."""

    adapter: Path
    steps: int
    held_out_loss: float | None
    """The adapter of the best checkpoint."""
    figures: Mapping[str, Any]
    """Figures of the manifest."""


@dataclass(frozen=True)
class Learned:
    """A tuned model."""

    model: Any
    """With its adapter."""
    trainer: "PackTrainer"
    steps: int
    held_out_loss: float | None
    seconds: float


def learn(
    recipe: Recipe,
    base: Any,
    learned: Sequence[PackedSequence],
    held_out: Sequence[PackedSequence],
    run: Run,
    on_step: "Step",
    **kind: Any,
) -> Learned:
    """Train to the end, from the last complete checkpoint.

    Args:
        recipe: the recipe of the training.
        base: the loaded base model without an adapter.
        learned: the packs to train on.
        held_out: the packs for the held-out loss.
        run: records the figures of each step and the checkpoints.
        on_step: called after every step.
        kind: the class of the trainer and its arguments, as in `trainer_of`.

    Raises:
        TrainingError: the base model cannot be tuned or exported, there is too little memory, or the loss
            became NaN.
        StorageError: the disk is full; the last checkpoint is kept.
    """
    from transformers import set_seed

    from rolellm_train.training.trainer import last_complete_checkpoint, trainer_of

    check(recipe, base)
    set_seed(recipe.seed)
    model = with_adapter(base, recipe)
    began = time.monotonic()

    def record(step: int, steps: int, figures: Mapping[str, float]) -> None:
        if not is_first():
            return
        run.append(f"{step:06}/{'-'.join(sorted(figures))}", {"step": step, **figures})
        on_step(step, steps, figures)

    checkpoints = run.folder / CHECKPOINTS
    trainer = trainer_of(model, recipe, learned, held_out, folder=checkpoints, on_step=record, **kind)
    last = last_complete_checkpoint(checkpoints)
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    seconds = round(time.monotonic() - began, 1)
    return Learned(model, trainer, int(trainer.state.global_step), trainer.state.best_metric, seconds)


def keep(learned: Learned, run: Run, figures: Mapping[str, Any]) -> TrainingResult:
    """Write the adapter and the loss curve, and finish the run.

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
    if is_first():
        _save_adapter(learned.model, run.folder / ADAPTER)
        write_loss_curve(run.folder / CURVE, run.items.values())
        run.finish(summary)
    return TrainingResult(run.folder / ADAPTER, learned.steps, learned.held_out_loss, summary)


def _save_adapter(model: Any, place: Path) -> None:
    """Write the adapter atomically."""
    from rolellm_train.training.trainer import save_adapter

    part = place.with_name(f"{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        save_adapter(model, part)
    except OSError as error:
        raise StorageError(
            f"The adapter cannot be written to {place} ({error}); free disk space."
        ) from error
    shutil.rmtree(place, ignore_errors=True)
    part.replace(place)
