"""LoRA weights over an opened base model: new ones, or those of a run to continue."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rolellm_agents.errors import ModelError
from rolellm_agents.text import one_line
from rolellm_train.base.gguf_adapter import load_into, read_gguf_adapter
from rolellm_train.base.tuned import quiet
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe


def trainable(model: Any, recipe: Recipe) -> Any:
    """Prepare a base model so that only the weights that the recipe trains are trainable.

    These are new LoRA weights (arXiv 2106.09685), those of the run to continue, or all weights.

    Raises:
        ModelError: the adapter to continue is missing or has another base model.
        TrainingError: PEFT cannot give the layers in `target_modules` low-rank weights.
    """
    from peft import PeftModel

    # The base as named in the adapter's file.
    model.name_or_path = recipe.base
    if recipe.tuning == "full":
        return model.train()
    if recipe.start.endswith(".gguf"):
        adapter = read_gguf_adapter(Path(recipe.start))
        tuned = _with_new_adapter(model, recipe)
        load_into(tuned, adapter)
        return tuned
    if recipe.start:
        try:
            with quiet():
                return PeftModel.from_pretrained(model, recipe.start, is_trainable=True)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelError(
                f"The adapter {recipe.start} cannot be continued ({one_line(str(error), 160)}); "
                "name one of the same base model with --from."
            ) from error
    return _with_new_adapter(model, recipe)


def _with_new_adapter(model: Any, recipe: Recipe) -> Any:
    from peft import LoraConfig, get_peft_model

    if recipe.target_modules != "all-linear":
        _check_layers(model, recipe, recipe.target_modules)
    config = LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules="all-linear" if recipe.target_modules == "all-linear" else [*recipe.target_modules],
        task_type="CAUSAL_LM",
    )
    try:
        with quiet():
            return get_peft_model(model, config)
    except ValueError as error:
        raise TrainingError(
            f"PEFT cannot train an adapter of {recipe.base} ({one_line(str(error), 200)}); set other "
            "“target_modules” in the recipe."
        ) from error


def _check_layers(model: Any, recipe: Recipe, wanted: Sequence[str]) -> None:
    """Reject names of layers that are not there; PEFT only notices if it finds none at all."""
    names = [name for name, _ in model.named_modules()]
    missing = [one for one in wanted if not any(name == one or name.endswith(f".{one}") for name in names)]
    if missing:
        layers = sorted({name.rpartition(".")[2] for name, _ in linear_layers(model)})
        raise TrainingError(
            f"{recipe.base} has no layers {', '.join(missing)}; set “target_modules” in the recipe to some "
            f"of {', '.join(layers)}."
        )


def has_adapter(model: Any) -> bool:
    """Whether only an adapter of this model is trained."""
    from peft import PeftModel

    return isinstance(model, PeftModel)


def linear_layers(model: Any) -> list[tuple[str, tuple[int, int]]]:
    """The linear layers of a model without its output layer: names, inputs and outputs."""
    from transformers.pytorch_utils import Conv1D

    output = model.get_output_embeddings()
    layers: list[tuple[str, tuple[int, int]]] = []
    for name, layer in model.named_modules():
        if isinstance(layer, Conv1D):  # GPT-2's
            layers.append((name, (layer.nx, layer.nf)))
        elif hasattr(layer, "in_features") and layer is not output:
            layers.append((name, (layer.in_features, layer.out_features)))
    return layers
