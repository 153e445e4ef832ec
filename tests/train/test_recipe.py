"""Recipes, and what is refused before any hour is spent."""

from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_gguf import make_tiny_gguf

from rolellm_agents.errors import RoleLLMError
from rolellm_train.recipe import Recipe, bundled_recipes, load_recipe, recorded_recipe, with_settings
from rolellm_train.training import preflight
from rolellm_train.training.loading import open_base
from rolellm_train.training.preflight import check, memory_needed


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
    needed = check(recipe, model)
    assert needed == memory_needed(recipe, model)
    assert needed.weights == sum(4 * weight.numel() for weight in model.parameters())


def test_too_little_memory_is_told_before_with_what_would_fit(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_base(recipe).model
    monkeypatch.setattr(preflight, "_free_memory", lambda: 1_000)
    with pytest.raises(RoleLLMError, match=r"needs about .* GiB.*set “checkpointing: true”"):
        check(recipe, model)
    saving = recipe.model_copy(update={"checkpointing": True, "pack": 4096})
    with pytest.raises(RoleLLMError, match="set “pack: 1024” in the recipe"):
        check(saving, model)


def test_the_base_counts_where_it_is_not_in_the_devices_memory_yet(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_base(recipe).model
    needed = memory_needed(recipe, model)
    monkeypatch.setattr(preflight, "_free_memory", lambda: needed.total - 1)
    check(recipe, model)
    monkeypatch.setattr(preflight, "_device", lambda: "cuda")
    with pytest.raises(RoleLLMError, match=r"needs about .* GiB"):
        check(recipe, model)
    monkeypatch.setattr(preflight, "_free_memory", lambda: needed.total)
    check(recipe, model)


def test_checkpointing_and_shorter_packs_need_less(recipe: Recipe) -> None:
    model = open_base(recipe).model
    usual = memory_needed(recipe, model).total
    # Two layers: one kept whole is half of it.
    assert memory_needed(recipe.model_copy(update={"checkpointing": True}), model).total < usual
    assert memory_needed(recipe.model_copy(update={"pack": 256}), model).total < usual


def test_a_base_that_the_converters_do_not_take_is_refused(recipe: Recipe) -> None:
    model = open_base(recipe).model

    class OddForCausalLM(type(model)):  # type: ignore[misc]
        pass

    model.__class__ = OddForCausalLM
    with pytest.raises(
        RoleLLMError, match=r"is a OddForCausalLM, which llama\.cpp's converters do not support"
    ):
        check(recipe, model)


@pytest.mark.parametrize(
    ("setting", "said"),
    [("sliding_window", "see 512 tokens back"), ("max_position_embeddings", "reads 512 tokens")],
)
def test_rows_longer_than_the_base_sees_are_refused(recipe: Recipe, setting: str, said: str) -> None:
    model: Any = open_base(recipe).model
    setattr(model.config, setting, 512)
    with pytest.raises(RoleLLMError, match=f"{said}.*; set “longest: 512”"):
        check(recipe, model)
    check(recipe.model_copy(update={"longest": 512}), model)


def test_bf16_is_used_only_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from rolellm_train.training.trainer import computes_bf16

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for has in (True, False):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda has=has: has)
        assert computes_bf16() is has
