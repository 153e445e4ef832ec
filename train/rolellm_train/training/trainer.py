"""transformers' Trainer over packs, with the loss on answers only."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from rolellm_agents.errors import StorageError
from rolellm_train.base.tuned import quiet
from rolellm_train.data.batches import batch_of
from rolellm_train.data.packing import PackedSequence
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe
from rolellm_train.training import processes
from rolellm_train.training.adapter import has_adapter
from rolellm_train.training.reporters import PROJECT, reporters

WHOLE = "whole"
"""A file that marks a complete checkpoint."""

Step = Callable[[int, int, Mapping[str, float]], None]
"""Called after each step with its number, the total, and its figures."""


class TrainerFactory(Protocol):
    """Builds the trainer of a training."""

    def __call__(self, model: Any, *, folder: Path, on_step: Step) -> Trainer:
        """Build the trainer.

        Args:
            model: the model with its trainable weights.
            folder: the folder for checkpoints.
            on_step: called after every step.
        """
        ...


class SavesWeights(Trainer):  # type: ignore[misc]  # transformers is not typed here
    """A trainer whose checkpoints hold only the trained weights, and that reports a full disk."""

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        try:
            super()._save_checkpoint(*args, **kwargs)
        except OSError as error:
            raise StorageError(
                f"A checkpoint could not be written to {self.args.output_dir} ({error.strerror or error}); "
                "free disk space and run the command again: it continues from the previous checkpoint."
            ) from error

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        save_weights(self.model, Path(output_dir or self.args.output_dir))


class PackTrainer(SavesWeights):
    """Trains on packs, one per batch."""

    def __init__(self, *, held_out: Sequence[PackedSequence], **settings: Any) -> None:
        """Create a `Trainer` whose evaluation uses the packs of `held_out`."""
        super().__init__(data_collator=lambda packs: self.batch(packs[0]), **settings)
        self._held_out = held_out
        self.model_accepts_loss_kwargs = True
        # The labels are shifted already, so the first one counts, too.
        self._loss_shifts_labels = False

    def batch(self, pack: PackedSequence) -> dict[str, Any]:
        """Convert a pack to tensors. Each of its `labels` has the same weight."""
        return batch_of(pack)

    def summed_loss(self, model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor:
        """The loss of a batch, summed over its labels."""
        return answer_loss(model, inputs)

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """The mean training loss over all packs of a step."""
        loss = self.summed_loss(model, inputs) / (num_items_in_batch or inputs["labels"].numel())
        if not math.isfinite(float(loss.detach())):
            raise TrainingError(
                f"The loss became NaN or infinite after step {self.state.global_step}; "
                "set a lower learning_rate in the recipe and train again."
            )
        # torch averages the gradients of all processes, and each process has divided by the labels of all.
        return loss * self.accelerator.num_processes

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Measure the held-out loss, as `eval_loss`."""
        figures = {"eval_loss": self.held_out_loss()}
        self.log(figures)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, figures)
        return figures

    def held_out_loss(self) -> float:
        """The mean loss over the labels of all held-out packs."""
        model = self.model
        model.eval()
        total, labels = 0.0, 0
        with torch.no_grad(), self.compute_loss_context_manager():
            for pack in self._held_out:
                inputs = self._prepare_inputs(self.batch(pack))
                labels += inputs["labels"].numel()
                total += float(self.summed_loss(model, inputs))
        model.train()
        return total / labels


def save_weights(model: Any, folder: Path) -> None:
    """Write the trained weights: an adapter in PEFT's format, or the complete model."""
    if has_adapter(model):
        # With embeddings, PEFT would query the hub.
        model.save_pretrained(folder, save_embedding_layers=False)
    else:
        with quiet():
            model.save_pretrained(folder)


