"""Recipes, and what is refused before any hour is spent."""

from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_gguf import make_tiny_gguf

from rolellm_agents.errors import RoleLLMError
from rolellm_train.recipe import Recipe, bundled_recipes, load_recipe, recorded_recipe, with_settings
from rolellm_train.training import memory, processes
from rolellm_train.training.loading import open_base
from rolellm_train.training.memory import Batch, memory_needed
from rolellm_train.training.preflight import check

PACK = Batch(tokens=1024, labels=512)


@pytest.mark.parametrize("name", bundled_recipes())
def test_every_recipe_can_be_read_and_says_what_it_is_and_where_from(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.id == name
    assert len(recipe.about) > 40
    assert "arXiv" in recipe.cites


def test_the_recipes_that_are_asked_for_are_there() -> None:
    assert {"smoke", "smollm2", "rolellama-7b", "rolellama3-8b", "qwen-role-zh"} <= set(bundled_recipes())


def test_an_unknown_recipe_is_told_the_near_one() -> None:
    with pytest.raises(RoleLLMError, match=r"no recipe 'smolm2'.*smollm2.*ends in \.yaml"):
        load_recipe("smolm2")


def test_a_recipe_of_ones_own_is_wrong_on_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("id: mine\nabout: a try\nbase: x\nrank: many\n")
    with pytest.raises(RoleLLMError, match=r"line 4.*rank"):
        load_recipe(str(file))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("margin: 1.0", r"mine\.yaml: “margin” has no effect on the objective rocit, only on simpo"),
        ("pack: 512", r"mine\.yaml, line 1: pack=512 is shorter than longest=1024; set both\.$"),
    ],
)
def test_a_recipe_whose_fields_cannot_be_used_is_refused(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"id: mine\nabout: a try\nbase: x\n{line}\n")
    with pytest.raises(RoleLLMError, match=words):
        load_recipe(str(file))


def test_every_field_has_a_meaning() -> None:
    assert [name for name, field in Recipe.model_fields.items() if not field.description] == []


def test_fields_are_set_as_in_the_file() -> None:
    found = with_settings(
        load_recipe("smollm2"),
        [
            "rank=32",
            "learning_rate=1e-4",
            "tuning=full",
            "target_modules=[q_proj, v_proj]",
            "forms={card: 1}",
        ],
    )
    assert (found.rank, found.learning_rate, found.tuning) == (32, 1e-4, "full")
    assert found.target_modules == ("q_proj", "v_proj")
    assert found.forms == {"card": 1.0}
    assert found.model_copy(update=load_recipe("smollm2").model_dump()) == load_recipe("smollm2")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("rnak=3", r"'rnak=3' sets no field of a recipe; did you mean 'rank'\?|rank"),
        ("rank", r"write FIELD=VALUE"),
        ("rank=many", r"rank='many' is invalid: Input should be a valid integer"),
        ("dropout=2", r"dropout=2 is invalid: Input should be less than 1"),
        ("scheduler=square", r"scheduler='square' is invalid: Input should be 'cosine'"),
        ("forms={a", r"is not valid YAML; quote it"),
        ("samples=4", r"“samples” has no effect on the objective rocit, only on grpo; leave it out"),
        ("pack=256", r"^pack=256 is shorter than longest=512; set both\.$"),
    ],
)
def test_what_cannot_be_set_is_told(setting: str, words: str) -> None:
    with pytest.raises(RoleLLMError, match=words):
        with_settings(load_recipe("smoke"), [setting])


def test_a_run_of_an_earlier_version_is_resumed_and_a_tracker_makes_no_other_run() -> None:
    recipe = load_recipe("dpo")
    assert not {"tuning", "scheduler", "margin", "report_to"} & recorded_recipe(recipe).keys()
    shown = with_settings(recipe, ["report_to=[tensorboard]"])
    assert recorded_recipe(shown) == recorded_recipe(recipe)
    other = with_settings(recipe, ["scheduler=linear"])
    assert recorded_recipe(other) == {**recorded_recipe(recipe), "scheduler": "linear"}


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    return Recipe(id="tiny", about="", base=str(make_tiny_gguf(tmp_path / "tiny.gguf", seed=1)))


def test_what_fits_is_let_through_with_what_it_needs(recipe: Recipe) -> None:
    model = open_base(recipe).model
    needed = check(recipe, model, PACK)
    assert needed == memory_needed(recipe, model, PACK)
    assert needed.weights == sum(4 * weight.numel() for weight in model.parameters())


