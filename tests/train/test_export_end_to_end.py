"""The one export by llama.cpp's real converters. They are fetched once, into the user's own cache."""

import json
from pathlib import Path

import platformdirs
import pytest
import yaml

from rolellm_agents.config.paths import APP_NAME
from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_train.base.gguf_adapter import load_into, read_gguf_adapter
from rolellm_train.base.tuned import quiet
from rolellm_train.export.converters import cached_converters
from rolellm_train.export.export import ExportOptions, export

pytest.importorskip("peft")


@pytest.fixture(scope="module")
def converters() -> Path:
    """Of the installed version."""
    cache = platformdirs.user_cache_path(APP_NAME, appauthor=False) / "llama.cpp"
    try:
        return cached_converters(cache, library.version().partition("+")[0], lambda _: None)
    except ModelError as error:
        if "cannot be downloaded" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model with the embedded one's words, and an adapter over all its layers."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    place = tmp_path_factory.mktemp("tuned")
    torch.manual_seed(11)
    with quiet():
        gguf = embedded_gguf()
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, local_files_only=True)
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=256,
                intermediate_size=256,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=512,
                initializer_range=0.06,
            )
        )
        # Some words are likelier than others, as in life: the likeliest of 49,152 is then no mere chance.
        with torch.no_grad():
            model.lm_head.weight *= (2 * torch.randn(len(tokenizer), 1)).exp()
        model.save_pretrained(place / "base")
        tokenizer.save_pretrained(place / "base")
        adapted = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules="all-linear"))
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.05)
        adapted.save_pretrained(place / "adapter")
    return place


def check_that_the_adapter_reads_back(tuned: Path) -> None:
    """A training continues the exported file with the weights of the adapter that was exported."""
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import AutoModelForCausalLM

    with quiet():
        base = AutoModelForCausalLM.from_pretrained(tuned / "base")
        own = dict(PeftModel.from_pretrained(base, tuned / "adapter").named_parameters())
        base = AutoModelForCausalLM.from_pretrained(tuned / "base")
        read = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules="all-linear"))
    load_into(read, read_gguf_adapter(tuned / "out" / "adapter.gguf"))
    weights = {name: weight for name, weight in read.named_parameters() if ".lora_" in name}
    assert weights
    for name, weight in weights.items():
        assert torch.allclose(weight, own[name], rtol=2e-3, atol=1e-5), name


@pytest.mark.timeout(1800)
def test_an_export_by_llama_cpps_converters_is_what_was_tuned(tuned: Path, converters: Path) -> None:
    options = ExportOptions(
        source=tuned / "adapter",
        base=str(tuned / "base"),
        to=tuned / "out",
        merged=("f16", "q8_0", "q4_k_m"),
        llama_cpp=converters,
        name="tiny",
    )
    exported = export(options, lambda _: None)
    files = {"adapter.gguf", "tiny-f16.gguf", "tiny-q8_0.gguf", "tiny-q4_k_m.gguf"}
    assert set(exported.files) == files
    assert {parity.file for parity in exported.parities} == files
    for parity in exported.parities:
        assert parity.passed
        assert (parity.same_ids, parity.same_template) == (20, True)
    for parity in exported.parities[:2]:
        assert parity.agreement >= 0.99
        assert parity.reply == parity.reference_reply
    check_that_the_adapter_reads_back(tuned)
    assert exported.files["tiny-q8_0.gguf"] < 0.6 * exported.files["tiny-f16.gguf"]
    assert exported.spec == f"llamacpp:{tuned / 'out' / 'tiny-q8_0.gguf'}"
    assert get_model("tiny", temperature=0, max_tokens=4).invoke("Who are you?").text
    report = json.loads((tuned / "out" / "parity.json").read_text(encoding="utf-8"))
    assert report["parity"][0]["agreement"] >= 0.99
    assert yaml.safe_load((tuned / "out" / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    modelfile = (tuned / "out" / "Modelfile").read_text(encoding="utf-8")
    assert modelfile.startswith("FROM ./tiny-q8_0.gguf\n")
    # This tokenizer's mark of the beginning is the one that begins a turn, and nobody else puts it.
    assert '{{ if eq .Role "system" }}<|im_start|>system\n' in modelfile
