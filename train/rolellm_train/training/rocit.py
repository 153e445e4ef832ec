"""RoCIT: role-conditioned instruction tuning of a base model, as a run (arXiv 2310.00746, §3.4)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolellm_agents.persona import Persona
from rolellm_agents.runs.folder import Run
from rolellm_train.data.conversations import conversations_of
from rolellm_train.data.material import TrainingMaterial, counted, encoded, fingerprint, gather
from rolellm_train.data.packing import pack
from rolellm_train.data.written import encoded_written
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe, recorded_recipe
from rolellm_train.training.loading import open_base
from rolellm_train.training.memory import largest_pack
from rolellm_train.training.processes import open_training
from rolellm_train.training.tuning import TrainingResult, keep, learn

if TYPE_CHECKING:
    from rolellm_train.training.trainer import Step


def train(
    recipe: Recipe,
    data: Sequence[Path],
    cast: Sequence[Persona],
    folder: Path,
    *,
    on_step: "Step" = lambda _step, _steps, _figures: None,
) -> TrainingResult:
    """Tune a model, or resume a stopped run.

    Args:
        recipe: the recipe of the training.
        data: folders of RoleBench, or of generators' runs.
        cast: the personas of the roles in the data.
        folder: the run's folder.
        on_step: called after every step.

    Raises:
        TrainingError: there is nothing to learn or too little memory, or the base model cannot be tuned or
            exported.
        ModelError: there is no such base model, or the extra `train` is not installed.
        RoleBenchError: the data cannot be read.
        CorpusError: the recipe learns from the cast's corpus, which is not installed or damaged.
        StorageError: the folder cannot be written, or contains another run; the last checkpoint is kept.
    """
    material = gather(recipe, data, cast)
    with open_training(folder, _config(recipe, data, material)) as run:
        return _trained(recipe, material, run, on_step)


def _trained(recipe: Recipe, material: TrainingMaterial, run: Run, on_step: "Step") -> TrainingResult:
    from rolellm_train.training.trainer import trainer_of

    base = open_base(recipe)
    conversations = conversations_of(material.learned, recipe.conversations, seed=recipe.seed)
    learned, too_long = encoded(conversations, base.encoder, recipe.longest)
    held_out, _ = encoded(([row] for row in material.held_out), base.encoder, recipe.longest)
    written, turns_too_long = encoded_written(material.written, base.encoder, recipe.longest)
    learned += written
    held_out += encoded_written(material.written_held_out, base.encoder, recipe.longest)[0]
    too_long += turns_too_long
    if not learned:
        raise TrainingError(
            f"All {too_long} rows are longer than {recipe.longest} tokens; raise “longest” and “pack” in "
            "the recipe."
        )
    packs = pack(learned, recipe.pack, seed=recipe.seed)
    packs_held_out = pack(held_out, recipe.pack, seed=0)
    trainer = partial(trainer_of, recipe=recipe, learned=packs, held_out=packs_held_out)
    done = learn(recipe, base, run, on_step, trainer, largest=largest_pack(packs))
    figures = {
        "rows": counted(material),
        "held_out_rows": len(held_out),
        "left_out": {**material.left_out, **({"too long": too_long} if too_long else {})},
        "unknown_roles": dict(material.unknown_roles),
        "tokens_of_an_epoch": sum(map(len, packs)),
        "tokens_without_packing": sum(len(row.ids) for row in learned),
    }
    return keep(done, run, figures)


def _config(recipe: Recipe, data: Sequence[Path], material: TrainingMaterial) -> dict[str, Any]:
    return {
        "trainer": "rocit",
        "recipe": _without_unused(recipe),
        "base": recipe.base,
        "data": [str(folder.resolve()) for folder in data],
        "rows": fingerprint(material),
    }


def _without_unused(recipe: Recipe) -> dict[str, Any]:
    """The recipe without unused settings, so that earlier runs can be resumed."""
    unused = {"objective", "beta"}
    unused |= set() if recipe.start else {"start"}
    unused |= set() if recipe.corpus or recipe.scenes else {"corpus", "scenes", "forms"}
    return {name: value for name, value in recorded_recipe(recipe).items() if name not in unused}
