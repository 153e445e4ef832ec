"""RoCIT: role-conditioned instruction tuning of a base model, as a run (arXiv 2310.00746, §3.4)."""

import hashlib
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rolellm_agents.errors import StorageError
from rolellm_agents.persona import Persona
from rolellm_agents.runs import Run, open_run
from rolellm_train.conversations import conversations_of
from rolellm_train.loading import open_base, with_adapter
from rolellm_train.loss_curve import write_loss_curve
from rolellm_train.material import Material, counted, encoded, gather
from rolellm_train.packing import Pack, pack
from rolellm_train.preflight import check
from rolellm_train.recipe import Recipe
from rolellm_train.trainer import Step

ADAPTER: Final = "adapter"
"""The folder of a run that holds the tuned weights, in PEFT's form."""
CHECKPOINTS: Final = "checkpoints"
CURVE: Final = "loss.svg"


@dataclass(frozen=True)
class Tuned:
    """What a training came to."""

    adapter: Path
    steps: int
    held_out_loss: float | None
    """Of the best checkpoint, which is the one kept."""
    figures: Mapping[str, Any]
    """What the manifest says."""


def train(
    recipe: Recipe,
    data: Sequence[Path],
    cast: Sequence[Persona],
    folder: Path,
    *,
    tell: Step = lambda _step, _steps, _figures: None,
) -> Tuned:
    """Tune a model, or go on where that was stopped.

    Args:
        recipe: how.
        data: folders of RoleBench, or of generators' runs.
        cast: the personas that the data's roles are.
        folder: of the run.
        tell: is told of every step.

    Raises:
        TrainingError: nothing to learn, a base that cannot be tuned or exported, or too little memory.
        ModelError: the base is not there, or the extra `train` is not installed.
        RoleBenchError: the data cannot be read.
        StorageError: the folder cannot be written, or holds another run; the last checkpoint is kept.
    """
    material = gather(recipe, data, cast)
    with open_run(folder, _config(recipe, data, material)) as run:
        return _trained(recipe, material, run, tell)


def _trained(recipe: Recipe, material: Material, run: Run, tell: Step) -> Tuned:
    from transformers import set_seed

    base = open_base(recipe)
    conversations = conversations_of(material.learned, recipe.conversations, seed=recipe.seed)
    learned, too_long = encoded(conversations, base.encoder, recipe.longest)
    held_out, _ = encoded(([row] for row in material.held_out), base.encoder, recipe.longest)
    packs = pack(learned, recipe.pack, seed=recipe.seed)
    check(recipe, base.model)
    set_seed(recipe.seed)
    model = with_adapter(base.model, recipe)
    began = time.monotonic()
    loss, steps = _run_steps(recipe, model, packs, pack(held_out, recipe.pack, seed=0), run, tell)
    _save_adapter(model, run.folder / ADAPTER)
    tokens = sum(map(len, packs))
    figures = {
        "rows": counted(material.learned),
        "held_out_rows": len(held_out),
        "left_out": {**material.left_out, **({"too long": too_long} if too_long else {})},
        "unknown_roles": dict(material.unknown_roles),
        "tokens_of_an_epoch": tokens,
        "tokens_without_packing": sum(len(row.ids) for row in learned),
        "steps": steps,
        "held_out_loss": loss,
        "seconds": round(time.monotonic() - began, 1),
    }
    write_loss_curve(run.folder / CURVE, run.items.values())
    run.finish(figures)
    return Tuned(run.folder / ADAPTER, steps, loss, figures)


def _run_steps(
    recipe: Recipe,
    model: Any,
    packs: Sequence[Pack],
    held_out: Sequence[Pack],
    run: Run,
    tell: Step,
) -> tuple[float | None, int]:
    """Train to the end, from the last whole checkpoint on; gives the best held-out loss, and the steps."""
    from rolellm_train.trainer import last_whole_checkpoint, trainer_of

    def record(step: int, steps: int, figures: Mapping[str, float]) -> None:
        run.append(f"{step:06}/{'-'.join(sorted(figures))}", {"step": step, **figures})
        tell(step, steps, figures)

    checkpoints = run.folder / CHECKPOINTS
    trainer = trainer_of(model, recipe, packs, held_out, folder=checkpoints, tell=record)
    last = last_whole_checkpoint(checkpoints)
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    return trainer.state.best_metric, int(trainer.state.global_step)


def _save_adapter(model: Any, place: Path) -> None:
    """Whole or not at all."""
    from rolellm_train.trainer import save_adapter

    part = place.with_name(f"{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        save_adapter(model, part)
    except OSError as error:
        raise StorageError(f"The adapter cannot be written to {place} ({error}); make room.") from error
    shutil.rmtree(place, ignore_errors=True)
    part.replace(place)


def _config(recipe: Recipe, data: Sequence[Path], material: Material) -> dict[str, Any]:
    told = hashlib.sha256()
    for row in (*material.learned, *material.held_out):
        told.update(f"{row.persona.model_dump_json()}\0{row.question}\0{row.answer}\0".encode())
    return {
        "trainer": "rocit",
        "recipe": recipe.model_dump(mode="json"),
        "base": recipe.base,
        "data": [str(folder.resolve()) for folder in data],
        "rows": told.hexdigest()[:16],
    }
