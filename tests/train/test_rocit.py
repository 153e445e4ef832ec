"""A training from rows to an adapter."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.pictures import points_of
from helpers.small_rolebench import ADA, BEN, GENERAL, SPECIFIC, samples_of, write_cast, write_data
from helpers.tiny_gguf import make_tiny_gguf
from helpers.two_processes import in_two_processes

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.persona import Persona, list_personas
from rolellm_train.data.material import counted, gather
from rolellm_train.recipe import Recipe
from rolellm_train.training import trainer as trainer_module
from rolellm_train.training.rocit import train
from rolellm_train.training.trainer import WHOLE, last_complete_checkpoint
from rolellm_train.training.tuning import ADAPTER, CURVE, TrainingResult

PACK = 1200


@pytest.fixture
def cast() -> list[Persona]:
    write_cast(ADA, BEN)
    return [found.persona for found in list_personas().found if found.origin == "user"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_data(tmp_path / "data", [], samples_of(SPECIFIC))
    return tmp_path / "data"


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    base = make_tiny_gguf(tmp_path / "tiny.gguf", seed=3)
    return Recipe(
        id="tiny",
        about="",
        base=str(base),
        general=0,
        rank=2,
        learning_rate=0.02,
        epochs=6,
        longest=1000,
        pack=PACK,
        packs_per_step=1,
        held_out_questions=1,
        evaluations=1,
        patience=9,
    )


def weights(adapter: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(adapter / "adapter_model.safetensors"))


def same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_training_learns_what_it_is_shown_and_records_how(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    told: list[tuple[int, int, Mapping[str, float]]] = []
    tuned = train(recipe, [data], cast, tmp_path / "run", on_step=lambda *step: told.append(step))
    losses = [figures["loss"] for _, _, figures in told if "loss" in figures]
    held_out = [figures["eval_loss"] for _, _, figures in told if "eval_loss" in figures]
    assert losses[-1] < losses[0] - 0.3
    # The checkpoint with the least loss on what was never learned is the one that is kept.
    assert tuned.held_out_loss == pytest.approx(min(held_out))
    assert told[-1][0] == told[-1][1] == tuned.steps
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["rows"] == {"cast": 4, "role_specific": 2}
    assert manifest["held_out_rows"] == 2
    assert manifest["tokens_of_an_epoch"] < manifest["tokens_without_packing"]
    config = json.loads((tmp_path / "run/config.json").read_text())["config"]
    assert (config["base"], config["recipe"]["rank"]) == (recipe.base, 2)
    assert points_of(tmp_path / "run" / CURVE) == len(losses) + len(held_out)
    assert json.loads((tmp_path / "run/adapter/adapter_config.json").read_text())["r"] == 2


def test_the_same_seed_gives_the_same_adapter_and_another_another(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    def trained(name: str, seed: int) -> dict[str, Any]:
        return weights(
            train(recipe.model_copy(update={"seed": seed}), [data], cast, tmp_path / name).weights
        )

    first = trained("one", 1)
    assert same(first, trained("two", 1))
    assert not same(first, trained("three", 2))


def test_a_finished_run_is_not_trained_again(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    first = train(recipe, [data], cast, tmp_path / "run")
    steps: list[int] = []
    again = train(recipe, [data], cast, tmp_path / "run", on_step=lambda step, *_: steps.append(step))
    assert steps == []
    assert again.figures["held_out_loss"] == first.figures["held_out_loss"]


def test_another_recipe_does_not_go_on_with_a_run(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    train(recipe, [data], cast, tmp_path / "run")
    with pytest.raises(RoleLLMError, match="was started with another recipe"):
        train(recipe.model_copy(update={"rank": 3}), [data], cast, tmp_path / "run")


_RUN = """
import sys
from pathlib import Path
from rolellm_agents.persona import list_personas
from rolellm_train.recipe import load_recipe
from rolellm_train.training.rocit import train
recipe, data, run = sys.argv[1:]
cast = [found.persona for found in list_personas().found if found.origin == "user"]
train(load_recipe(recipe), [Path(data)], cast, Path(run), on_step=lambda *_: print("step", flush=True))
"""


@pytest.mark.parametrize("killed_after", [3, 9])
def test_a_killed_training_goes_on_and_ends_with_the_same_adapter(
    killed_after: int, recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    whole = train(recipe, [data], cast, tmp_path / "whole")
    file = tmp_path / "tiny.yaml"
    file.write_text(recipe.model_dump_json())
    command = (sys.executable, "-c", _RUN, str(file), str(data), str(tmp_path / "run"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout
        for _ in range(killed_after):
            assert process.stdout.readline() == "step\n"
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "run" / ADAPTER).exists()
    steps: list[int] = []
    tuned = train(recipe, [data], cast, tmp_path / "run", on_step=lambda step, *_: steps.append(step))
    assert same(weights(tuned.weights), weights(whole.weights))
    assert tuned.steps == whole.steps


def test_two_processes_learn_together_what_one_learns_alone(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    small = recipe.model_copy(update={"packs_per_step": 2, "pack": 700, "longest": 650, "epochs": 3})
    alone = train(small, [data], cast, tmp_path / "alone")
    file, program = tmp_path / "tiny.yaml", tmp_path / "program.py"
    file.write_text(small.model_dump_json())
    program.write_text(_RUN)
    done = in_two_processes(str(program), str(file), str(data), str(tmp_path / "together"))
    assert done.returncode == 0, done.stderr
    # One of them speaks, and no step is recorded twice.
    losses = of_steps(tmp_path / "together")
    assert losses == pytest.approx(of_steps(tmp_path / "alone"), rel=0.02)
    assert done.stdout.count("step\n") == len((tmp_path / "together/items.jsonl").read_text().splitlines())
    # Alike but for the order that gradients are added up in.
    together = weights(tmp_path / "together" / ADAPTER)
    for name, learned in weights(alone.weights).items():
        alike = torch.cosine_similarity(learned.flatten(), together[name].flatten(), dim=0)
        assert alike > 0.98
    assert (tmp_path / "together/manifest.json").exists()


def of_steps(run: Path) -> list[float]:
    items = [json.loads(line)["value"] for line in (run / "items.jsonl").read_text().splitlines()]
    return [item["loss"] for item in items if "loss" in item]


@pytest.mark.parametrize("stopped_before_the_end", [1, 2])
def test_a_resumed_training_stops_as_early_as_one_that_was_not_interrupted(
    stopped_before_the_end: int, recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    """A learning rate that is much too high, so the held-out loss grows after some steps."""
    steep = recipe.model_copy(update={"learning_rate": 0.4, "epochs": 60, "patience": 4})
    whole = train(steep, [data], cast, tmp_path / "whole")
    assert whole.steps < 30

    def interrupt(step: int, steps: int, figures: Mapping[str, float]) -> None:
        if "loss" in figures and step == whole.steps - stopped_before_the_end:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(steep, [data], cast, tmp_path / "run", on_step=interrupt)
    assert train(steep, [data], cast, tmp_path / "run").steps == whole.steps


def test_rows_that_are_all_too_long_are_told(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    short = recipe.model_copy(update={"longest": 32})
    with pytest.raises(RoleLLMError, match=r"All \d+ rows are longer than 32 tokens; raise “longest” and"):
        train(short, [data], cast, tmp_path / "run")


def test_a_checkpoint_that_was_cut_short_is_passed_over(tmp_path: Path) -> None:
    for step, is_whole in ((8, True), (16, True), (24, False)):
        place = tmp_path / f"checkpoint-{step}"
        place.mkdir()
        if is_whole:
            (place / WHOLE).touch()
    assert last_complete_checkpoint(tmp_path) == tmp_path / "checkpoint-16"
    assert last_complete_checkpoint(tmp_path / "nothing") is None


def test_a_loss_that_is_no_number_ends_it_with_what_to_do(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = trainer_module.answer_loss
    monkeypatch.setattr(trainer_module, "answer_loss", lambda *given: loss(*given) * float("nan"))
    with pytest.raises(
        RoleLLMError, match=r"became NaN or infinite after step 0; set a lower learning_rate"
    ):
        train(recipe, [data], cast, tmp_path / "run")
    assert not (tmp_path / "run" / ADAPTER).exists()


def test_a_full_disk_in_mid_checkpoint_loses_no_earlier_one(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, saved = trainer_module.save_weights, 0

    def full(model: Any, folder: Path) -> None:
        nonlocal saved
        saved += 1
        if saved == 3:
            raise OSError(28, "No space left on device")
        save(model, folder)

    monkeypatch.setattr(trainer_module, "save_weights", full)
    with pytest.raises(
        RoleLLMError, match=r"could not be written to .*No space left.*continues from the previous"
    ):
        train(recipe, [data], cast, tmp_path / "run")
    kept = last_complete_checkpoint(tmp_path / "run/checkpoints")
    assert kept is not None
    monkeypatch.setattr(trainer_module, "save_weights", save)
    tuned = train(recipe, [data], cast, tmp_path / "run")
    assert same(weights(tuned.weights), weights(train(recipe, [data], cast, tmp_path / "other").weights))


def gathered(recipe: Recipe, data: Sequence[Path], cast: list[Persona]) -> Mapping[str, int]:
    return counted(gather(recipe, data, cast))


def test_rows_are_mixed_by_weight(recipe: Recipe, cast: list[Persona], tmp_path: Path) -> None:
    folder = write_data(tmp_path / "data", [], [*samples_of(SPECIFIC), *samples_of(GENERAL, "general")])
    mixed = recipe.model_copy(
        update={"role_specific": 2.0, "general": 1.0, "cast": 0.5, "held_out_questions": 0}
    )
    assert gathered(mixed, [folder], cast) == {"cast": 2, "general": 2, "role_specific": 8}


def test_held_out_questions_are_asked_in_no_learned_row(
    recipe: Recipe, data: Path, cast: list[Persona]
) -> None:
    material = gather(recipe, [data], cast)
    assert {row.question for row in material.held_out}.isdisjoint(row.question for row in material.learned)
    assert len(material.held_out) == 2


def test_roles_that_are_kept_apart_are_learned_nowhere(recipe: Recipe, tmp_path: Path) -> None:
    bundled = [found.persona for found in list_personas().found]
    asked = {"Jack Sparrow": {"Rum?": "Aye."}, "Thor": {"Mead?": "Another!"}, "Nobody": {"Who?": "Me."}}
    folder = write_data(tmp_path / "data", [], samples_of(asked))
    material = gather(recipe.model_copy(update={"held_out_questions": 0}), [folder], bundled)
    names = {row.persona.name for row in material.learned}
    assert "Thor" in names
    assert "Jack Sparrow" not in names
    assert material.left_out["of a held-out role"] >= 1
    assert material.unknown_roles == {"Nobody": 1}


def test_nothing_to_learn_is_one_sentence(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(RoleLLMError, match="finds nothing to learn in the cast; name RoleBench's folder"):
        train(recipe, [], [], tmp_path / "run")


def test_tuned_says_where_the_adapter_is(
    recipe: Recipe, data: Path, cast: list[Persona], tmp_path: Path
) -> None:
    tuned: TrainingResult = train(recipe.model_copy(update={"epochs": 1}), [data], cast, tmp_path / "run")
    assert tuned.weights == tmp_path / "run" / ADAPTER
    assert weights(tuned.weights)


def test_a_file_of_ones_own_is_learned_as_a_characters_own_lines(
    recipe: Recipe, cast: list[Persona], tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    rows = [
        {"role": "Ada", "question": f"What is number {n}?", "generated": [f"It is {n}."]} for n in range(3)
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    material = gather(recipe.model_copy(update={"cast": 0, "general": 0}), [file], cast)
    assert counted(material) == {"role_specific": 2}
    assert len(material.held_out) == 1