def test_too_little_memory_is_told_before_with_what_would_fit(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_base(recipe).model
    monkeypatch.setattr(memory, "_free_memory", lambda: 1_000)
    with pytest.raises(RoleLLMError, match=r"needs about .* GiB.*set “checkpointing: true”"):
        check(recipe, model, PACK)
    saving = recipe.model_copy(update={"checkpointing": True, "pack": 4096})
    with pytest.raises(RoleLLMError, match="set “pack: 1024” in the recipe"):
        check(saving, model, PACK)


def test_the_base_counts_where_it_is_not_in_the_devices_memory_yet(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_base(recipe).model
    needed = memory_needed(recipe, model, PACK)
    monkeypatch.setattr(memory, "_free_memory", lambda: needed.total - 1)
    check(recipe, model, PACK)
    monkeypatch.setattr(memory, "_device", lambda: "cuda")
    with pytest.raises(RoleLLMError, match=r"needs about .* GiB"):
        check(recipe, model, PACK)
    monkeypatch.setattr(memory, "_free_memory", lambda: needed.total)
    check(recipe, model, PACK)


def test_a_process_has_its_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = memory._free_memory()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert memory._free_memory() < whole / 2


def test_a_gguf_base_is_not_advised_to_have_4_bits(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_base(recipe).model
    monkeypatch.setattr(memory, "_free_memory", lambda: 1_000)
    least = recipe.model_copy(update={"checkpointing": True})
    with pytest.raises(RoleLLMError, match=r"are free; choose a smaller base\.$"):
        check(least, model, PACK)


def test_sampled_answers_are_not_packed(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """GRPO runs with transformers' attention, and fewer samples need less memory."""
    model: Any = open_base(recipe).model
    sampled = recipe.model_copy(update={"objective": "grpo", "checkpointing": True})
    model.config.sliding_window = 512
    check(sampled, model, PACK)
    monkeypatch.setattr(memory, "_free_memory", lambda: 1_000)
    with pytest.raises(RoleLLMError, match="set fewer “samples”"):
        check(sampled, model, PACK)


def test_several_gpus_need_a_process_each(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(RoleLLMError, match=r"has 2 GPUs.*accelerate launch.*CUDA_VISIBLE_DEVICES=0"):
        open_base(recipe)


def test_processes_share_a_step_equally(monkeypatch: pytest.MonkeyPatch) -> None:
    assert processes.share("packs_per_step", 3) == 3
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert processes.share("packs_per_step", 4) == 2
    with pytest.raises(RoleLLMError, match=r"2 processes cannot share packs_per_step=3.*packs_per_step=4"):
        processes.share("packs_per_step", 3)


def test_a_gpu_that_is_too_small_after_all_is_told(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", fails)
    with pytest.raises(RoleLLMError, match=r"GPU's memory does not suffice.*checkpointing: true"):
        open_base(recipe)


def test_checkpointing_and_shorter_packs_need_less(recipe: Recipe) -> None:
    model = open_base(recipe).model
    usual = memory_needed(recipe, model, PACK).total
    # Two layers: one kept whole is half of it.
    assert memory_needed(recipe.model_copy(update={"checkpointing": True}), model, PACK).total < usual
    assert memory_needed(recipe, model, Batch(tokens=256, labels=128)).total < usual


def test_a_base_that_the_converters_do_not_take_is_refused(recipe: Recipe) -> None:
    model = open_base(recipe).model

    class OddForCausalLM(type(model)):  # type: ignore[misc]
        pass

    model.__class__ = OddForCausalLM
    with pytest.raises(
        RoleLLMError, match=r"is a OddForCausalLM, which llama\.cpp's converters do not support"
    ):
        check(recipe, model, PACK)


@pytest.mark.parametrize(
    ("setting", "said"),
    [("sliding_window", "see 512 tokens back"), ("max_position_embeddings", "reads 512 tokens")],
)
def test_rows_longer_than_the_base_sees_are_refused(recipe: Recipe, setting: str, said: str) -> None:
    model: Any = open_base(recipe).model
    setattr(model.config, setting, 512)
    with pytest.raises(RoleLLMError, match=f"{said}.*; set “longest: 512”"):
        check(recipe, model, PACK)
    check(recipe.model_copy(update={"longest": 512}), model, PACK)


def test_bf16_is_used_only_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from rolellm_train.training.trainer import computes_bf16

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for has in (True, False):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda has=has: has)
        assert computes_bf16() is has
