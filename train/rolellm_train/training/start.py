"""Recipes that continue the adapter of another run."""

from pathlib import Path

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.files.bundled import BUNDLED
from rolellm_train.base.base import find_base
from rolellm_train.base.gguf_adapter import read_gguf_adapter
from rolellm_train.base.peft_adapter import read_adapter
from rolellm_train.errors import TrainingError
from rolellm_train.export.facts import read_source
from rolellm_train.recipe import Recipe


def continued_recipe(place: Path, recipe: Recipe) -> Recipe:
    """A recipe that continues an adapter, with the adapter's rank and alpha.

    Args:
        place: the folder of a run or of a PEFT adapter, an adapter in GGUF, or a bundled model with an
            adapter (`llamacpp:rolesmol`).
        recipe: the recipe of the training.

    Raises:
        TrainingError: the recipe or the run to continue tunes all weights, or the adapter has another
            base model.
        ModelError: there is no adapter, or it is damaged.
    """
    if recipe.tuning == "full":
        raise TrainingError(
            "--from continues an adapter, which “tuning: full” does not train; set “tuning: lora”, or "
            "merge the adapter with “rolellm export --merged” and name the merged model with --base."
        )
    bundled = BUNDLED.get(str(place).removeprefix("llamacpp:"))
    file = bundled.adapter if bundled is not None else place
    if file is not None and file.suffix == ".gguf":
        return _continued_gguf(file, bundled.base if bundled is not None else None, recipe)
    source = read_source(place)
    if source.is_complete:
        raise TrainingError(
            f"The run in {place} has no adapter to continue, because it tuned all weights; name its model "
            f"with --base {source.weights} instead of --from."
        )
    adapter = read_adapter(source.weights)
    _check_base(place, source.base or adapter.base, recipe)
    start = str(source.weights.resolve())
    return recipe.model_copy(update={"start": start, "rank": adapter.rank, "alpha": adapter.alpha})


def _continued_gguf(file: Path, base: str | None, recipe: Recipe) -> Recipe:
    adapter = read_gguf_adapter(file)
    # A file of others does not name its base; whether the weights fit is checked when they are copied.
    named = base or adapter.base
    if named:
        _check_base(file, f"llamacpp:{named}", recipe)
    start = str(file.resolve())
    return recipe.model_copy(update={"start": start, "rank": adapter.rank, "alpha": adapter.alpha})


def _check_base(place: Path, base: str, recipe: Recipe) -> None:
    if not _same_base(base, recipe.base):
        raise TrainingError(
            f"The adapter in {place} is one of {base or 'an unnamed base'}, and the recipe {recipe.id} "
            f"tunes {recipe.base}; name the adapter's base model with --base."
        )


def _same_base(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        first, second = find_base(one), find_base(other)
    except ModelError:
        return False
    return (first.gguf, first.folder) == (second.gguf, second.folder)
