"""Adapters in GGUF, as llama.cpp's converter writes them, and continued from there."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.files.bundled import BUNDLED
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_train.base.gguf_adapter import load_into, read_gguf_adapter
from rolellm_train.base.tuned import quiet
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe
from rolellm_train.training.start import continued_recipe

pytest.importorskip("peft")

HEADS, KV_HEADS = 4, 2
PLACES = {
    "self_attn.q_proj": ("attn_q", HEADS),
    "self_attn.k_proj": ("attn_k", KV_HEADS),
    "self_attn.v_proj": ("attn_v", 0),
    "self_attn.o_proj": ("attn_output", 0),
    "mlp.gate_proj": ("ffn_gate", 0),
    "mlp.up_proj": ("ffn_up", 0),
    "mlp.down_proj": ("ffn_down", 0),
}


def make_model(*, width: int = 32, rank: int = 3) -> Any:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=50,
            hidden_size=width,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=HEADS,
            num_key_value_heads=KV_HEADS,
        )
    )
    config = LoraConfig(r=rank, lora_alpha=6, target_modules="all-linear", task_type="CAUSAL_LM")
    with quiet():
        tuned = get_peft_model(model, config)
    for name, weight in tuned.named_parameters():
        if ".lora_" in name:
            torch.nn.init.normal_(weight)
    return tuned


def as_llama_cpp_stores(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """The order of rows that `convert_hf_to_gguf.py` gives to queries and keys (its `permute`)."""
    if not heads:
        return rows
    paired = rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
    return np.ascontiguousarray(paired.swapaxes(1, 2).reshape(rows.shape))


def write(model: Any, file: Path, *, kind: str = "adapter", left_out: str = "nothing") -> Path:
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_type(kind)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, 6.0)
    for name, weight in model.named_parameters():
        if ".lora_" not in name or left_out in name:
            continue
        place = name.removeprefix("base_model.model.model.layers.")
        layer, _, rest = place.partition(".")
        part, _, which = rest.removesuffix(".default.weight").rpartition(".")
        own, heads = PLACES[part]
        values = weight.detach().numpy()
        if which == "lora_B":
            values = as_llama_cpp_stores(values, heads)
        writer.add_tensor(f"blk.{layer}.{own}.weight.{which.lower()}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def test_every_weight_comes_back_to_its_place(tmp_path: Path) -> None:
    import torch

    tuned = make_model()
    adapter = read_gguf_adapter(write(tuned, tmp_path / "adapter.gguf"))
    assert (adapter.rank, adapter.alpha, adapter.architecture, adapter.base) == (3, 6.0, "llama", "")
    other = make_model()
    for name, weight in other.named_parameters():
        if ".lora_" in name:
            torch.nn.init.zeros_(weight)
    load_into(other, adapter)
    read = dict(other.named_parameters())
    for name, weight in tuned.named_parameters():
        assert torch.equal(weight, read[name]), name


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"width": 64}, "has another base model"), ({"rank": 4}, "has another base model")],
)
def test_an_adapter_that_does_not_fit_is_refused(
    tmp_path: Path, changed: dict[str, int], message: str
) -> None:
    adapter = read_gguf_adapter(write(make_model(), tmp_path / "adapter.gguf"))
    with pytest.raises(ModelError, match=message):
        load_into(make_model(**changed), adapter)


def test_an_adapter_of_some_layers_is_refused(tmp_path: Path) -> None:
    adapter = read_gguf_adapter(write(make_model(), tmp_path / "adapter.gguf", left_out="v_proj"))
    with pytest.raises(ModelError, match="only a part of the layers"):
        load_into(make_model(), adapter)


def test_what_is_no_adapter_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a LoRA adapter"):
        read_gguf_adapter(write(make_model(), tmp_path / "model.gguf", kind="model"))
    whole = write(make_model(), tmp_path / "whole.gguf").read_bytes()
    for size in range(0, len(whole), 997):
        (tmp_path / "cut.gguf").write_bytes(whole[:size])
        with pytest.raises(ModelError, match=r"cannot be read as GGUF|is not a LoRA adapter|is damaged"):
            read_gguf_adapter(tmp_path / "cut.gguf")
    with pytest.raises(ModelError, match="There is no file"):
        read_gguf_adapter(tmp_path / "none.gguf")
    with pytest.raises(ModelError, match="is damaged"):
        read_gguf_adapter(write(make_model(), tmp_path / "half.gguf", left_out="lora_B"))


def test_the_bundled_adapter_is_continued_by_its_name() -> None:
    recipe = Recipe(id="mine", about="", base="llamacpp:smollm2", rank=8, alpha=8)
    own = BUNDLED["rolesmol"].adapter
    assert own is not None
    for place in (Path("llamacpp:rolesmol"), own):
        further = continued_recipe(place, recipe)
        assert (further.rank, further.alpha, further.start) == (16, 32, str(own.resolve()))
    same = continued_recipe(own, recipe.model_copy(update={"base": str(embedded_gguf())}))
    assert same.start == str(own.resolve())
    with pytest.raises(TrainingError, match="is one of llamacpp:smollm2, and the recipe mine tunes"):
        continued_recipe(own, recipe.model_copy(update={"base": "llamacpp:gemma"}))


@pytest.mark.model
def test_the_bundled_adapter_computes_the_same_in_transformers() -> None:
    """Its most likely next token, after a prompt for which llama.cpp is sure of it."""
    import torch

    from rolellm_agents.models.catalog import get_model
    from rolellm_train.training.adapter import trainable
    from rolellm_train.training.loading import open_base

    recipe = continued_recipe(
        Path("llamacpp:rolesmol"), Recipe(id="mine", about="", base="llamacpp:smollm2")
    )
    base = open_base(recipe)
    question = [{"role": "user", "content": "What is the capital of France? Answer with one word."}]
    ids = base.tokenizer.apply_chat_template(
        question, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]
    tuned = trainable(base.model, recipe)
    tuned.base_model.model.config._attn_implementation = "eager"
    with torch.no_grad():
        first = int(tuned(input_ids=ids).logits[0, -1].argmax())
    said = get_model("llamacpp:rolesmol").bind(temperature=0, max_tokens=1).invoke(question).text
    assert base.tokenizer.decode([first]) == said
