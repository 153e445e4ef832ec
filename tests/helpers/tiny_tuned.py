"""A tiny base, an adapter over it, and converters for just these: an export in seconds."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from helpers.tiny_gguf import make_tiny_gguf
from rolellm_train.base.gguf_metadata import write_with_metadata
from rolellm_train.base.tuned import quiet

_CONTEXT = 512
"""Tokens: enough to speak, few to compute."""
_LORA = """
import os, sys
from pathlib import Path
import gguf
from safetensors.numpy import load_file

arguments = dict(zip(sys.argv[1:-1:2], sys.argv[2:-1:2]))
writer = gguf.GGUFWriter(arguments["--outfile"], "llama")
writer.add_type(gguf.GGUFType.ADAPTER)
writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, 16.0)
names = {"self_attn.v_proj": "attn_v", "mlp.down_proj": "ffn_down"}
for name, tensor in load_file(Path(sys.argv[-1]) / "adapter_model.safetensors").items():
    layer, _, rest = name.removeprefix("base_model.model.model.layers.").partition(".")
    part, _, which = rest.removesuffix(".weight").rpartition(".")
    strength = STRENGTH if which == "lora_B" else 1.0
    writer.add_tensor(f"blk.{layer}.{names[part]}.weight.{which.lower()}", tensor * strength)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
"""
_MODEL = """
import shutil, sys
from pathlib import Path

shutil.copy(Path(__file__).parent / "base.gguf", sys.argv[sys.argv.index("--outfile") + 1])
"""


def make_base(
    place: Path, *, seed: int = 1, width: int = 64, facts: Mapping[str, str] | None = None
) -> Path:
    """A GGUF that transformers reads with the same tokens.

    Args:
        place: the folder to write it to.
        seed: of the weights.
        width: of the embedding.
        facts: other metadata.
    """
    place.mkdir(parents=True, exist_ok=True)
    own = make_tiny_gguf(place / "own.gguf", seed=seed, width=width, n_ctx=_CONTEXT)
    # In transformers a tokenizer of this kind splits words as GPT-2's does.
    write_with_metadata(own, place / "tiny.gguf", {"tokenizer.ggml.pre": "gpt-2", **(facts or {})})
    own.unlink()
    return place / "tiny.gguf"


def make_peft_adapter(folder: Path, base: Path) -> Path:
    """Random LoRA weights over a folder for transformers, as PEFT saves them."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(7)
    with quiet():
        model = AutoModelForCausalLM.from_pretrained(base, local_files_only=True)
        config = LoraConfig(r=4, lora_alpha=16, target_modules=["v_proj", "down_proj"])
        tuned = get_peft_model(model, config)
        for name, weight in tuned.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.2)
        tuned.save_pretrained(folder)
    return folder


def make_converters(folder: Path, base: Path, *, strength: float = 1.0) -> Path:
    """What stands in for llama.cpp's converters.

    Args:
        folder: to write.
        base: the GGUF that converting the base's folder gives.
        strength: 1 is the adapter as it was tuned.
    """
    folder.mkdir(parents=True)
    (folder / "convert_lora_to_gguf.py").write_text(_LORA.replace("STRENGTH", str(strength)))
    (folder / "convert_hf_to_gguf.py").write_text(_MODEL)
    shutil.copy(base, folder / "base.gguf")
    return folder
