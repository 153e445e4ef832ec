"""Convert a GGUF file to a transformers model with dequantized weights."""

import contextlib
from pathlib import Path
from typing import Any

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.files.gguf import check_gguf
from rolellm_agents.text import one_line


def unpack_gguf(gguf: Path, folder: Path) -> None:
    """Write a GGUF file's weights and tokenizer as a folder for transformers, PEFT and the converters.

    The weights are dequantized to 32-bit floats, so each takes four bytes.

    Args:
        gguf: a model whose architecture transformers can read from GGUF.
        folder: the folder to write, which need not exist.

    Raises:
        ModelError: the file cannot be read, or the extra `hf` is not installed.
    """
    check_gguf(gguf)
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise ModelError(
            f"Reading {gguf.name} needs the extra “hf” ({error.name} is missing); "
            "“pip install 'rolellm-agents[hf]'” installs it."
        ) from error
    source = {"gguf_file": gguf.name, "local_files_only": True}
    try:
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **source)
        model = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **source)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"transformers cannot read {gguf}: {one_line(str(error), 200)}.") from error
    unquantized(model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def unquantized(model: Any) -> None:
    """Remove the GGUF quantization config of a dequantized model.

    Trainers reject quantized models, and the converters need the architecture.
    """
    for place, mark in (
        (model, "hf_quantizer"),
        (model, "is_quantized"),
        (model.config, "quantization_config"),
    ):
        with contextlib.suppress(AttributeError):
            delattr(place, mark)
    model.config.architectures = [type(model).__name__]
