"""QLoRA: a base model in 4 bits under the trained adapter (Dettmers et al., arXiv 2305.14314)."""

from typing import Any

from rolellm_agents.errors import ModelError
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe
from rolellm_train.training import processes


def in_4_bits(recipe: Recipe, *, is_gguf: bool) -> dict[str, Any]:
    """The arguments with which transformers opens a base model in 4 bits.

    They are those of the paper: NormalFloat with quantized constants, and computing in 16 bits.

    Args:
        recipe: the recipe of the training.
        is_gguf: whether the base model is a GGUF file.

    Raises:
        ModelError: the extra `qlora` is not installed.
        TrainingError: the base model is a GGUF file, which transformers cannot open in 4 bits.
    """
    if is_gguf:
        raise TrainingError(
            f"{recipe.base} is a GGUF file, which transformers cannot open in 4 bits; name a folder or a "
            "model of the hub with --base, or set “tuning: lora”."
        )
    try:
        import bitsandbytes  # noqa: F401
    except ImportError as error:
        raise ModelError(
            "QLoRA needs bitsandbytes, which is not installed; “pip install 'rolellm-agents[qlora]'” "
            "installs it."
        ) from error
    import torch
    from transformers import BitsAndBytesConfig

    on_gpu = torch.cuda.is_available()
    quantization = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16 if on_gpu else torch.float32,
    )
    # The weights are quantized on the device where they stay.
    device = processes.local_rank() if on_gpu else "cpu"
    return {"quantization_config": quantization, "device_map": {"": device}}
