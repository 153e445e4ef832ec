"""Checks that reject a training before it starts."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple

from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Optimizer, Recipe
from rolellm_train.training.loading import linear_layers

_ARCHITECTURES = "architectures.txt"
_STATE: Final[Mapping[Optimizer, int]] = {
    "adamw_torch_fused": 16,
    "adafactor": 9,
    "adamw_8bit": 10,
    "paged_adamw_8bit": 10,
}
"""Bytes of a trainable weight: the weight, its gradient, and the optimizer's averages."""
_KEPT = 34
"""Activations per token and layer, as multiples of the hidden width, that a backward pass keeps
(Korthikanti et al., arXiv 2205.05198, §4.1, without attention scores, which are computed piecewise)."""
_LOGITS = 16
"""Bytes of a token's logit: computed, as a 32-bit float, as a logarithm, and the gradients of these."""
_LAYERS = frozenset({"full_attention", "sliding_attention"})
"""The types of attention layers that `attention.attend` computes."""
_GIB = 2**30


class Needed(NamedTuple):
    """The approximate memory of a training, in bytes."""

    weights: int
    learning: int
    activations: int

    @property
    def total(self) -> int:
        """The sum of all parts, in bytes."""
        return sum(self)


def check(recipe: Recipe, model: Any) -> Needed:
    """Reject a training whose result could not be exported, or that cannot run correctly on this machine.

    Args:
        recipe: the recipe of the training.
        model: the loaded base model without an adapter.

    Raises:
        TrainingError: the training is rejected.
    """
    _check_architecture(recipe, model)
    _check_attention(recipe, model)
    needed = memory_needed(recipe, model)
    free = _free_memory()
    # The base model is in memory, and the trainer moves it to a GPU only after this check.
    loaded = next(model.parameters()).device.type == _device()
    if (0 if loaded else needed.weights) + needed.learning + needed.activations > free:
        raise TrainingError(
            f"Training {recipe.base} needs about {needed.total / _GIB:.1f} GiB, and {free / _GIB:.1f} are "
            f"free; {_advice(recipe, free)}."
        )
    return needed


def memory_needed(recipe: Recipe, model: Any) -> Needed:
    """Estimate the memory from the sizes of the model's layers."""
    config = model.config
    config = getattr(config, "text_config", config)
    weights = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    trained = _trained_weights(recipe, model) * _STATE[recipe.optimizer]
    # Of a complete tuning, the weights themselves are counted already.
    learning = trained - weights if recipe.tuning == "full" else trained
    # With checkpointing each layer keeps only its input, and one layer at a time keeps all activations.
    layers = config.num_hidden_layers
    of_a_token = (layers + _KEPT) if recipe.checkpointing else layers * _KEPT
    kept = 2 * of_a_token * config.hidden_size * recipe.pack
    answers = recipe.pack // 2
    return Needed(weights, learning, kept + answers * config.vocab_size * _LOGITS)


def _trained_weights(recipe: Recipe, model: Any) -> int:
    """The number of trained weights; for an adapter that of all linear layers, its maximum."""
    if recipe.tuning == "full":
        return sum(weight.numel() for weight in model.parameters())
    return sum(recipe.rank * (inputs + outputs) for _, (inputs, outputs) in linear_layers(model))


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
    longest = getattr(config, "max_position_embeddings", None)
    if longest and longest < recipe.longest:
        raise TrainingError(
            f"{recipe.base} reads {longest} tokens; set “longest: {longest}” in the recipe."
        )


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _free_memory() -> int:
    import psutil
    import torch

    if _device() == "cuda":
        free: int = torch.cuda.mem_get_info()[0]
        return free
    available: int = psutil.virtual_memory().available
    return available


def _advice(recipe: Recipe, free: int) -> str:
    if recipe.tuning == "full":
        return "set “tuning: lora” in the recipe, or choose a smaller base"
    if not recipe.checkpointing:
        return "set “checkpointing: true” in the recipe, or choose a smaller base"
    if recipe.pack > recipe.longest:
        return f"set “pack: {recipe.longest}” in the recipe, or choose a smaller base"
    if recipe.tuning == "lora":
        return "set “tuning: qlora” in the recipe, or choose a smaller base"
    return "choose a smaller base"
