"""What every kind of training does with packs: learn them as a run, and keep what came of it."""

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
"""The folder of a run that holds the tuned weights, in PEFT's form."""
CHECKPOINTS: Final = "checkpoints"
CURVE: Final = "loss.svg"


@dataclass(frozen=True)
class TrainingResult:
    """What a training came to."""

    adapter: Path
    steps: int
    held_out_loss: float | None
    """Of the best checkpoint, which is the one kept."""
    figures: Mapping[str, Any]
    """What the manifest says."""


@dataclass(frozen=True)
class Learned:
    """A model that has learned its packs."""

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
    tell: "Step",
    **kind: Any,
) -> Learned:
    """Train to the end, from the last whole checkpoint on.

    Args:
        recipe: how.
        base: the model that is tuned, without an adapter.
        learned: the packs.
        held_out: packs that are measured by.
        run: keeps the figures of each step, and the checkpoints.
        tell: is told of every step.
        kind: of the trainer, and what it wants besides, as `trainer_of` takes them.

    Raises:
        TrainingError: the base cannot be tuned or exported, there is too little memory, or the loss is no
            number any more.
        StorageError: the disk is full; the last checkpoint is kept.
    """
    from transformers import set_seed

    from rolellm_train.training.trainer import last_whole_checkpoint, trainer_of

    check(recipe, base)
    set_seed(recipe.seed)
    model = with_adapter(base, recipe)
    began = time.monotonic()

    def record(step: int, steps: int, figures: Mapping[str, float]) -> None:
        if not is_first():
            return
        run.append(f"{step:06}/{'-'.join(sorted(figures))}", {"step": step, **figures})
        tell(step, steps, figures)

    checkpoints = run.folder / CHECKPOINTS
    trainer = trainer_of(model, recipe, learned, held_out, folder=checkpoints, tell=record, **kind)
    last = last_whole_checkpoint(checkpoints)
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    seconds = round(time.monotonic() - began, 1)
    return Learned(model, trainer, int(trainer.state.global_step), trainer.state.best_metric, seconds)


def keep(learned: Learned, run: Run, figures: Mapping[str, Any]) -> TrainingResult:
    """Write the adapter and the curve, and end the run.

    Args:
        learned: what was learned.
        run: whose it is.
        figures: for the manifest, beside those of the steps.

    Raises:
        StorageError: the disk is full.
    """
    whole = {
        **figures,
        "steps": learned.steps,
        "held_out_loss": learned.held_out_loss,
        "seconds": learned.seconds,
    }
    if is_first():
        _save_adapter(learned.model, run.folder / ADAPTER)
        write_loss_curve(run.folder / CURVE, run.items.values())
        run.finish(whole)
    return TrainingResult(run.folder / ADAPTER, learned.steps, learned.held_out_loss, whole)


def _save_adapter(model: Any, place: Path) -> None:
    """Whole or not at all."""
    from rolellm_train.training.trainer import save_adapter

    part = place.with_name(f"{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        save_adapter(model, part)
    except OSError as error:
        raise StorageError(f"The adapter cannot be written to {place} ({error}); make room.") from error
    shutil.rmtree(place, ignore_errors=True)
    part.replace(place)
