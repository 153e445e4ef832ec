"""A PEFT adapter on disk: whether it is complete, fits its base, and can be written as GGUF."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rolellm_agents.errors import ModelError
from rolellm_agents.text import one_line

if TYPE_CHECKING:
    import torch

CONFIG: Final = "adapter_config.json"
_WEIGHTS: Final = "adapter_model.safetensors"
_UNSAYABLE: Final = {
    "use_dora": "DoRA",
    "use_rslora": "rank-stabilized scaling (rslora)",
    "alpha_pattern": "an alpha for each layer",
    "modules_to_save": "complete layers in addition to the LoRA weights",
    "trainable_token_indices": "tokens of its own",
    "lora_bias": "biases",
    "target_parameters": "experts' weights",
}
"""Features of PEFT that adapters of llama.cpp (one alpha, two matrices per weight) cannot represent."""


@dataclass(frozen=True)
class PeftAdapter:
    """An adapter on disk."""

    folder: Path
    base: str
    """The base model that the adapter names."""
    shapes: Mapping[str, tuple[int, int]]
    """The shapes of the weights that the adapter changes, outputs × inputs, by the name of the weight."""
    rank: int
    alpha: float


def read_adapter(folder: Path) -> PeftAdapter:
    """Read an adapter, and reject kinds that llama.cpp cannot run.

    Raises:
        ModelError: the adapter is missing or damaged, or GGUF cannot represent it.
    """
    config = _read_config(folder)
    kind = config.get("peft_type")
    if kind != "LORA":
        raise ModelError(f"The adapter {folder} is of the kind {kind}; only LoRA can be exported.")
    for key, description in _UNSAYABLE.items():
        if config.get(key):
            raise ModelError(
                f"The adapter {folder} has {description}, which GGUF does not support; tune an "
                "adapter without it."
            )
    if config.get("bias", "none") != "none":
        raise ModelError(
            f"The adapter {folder} has biases, which GGUF does not support; tune an adapter without them."
        )
    weights = _read_weights(folder / _WEIGHTS)
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or not isinstance(alpha, int | float):
        raise ModelError(f"{folder / CONFIG} has no rank and alpha; train the adapter again.")
    base = config.get("base_model_name_or_path") or ""
    return PeftAdapter(folder, base, _shapes(folder, weights), rank, float(alpha))


def check_fits(adapter: PeftAdapter, base: Path, name: str) -> None:
    """Check that every weight that the adapter changes has the same shape in the base model.

    Args:
        adapter: the adapter.
        base: the folder of the base model; only its configuration is read.
        name: the base model's name for messages.

    Raises:
        ModelError: the adapter was made for another base.
    """
    shapes = _weight_shapes(base)
    for weight, shape in adapter.shapes.items():
        if shapes.get(weight) not in (shape, shape[::-1]):  # GPT-2's are the other way round
            actual = " × ".join(map(str, shapes[weight])) if weight in shapes else "not there"
            raise ModelError(
                f"The adapter {adapter.folder} was made for another base model than {name} ({weight} is "
                f"{' × '.join(map(str, shape))} in one and {actual} in the other); "
                "name its own base model with --base."
            )


def _read_config(folder: Path) -> dict[str, Any]:
    file = folder / CONFIG
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"There is no adapter in {folder}; it has no {CONFIG}.") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read ({error}); train the adapter again.") from error
    if not isinstance(config, dict):
        raise ModelError(f"{file} holds no adapter's configuration; train the adapter again.")
    return config


def _read_weights(file: Path) -> "dict[str, torch.Tensor]":
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not file.is_file():
        raise ModelError(f"There is no {file.name} in {file.parent}; save the adapter as safetensors.")
    try:
        return load_file(file)
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(
            f"{file} is damaged ({one_line(str(error), 120)}); copy it again, or train it again."
        ) from error


def _shapes(folder: Path, weights: "Mapping[str, torch.Tensor]") -> dict[str, tuple[int, int]]:
    shapes: dict[str, tuple[int, int]] = {}
    for name, tensor in weights.items():
        if not bool(tensor.isfinite().all()):
            raise ModelError(
                f"The adapter {folder} holds NaN or infinity in {name}; train it again with a lower "
                "learning rate."
            )
        weight, mark, _ = name.removeprefix("base_model.model.").partition(".lora_A.")
        if mark:
            other = weights.get(name.replace(".lora_A.", ".lora_B."))
            if other is None or other.dim() != 2 or tensor.dim() != 2 or other.shape[1] != tensor.shape[0]:
                raise ModelError(
                    f"The adapter {folder} is damaged at {weight}; copy it again, or train it again."
                )
            shapes[f"{weight}.weight"] = (int(other.shape[0]), int(tensor.shape[1]))
    if not shapes:
        raise ModelError(f"The adapter {folder} holds no LoRA weights; train it again.")
    return shapes


def _weight_shapes(base: Path) -> dict[str, tuple[int, ...]]:
    """Names of the base's weights in transformers, without loading them."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        config = AutoConfig.from_pretrained(base, local_files_only=True)
        model = AutoModelForCausalLM.from_config(config)
    return {name: tuple(weight.shape) for name, weight in model.named_parameters()}
