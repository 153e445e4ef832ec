"""Kinds of tuning: QLoRA, all weights, chosen layers; schedulers and experiment trackers."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import platformdirs
import pytest
import torch
from helpers.small_rolebench import ADA, BEN, SPECIFIC, samples_of, write_cast, write_data

from rolellm_agents.config.paths import APP_NAME
from rolellm_agents.errors import ModelError, RoleLLMError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.persona import Persona, list_personas
from rolellm_train.base.tuned import quiet
from rolellm_train.export.converters import cached_converters
from rolellm_train.export.export import ExportOptions, export
from rolellm_train.recipe import Recipe
from rolellm_train.training import memory
from rolellm_train.training.adapter import linear_layers
from rolellm_train.training.loading import open_base
from rolellm_train.training.memory import Batch, memory_needed
from rolellm_train.training.preflight import check
from rolellm_train.training.rocit import train
from rolellm_train.training.start import continued_recipe
from rolellm_train.training.tuning import ADAPTER, MODEL

pytest.importorskip("peft")

PACK = Batch(tokens=1200, labels=600)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random LLaMA with the embedded model's words, in a folder for transformers."""
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    place = tmp_path_factory.mktemp("base")
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
                max_position_embeddings=1024,
                initializer_range=0.06,
            )
        )
        with torch.no_grad():
            model.lm_head.weight *= (0.5 * torch.randn(len(tokenizer), 1)).exp()
        model.save_pretrained(place)
        tokenizer.save_pretrained(place)
    return place


