"""Recipes that continue the adapter of another run."""

from pathlib import Path

from rolellm_agents.errors import ModelError
from rolellm_train.base.base import find_base
from rolellm_train.base.peft_adapter import read_adapter
from rolellm_train.errors import TrainingError
from rolellm_train.export.facts import read_source
from rolellm_train.recipe import Recipe


def continued_recipe(place: Path, recipe: Recipe) -> Recipe:
    """A recipe that continues an adapter, with the adapter's rank and alpha.

    Args:
        place: the folder of a run or of a PEFT adapter.
        recipe: the recipe of the training.

    Raises:
        TrainingError: the adapter has another base model.
        ModelError: there is no adapter, or it is damaged.
    """
    source = read_source(place)
    adapter = read_adapter(source.adapter)
    base = source.base or adapter.base
    if not _same_base(base, recipe.base):
        raise TrainingError(
            f"The adapter in {place} is one of {base or 'an unnamed base'}, and the recipe {recipe.id} "
            f"tunes {recipe.base}; name the adapter's base model with --base."
        )
    start = str(source.adapter.resolve())
    return recipe.model_copy(update={"start": start, "rank": adapter.rank, "alpha": adapter.alpha})


def _same_base(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return bool(one) and find_base(one) == find_base(other)
    except ModelError:
        return False