def answer_loss(model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor:
    """The summed negative log-probability of a batch's labels."""
    asked = {name: value for name, value in inputs.items() if name != "labels"}
    logits = model(**asked).logits[0].float()
    return torch.nn.functional.cross_entropy(logits, inputs["labels"][0], reduction="sum")


@dataclass
class _ProgressCallback(TrainerCallback):  # type: ignore[misc]
    """Reports progress and marks complete checkpoints."""

    on_step: Step

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        figures = {
            name: float(value)
            for name, value in (logs or {}).items()
            if name in _FIGURES or name.startswith(REWARD)
        }
        if figures:
            self.on_step(state.global_step, state.max_steps, figures)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            place = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            (place / WHOLE).touch()


REWARD = "reward"
"""The beginning of the names of figures of rewards."""
_FIGURES = ("loss", "eval_loss", "learning_rate", "grad_norm")


def trainer_of(
    model: Any,
    recipe: Recipe,
    learned: Sequence[PackedSequence],
    held_out: Sequence[PackedSequence],
    *,
    folder: Path,
    on_step: Step,
    kind: Callable[..., PackTrainer] = PackTrainer,
) -> PackTrainer:
    """Build a trainer on packs.

    Args:
        model: the model, whose adapter is trainable.
        recipe: the recipe of the training.
        learned: the packs to train on.
        held_out: the packs for the held-out loss.
        folder: the folder for checkpoints.
        on_step: called after every step.
        kind: builds the trainer from the arguments of `PackTrainer`.

    Raises:
        TrainingError: the processes cannot share the packs of a step equally.
        ModelError: the package of a tracker is not installed.
    """
    accumulation = processes.share("packs_per_step", recipe.packs_per_step)
    steps = max(1, math.ceil(len(learned) / (accumulation * processes.count())))
    evaluated = bool(held_out and recipe.evaluations)
    interval = max(1, steps // recipe.evaluations) if evaluated else max(1, steps // 4)
    arguments = TrainingArguments(
        **common_arguments(recipe, folder),
        per_device_train_batch_size=1,
        gradient_accumulation_steps=accumulation,
        eval_strategy="steps" if evaluated else "no",
        eval_steps=interval,
        save_steps=interval,
        load_best_model_at_end=evaluated,
        metric_for_best_model="eval_loss" if evaluated else None,
        greater_is_better=False if evaluated else None,
        label_names=["labels"],
        # A resumed training counts its evaluations without improvement from where it stopped.
        restore_callback_states_from_checkpoint=True,
    )
    callbacks = callbacks_of(recipe, folder, on_step)
    if evaluated:
        callbacks.append(EarlyStoppingCallback(early_stopping_patience=recipe.patience))
    trainer = kind(
        held_out=held_out,
        model=model,
        args=arguments,
        train_dataset=list(learned),
        eval_dataset=list(held_out) if evaluated else None,
        callbacks=callbacks,
    )
    # It would print every step to standard output.
    trainer.remove_callback(PrinterCallback)
    return trainer


def common_arguments(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """The arguments of transformers' `TrainingArguments` that all objectives share.

    Args:
        recipe: the recipe of the training.
        folder: the folder for checkpoints.
    """
    cuda = torch.cuda.is_available()
    return {
        "output_dir": str(folder),
        "num_train_epochs": recipe.epochs,
        "learning_rate": recipe.learning_rate,
        "lr_scheduler_type": recipe.scheduler,
        "warmup_steps": recipe.warmup,
        "optim": recipe.optimizer,
        "weight_decay": recipe.weight_decay,
        "max_grad_norm": recipe.max_grad_norm,
        "bf16": computes_bf16(),
        "use_cpu": not cuda,
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_total_limit": 2,
        "activation_checkpointing": recipe.checkpointing,
        "remove_unused_columns": False,
        "seed": recipe.seed,
        "data_seed": recipe.seed,
        "dataloader_pin_memory": cuda,
        "disable_tqdm": True,
        "report_to": "none",
        "run_name": folder.parent.name,
        "project": PROJECT,
    }


def callbacks_of(recipe: Recipe, folder: Path, on_step: Step) -> list[TrainerCallback]:
    """The callbacks that all objectives share: progress, complete checkpoints, and the recipe's trackers.

    Raises:
        ModelError: the package of a tracker is not installed.
    """
    return [_ProgressCallback(on_step), *reporters(recipe, folder.parent)]


def computes_bf16() -> bool:
    """Whether 16-bit floats are at least as fast as 32-bit ones here."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu._is_avx512_bf16_supported())  # noqa: SLF001  # nothing else tells


def last_complete_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint; None when there is none."""
    complete = [folder_ for folder_ in folder.glob("checkpoint-*") if (folder_ / WHOLE).exists()]
    return max(complete, key=lambda folder_: int(folder_.name.rpartition("-")[2]), default=None)