@pytest.fixture
def cast() -> list[Persona]:
    write_cast(ADA, BEN)
    return [found.persona for found in list_personas().found if found.origin == "user"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_data(tmp_path / "data", [], samples_of(SPECIFIC))
    return tmp_path / "data"


@pytest.fixture
def recipe(base: Path) -> Recipe:
    return Recipe(
        id="tiny",
        about="",
        base=str(base),
        general=0,
        rank=4,
        learning_rate=0.01,
        warmup=0,
        epochs=8,
        longest=1000,
        pack=1200,
        packs_per_step=1,
        held_out_questions=1,
        evaluations=1,
        patience=9,
    )


def losses_of(recipe: Recipe, data: Path, cast: list[Persona], folder: Path) -> list[float]:
    found: list[float] = []

    def on_step(step: int, steps: int, figures: Any) -> None:
        if "loss" in figures:
            found.append(figures["loss"])

    train(recipe, [data], cast, folder, on_step=on_step)
    return found


def test_a_base_in_4_bits_is_learned_on_by_an_adapter_like_any_other(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    pytest.importorskip("bitsandbytes")
    in_4_bits = recipe.model_copy(update={"tuning": "qlora"})
    opened = open_base(in_4_bits).model
    kinds = {type(layer).__name__ for name, layer in opened.named_modules() if name.endswith("_proj")}
    assert kinds == {"Linear4bit"}
    whole = open_base(recipe).model
    assert linear_layers(opened) == linear_layers(whole)
    assert memory_needed(in_4_bits, opened, PACK).weights < memory_needed(recipe, whole, PACK).weights
    losses = losses_of(in_4_bits, data, cast, tmp_path / "run")
    assert losses[-1] < 0.9 * losses[0], losses
    assert (tmp_path / "run" / ADAPTER / "adapter_model.safetensors").is_file()


def test_a_gguf_file_is_refused_in_4_bits_before_it_is_opened(recipe: Recipe) -> None:
    refused = recipe.model_copy(update={"tuning": "qlora", "base": "llamacpp:smollm2"})
    with pytest.raises(RoleLLMError, match=r"is a GGUF file.*--base.*tuning: lora"):
        open_base(refused)


def test_chosen_layers_alone_have_an_adapter(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    chosen = recipe.model_copy(update={"target_modules": ("q_proj", "v_proj"), "epochs": 1})
    tuned = train(chosen, [data], cast, tmp_path / "run")
    names = load_file(tuned.weights / "adapter_model.safetensors")
    assert {name.split(".lora_")[0].rpartition(".")[2] for name in names} == {"q_proj", "v_proj"}


def test_layers_that_are_not_there_are_named_with_those_that_are(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    other = recipe.model_copy(update={"target_modules": ("q_proj", "c_attn")})
    with pytest.raises(RoleLLMError, match=r"no layers c_attn; set “target_modules”.*down_proj, .*q_proj"):
        train(other, [data], cast, tmp_path / "run")


def test_layers_that_cannot_have_an_adapter_are_told(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    other = recipe.model_copy(update={"target_modules": ("input_layernorm",)})
    with pytest.raises(RoleLLMError, match=r"PEFT cannot train an adapter of .*set other “target_modules”"):
        train(other, [data], cast, tmp_path / "run")


def test_a_base_that_is_quantized_already_is_refused(recipe: Recipe, tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes")
    opened = open_base(recipe.model_copy(update={"tuning": "qlora"}))
    with quiet():
        opened.model.save_pretrained(tmp_path / "four")
        opened.tokenizer.save_pretrained(tmp_path / "four")
    four = recipe.model_copy(update={"base": str(tmp_path / "four")})
    with pytest.raises(RoleLLMError, match=r"is quantized already \(bitsandbytes\); set “tuning: qlora”"):
        open_base(four)
    with pytest.raises(RoleLLMError, match=r"quantized already \(bitsandbytes\); name the model that"):
        open_base(four.model_copy(update={"tuning": "full"}))
    assert open_base(four.model_copy(update={"tuning": "qlora"})).model.is_quantized


def test_no_adapter_is_continued_where_all_weights_are_tuned(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(RoleLLMError, match=r"--from continues an adapter.*set “tuning: lora”"):
        continued_recipe(tmp_path, recipe.model_copy(update={"tuning": "full"}))


@pytest.fixture(scope="module")
def converters() -> Path:
    cache = platformdirs.user_cache_path(APP_NAME, appauthor=False) / "llama.cpp"
    try:
        return cached_converters(cache, library.version().partition("+")[0], lambda _: None)
    except ModelError as error:
        if "cannot be downloaded" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.mark.timeout(1800)
def test_all_weights_are_tuned_exported_and_tuned_on(
    recipe: Recipe, base: Path, data: Path, cast: list[Persona], converters: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    run = tmp_path / "run"
    losses = losses_of(
        recipe.model_copy(update={"tuning": "full", "learning_rate": 0.001}), data, cast, run
    )
    assert losses[-1] < 0.9 * losses[0], losses
    before, after = (load_file(folder / "model.safetensors") for folder in (base, run / MODEL))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert len(changed) == len(before)

    with pytest.raises(RoleLLMError, match=r"no adapter to continue.*--base .*model instead of --from"):
        continued_recipe(run, recipe)

    exported = export(ExportOptions(source=run, llama_cpp=converters, name="whole"), lambda _: None)
    assert set(exported.files) == {"whole-q8_0.gguf"}
    (parity,) = exported.parities
    assert (parity.passed, parity.same_ids, parity.same_template) == (True, 20, True)
    assert get_model("whole", temperature=0, max_tokens=4).invoke("Who are you?").text
    card = (run / "export" / "README.md").read_text(encoding="utf-8")
    assert "- gguf\n" in card
    assert "- lora\n" not in card

    again = recipe.model_copy(update={"base": str(run / MODEL), "epochs": 1})
    on = losses_of(again, data, cast, tmp_path / "again")
    assert on[0] < losses[0]


def test_a_tuning_of_all_weights_counts_their_gradients_and_averages(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = recipe.model_copy(update={"tuning": "full"})
    model = open_base(whole).model
    weights = sum(weight.numel() for weight in model.parameters())
    needed = memory_needed(whole, model, PACK)
    assert (needed.weights, needed.learning) == (4 * weights, 12 * weights)
    with_few = memory_needed(whole.model_copy(update={"optimizer": "adafactor"}), model, PACK)
    assert with_few.learning == 5 * weights
    monkeypatch.setattr(memory, "_free_memory", lambda: needed.weights)
    with pytest.raises(RoleLLMError, match=r"set “tuning: lora”"):
        check(whole, model, PACK)


def test_the_course_of_the_learning_rate_is_the_recipes(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    rates: list[float] = []

    def on_step(step: int, steps: int, figures: Any) -> None:
        if "learning_rate" in figures:
            rates.append(figures["learning_rate"])

    linear = recipe.model_copy(update={"scheduler": "linear", "warmup": 0.0, "epochs": 4})
    train(linear, [data], cast, tmp_path / "run", on_step=on_step)
    falls = [one - other for one, other in pairwise(rates)]
    assert len(falls) >= 2
    assert falls == pytest.approx([falls[0]] * len(falls))
    assert falls[0] > 0


def test_tensorboard_is_written_into_the_run_and_changes_nothing(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    pytest.importorskip("tensorboardX")
    shown = recipe.model_copy(update={"report_to": ("tensorboard",)})
    losses = losses_of(shown, data, cast, tmp_path / "run")
    (events,) = (tmp_path / "run" / "tensorboard").glob("events.out.tfevents.*")
    content = events.read_bytes()
    assert b"train/loss" in content
    assert b"eval/loss" in content
    # The same run, whether it is shown or not.
    assert losses_of(recipe, data, cast, tmp_path / "run") == []
    assert losses == losses_of(recipe, data, cast, tmp_path / "other")


def test_a_tracker_that_is_not_installed_is_named(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.integrations.integration_utils.is_wandb_available", lambda: False)
    with pytest.raises(RoleLLMError, match=r"wandb is not installed; “pip install wandb”"):
        train(recipe.model_copy(update={"report_to": ("wandb",)}), [data], cast, tmp_path / "run")
