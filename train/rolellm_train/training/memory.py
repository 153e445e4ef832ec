"""The approximate memory of a training, the free memory, and what to change if it does not suffice."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from rolellm_train.base.base import find_base
from rolellm_train.data.packing import PackedSequence
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Optimizer, Recipe
from rolellm_train.training import processes
from rolellm_train.training.adapter import linear_layers

_STATE: Final[Mapping[Optimizer, int]] = {
    "adamw_torch_fused": 16,
    "adafactor": 9,
    "adamw_8bit": 10,
    "paged_adamw_8bit": 10,
}
"""Bytes of a trainable weight: the weight, its gradient, and the optimizer's averages."""
_KEPT: Final = 17
"""Activations per token and layer, as multiples of the hidden width, that a backward pass keeps
(Korthikanti et al., arXiv 2205.05198, §4.1: 34 bytes in 16 bits, without attention scores, which are
computed piecewise)."""
_LOGITS: Final = 16
"""Bytes of a token's logit: computed, as a 32-bit float, as a logarithm, and the gradients of these."""
_GIB: Final = 2**30


class Batch(NamedTuple):
    """The largest batch of a training."""

    tokens: int
    labels: int
    """The number of tokens whose probability is computed."""


class Needed(NamedTuple):
    """The approximate memory of a training, in bytes."""

    weights: int
    learning: int
    activations: int

    @property
    def total(self) -> int:
        """The sum of all parts, in bytes."""
        return sum(self)


def largest_pack(packs: Iterable[PackedSequence]) -> Batch:
    """The size of a batch that is as large as the largest of these packs."""
    sizes = [Batch(len(pack), _labels(pack)) for pack in packs]
    return Batch(max(size.tokens for size in sizes), max(size.labels for size in sizes))


def _labels(pack: PackedSequence) -> int:
    return sum(len(answer) for tree in pack.trees for row in tree.rows for answer in row.answers)


def memory_needed(recipe: Recipe, model: Any, largest: Batch) -> Needed:
    """Estimate the memory from the sizes of the model's layers and of the largest batch."""
    config = getattr(model.config, "text_config", model.config)
    weights = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    trained = _trained_weights(recipe, model) * _STATE[recipe.optimizer]
    # Of a complete tuning, the weights themselves are counted already.
    learning = trained - weights if recipe.tuning == "full" else trained
    # With checkpointing each layer keeps only its input, and one layer at a time keeps all activations.
    layers = config.num_hidden_layers
    of_a_token = (layers + _KEPT) if recipe.checkpointing else layers * _KEPT
    width = config.hidden_size * model.get_input_embeddings().weight.element_size()
    logits = largest.labels * config.vocab_size * _LOGITS
    return Needed(weights, learning, of_a_token * width * largest.tokens + logits)


def check_memory(recipe: Recipe, model: Any, largest: Batch) -> Needed:
    """Reject a training that would not fit into the memory of a process.

    Args:
        recipe: the recipe of the training.
        model: the loaded base model without an adapter.
        largest: the largest batch.

    Raises:
        TrainingError: there is too little memory; the message says what would need less.
    """
    needed = memory_needed(recipe, model, largest)
    free = _free_memory()
    # The base model is in memory, and the trainer moves it to a GPU only after this check.
    loaded = next(model.parameters()).device.type == _device()
    if (0 if loaded else needed.weights) + needed.learning + needed.activations > free:
        raise TrainingError(
            f"Training {recipe.base} needs about {needed.total / _GIB:.1f} GiB, and {free / _GIB:.1f} are "
            f"free; {_advice(recipe)}."
        )
    return needed


def out_of_memory(recipe: Recipe) -> TrainingError:
    """The error of a training that ran out of a GPU's memory, with what would need less."""
    return TrainingError(f"The GPU's memory does not suffice to train {recipe.base}; {_advice(recipe)}.")


def _trained_weights(recipe: Recipe, model: Any) -> int:
    """The number of trained weights; for an adapter that of all linear layers, its maximum."""
    if recipe.tuning == "full":
        return sum(weight.numel() for weight in model.parameters())
    return sum(recipe.rank * (inputs + outputs) for _, (inputs, outputs) in linear_layers(model))


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _free_memory() -> int:
    """The free memory of this process's GPU, or its share of the machine's, in bytes."""
    import psutil
    import torch

    if _device() == "cuda":
        free: int = torch.cuda.mem_get_info(processes.local_rank())[0]
        return free
    available: int = psutil.virtual_memory().available
    return available // processes.local_count()


def _advice(recipe: Recipe) -> str:
    if recipe.tuning == "full":
        return "set “tuning: lora” in the recipe, or choose a smaller base"
    if not recipe.checkpointing:
        return "set “checkpointing: true” in the recipe, or choose a smaller base"
    if recipe.objective == "grpo" and recipe.samples > 2:
        return "set fewer “samples” in the recipe, or choose a smaller base"
    if recipe.objective != "grpo" and recipe.pack > recipe.longest:
        return f"set “pack: {recipe.longest}” in the recipe, or choose a smaller base"
    if recipe.tuning == "lora" and find_base(recipe.base).gguf is None:
        return "set “tuning: qlora” in the recipe, or choose a smaller base"
    return "choose a smaller base"
