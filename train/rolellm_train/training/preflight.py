"""Checks that reject a training before it starts."""

from importlib.resources import files
from typing import Any, Final

from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe
from rolellm_train.training.memory import Batch, Needed, check_memory

_ARCHITECTURES: Final = "architectures.txt"
_LAYERS: Final = frozenset({"full_attention", "sliding_attention"})
"""The types of attention layers that `attention.attend` computes."""


def check(recipe: Recipe, model: Any, largest: Batch) -> Needed:
    """Reject a training whose result could not be exported, or that cannot run correctly on this machine.

    Args:
        recipe: the recipe of the training.
        model: the loaded base model without an adapter.
        largest: the largest batch.

    Raises:
        TrainingError: the training is rejected.
    """
    _check_architecture(recipe, model)
    if recipe.objective != "grpo":  # which uses transformers' attention
        _check_attention(recipe, model)
    _check_positions(recipe, model)
    return check_memory(recipe, model, largest)


def _check_architecture(recipe: Recipe, model: Any) -> None:
    known = (files("rolellm_train") / _ARCHITECTURES).read_text(encoding="utf-8").splitlines()
    name = type(model).__name__
    if name not in known:
        raise TrainingError(
            f"{recipe.base} is a {name}, which llama.cpp's converters do not support, so it could not be "
            "exported; choose another base model."
        )


def _check_attention(recipe: Recipe, model: Any) -> None:
    """Reject attention variants that our packed attention does not implement."""
    config = getattr(model.config, "text_config", model.config)
    others = set(getattr(config, "layer_types", None) or ()) - _LAYERS
    if others or getattr(config, "attn_logit_softcapping", None):
        raise TrainingError(
            f"{recipe.base} has layers that cannot be trained here "
            f"({', '.join(sorted(others)) or 'with soft-capped attention'}); choose another base model."
        )
    window = getattr(config, "sliding_window", None)
    knows_window = any(isinstance(getattr(layer, "sliding_window", None), int) for layer in model.modules())
    # Layers with a sliding window pass its size to our attention.
    if (
        window
        and not knows_window
        and getattr(config, "use_sliding_window", True)
        and window < recipe.longest
    ):
        raise TrainingError(
            f"Layers of {recipe.base} see {window} tokens back at most; set “longest: {window}” in "
            "the recipe."
        )


def _check_positions(recipe: Recipe, model: Any) -> None:
    config = getattr(model.config, "text_config", model.config)
    longest = getattr(config, "max_position_embeddings", None)
    if longest and longest < recipe.longest:
        raise TrainingError(
            f"{recipe.base} reads {longest} tokens; set “longest: {longest}” in the recipe."
        )
