"""LoRA adapters in GGUF files, read back into PEFT, so that a training can continue them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rolellm_agents.errors import ModelError
from rolellm_agents.text import one_line

if TYPE_CHECKING:
    import numpy as np

_A: Final = ".lora_a"
_B: Final = ".lora_b"


@dataclass(frozen=True)
class GgufAdapter:
    """A LoRA adapter in a GGUF file (arXiv 2106.09685)."""

    file: Path
    base: str
    """The base model that our exports name; empty in files of others."""
    architecture: str
    """The base model's architecture, as GGUF names it."""
    rank: int
    alpha: float
    weights: "Mapping[str, tuple[np.ndarray, np.ndarray]]"
    """A (rank × inputs) and B (outputs × rank), by the GGUF name of the weight that they change."""


def read_gguf_adapter(file: Path) -> GgufAdapter:
    """Read an adapter.

    Raises:
        ModelError: the file is missing or damaged, is not an adapter, or its ranks differ by layer.
    """
    import gguf

    try:
        reader = gguf.GGUFReader(file)
        fields = {name: field.contents() for name, field in reader.fields.items()}
        tensors = {
            tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            for tensor in reader.tensors
        }
    except FileNotFoundError:
        raise ModelError(f"There is no file {file}; name an adapter in GGUF.") from None
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ModelError(
            f"{file} cannot be read as GGUF ({one_line(str(error), 120)}); copy or export it again."
        ) from error
    if fields.get("general.type") != "adapter" or fields.get("adapter.type") != "lora":
        raise ModelError(f"{file} is not a LoRA adapter; name an adapter, and its base model with --base.")
    weights = _pairs(file, tensors)
    ranks = {a.shape[0] for a, _ in weights.values()}
    if len(ranks) != 1:
        raise ModelError(f"The adapter {file} has layers of different ranks, which cannot be continued.")
    return GgufAdapter(
        file,
        str(fields.get("rolellm.base") or ""),
        str(fields.get("general.architecture")),
        ranks.pop(),
        float(fields["adapter.lora.alpha"]),
        weights,
    )


def load_into(model: Any, adapter: GgufAdapter) -> None:
    """Copy an adapter's weights into the LoRA layers of a model.

    Args:
        model: a PEFT model with the adapter's rank over all layers that the adapter changes.
        adapter: the adapter.

    Raises:
        ModelError: the adapter has another base model.
    """
    import numpy as np
    import torch
    from transformers.modeling_gguf_pytorch_utils import (
        TENSOR_PROCESSORS,
        TensorProcessor,
        get_gguf_hf_weights_map,
    )

    processor = TENSOR_PROCESSORS.get(adapter.architecture, TensorProcessor)(
        config=model.config.to_dict() | {"architecture": adapter.architecture}
    )
    base = model.get_base_model()
    names = get_gguf_hf_weights_map(_Named(base), processor)
    parameters = dict(model.named_parameters())
    left = {name for name in parameters if ".lora_A." in name}
    for weight, (a, b) in adapter.weights.items():
        name = f"base_model.model.{names.get(weight, weight).removesuffix('.weight')}"
        first, second = f"{name}.lora_A.default.weight", f"{name}.lora_B.default.weight"
        # llama.cpp stores the rows of some weights in another order, and B's rows are the weight's.
        b = processor.process(np.ascontiguousarray(b), weight).weights
        for key, values in ((first, a), (second, b)):
            if key not in parameters or parameters[key].shape != values.shape:
                raise ModelError(
                    f"The adapter {adapter.file} has another base model ({weight} does not fit); "
                    "name its base model with --base."
                )
            with torch.no_grad():
                parameters[key].copy_(torch.from_numpy(np.array(values, dtype=np.float32)))
        left.discard(first)
    if left:
        raise ModelError(f"The adapter {adapter.file} changes only a part of the layers; train a new one.")


class _Named:
    """A model for `get_gguf_hf_weights_map`, with the names that its weights have without PEFT."""

    def __init__(self, model: Any) -> None:
        self.config = model.config
        self._names = [name.replace(".base_layer.", ".") for name, _ in model.named_parameters()]

    def state_dict(self) -> list[str]:
        return [name for name in self._names if ".lora_" not in name]

    def named_children(self) -> list[tuple[str, Any]]:
        return []


def _pairs(file: Path, tensors: "Mapping[str, np.ndarray]") -> "dict[str, tuple[np.ndarray, np.ndarray]]":
    pairs = {
        name.removesuffix(_A): (a, tensors[name.removesuffix(_A) + _B])
        for name, a in tensors.items()
        if name.endswith(_A) and name.removesuffix(_A) + _B in tensors
    }
    if not pairs or 2 * len(pairs) != len(tensors):
        raise ModelError(f"The adapter {file} is damaged; copy or export it again.")
    return pairs
