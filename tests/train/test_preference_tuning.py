"""Learning from preferred answers: the loss, a whole training, one that was killed."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from helpers.commands import rolellm
from helpers.small_rolebench import ADA, BEN, write_cast
from helpers.tiny_gguf import make_tiny_gguf
from helpers.two_processes import in_two_processes
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.persona import Persona, list_personas
from rolellm_agents.transcript import Transcript
from rolellm_train.data.batches import batch_of
from rolellm_train.data.encoding import Encoded
from rolellm_train.data.packing import PackedSequence, PrefixTree, pack_together
from rolellm_train.recipe import Recipe
from rolellm_train.training.adapter import trainable
from rolellm_train.training.loading import open_base
from rolellm_train.training.pair_losses import ORPO, PairScores, SimPO, pair_loss
from rolellm_train.training.pair_trainer import PairTrainer, pair_scores
from rolellm_train.training.preference_tuning import train
from rolellm_train.training.start import continued_recipe
from rolellm_train.training.trainer import answer_loss, trainer_of
from rolellm_train.training.tuning import ADAPTER


@pytest.fixture
def cast() -> list[Persona]:
    write_cast(ADA, BEN)
    return [found.persona for found in list_personas().found if found.origin == "user"]


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    return Recipe(
        id="tiny",
        about="",
        base=str(make_tiny_gguf(tmp_path / "tiny.gguf", seed=3)),
        objective="dpo",
        beta=0.5,
        rank=2,
        learning_rate=0.01,
        epochs=6,
        longest=1200,
        pack=1500,
        packs_per_step=1,
        held_out_questions=1,
        evaluations=1,
        patience=9,
    )


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    """Ada and Ben, asked four things each; of two answers the short one was kept."""
    place = tmp_path / "transcript.db"
    with Transcript(place) as transcript:
        for who in ("ada", "ben"):
            conversation = transcript.create_conversation(who)
            parent = None
            for number in range(4):
                asked = say(transcript, conversation, parent, "user", f"And then, {number}?")
                say(transcript, conversation, asked, who, f"Well, it was a long day {number}.")
                parent = say(transcript, conversation, asked, who, "Aye.")
    return place


def say(transcript: Transcript, conversation: str, parent: str | None, who: str, text: str) -> str:
    return transcript.append(conversation, parent, speaker=who, audience=("user", who), text=text).id


def rows_of_pairs(count: int) -> list[tuple[Encoded, Encoded]]:
    """Pairs over one beginning, with answers of several lengths."""
    made = []
    for number in range(count):
        prompt = (*range(3, 23), 30 + number, 40)
        answers = [
            tuple(50 + (number * 7 + place * place * side) % 60 for place in range(2 + number + 3 * side))
            for side in (0, 1)
        ]
        better, worse = (
            Encoded("a", (*prompt, *answer), (range(len(prompt), len(prompt) + len(answer)),))
            for answer in answers
        )
        made.append((better, worse))
    return made


def tuned(recipe: Recipe) -> Any:
    torch.manual_seed(0)
    return moved(trainable(open_base(recipe).model, recipe))


def moved(model: Any) -> Any:
    """The model after it has learned something."""
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.3)
    return model


def log_probabilities(model: Any, pairs: list[tuple[Encoded, Encoded]]) -> list[list[float]]:
    with torch.no_grad():
        return [[-float(answer_loss(model, alone(row))) for row in pair] for pair in pairs]


def trainer(recipe: Recipe, model: Any, packs: list[PackedSequence], folder: Path) -> PairTrainer:
    made = trainer_of(
        model,
        recipe,
        packs,
        [],
        folder=folder,
        on_step=lambda *_: None,
        kind=partial(PairTrainer, loss=pair_loss(recipe)),
    )
    assert isinstance(made, PairTrainer)
    return made


def alone(row: Encoded) -> dict[str, Any]:
    return batch_of(PackedSequence((PrefixTree(0, (row,)),)))


def test_preferences_in_a_pack_are_those_of_the_answers_one_by_one(recipe: Recipe, tmp_path: Path) -> None:
    model = tuned(recipe)
    pairs = rows_of_pairs(5)
    (one,) = pack_together(pairs, 2_000, seed=1)
    inputs = trainer(recipe, model, [one], tmp_path / "run").batch(one)
    del inputs["reference"]
    found = pair_scores(model, inputs).margins
    rows = [row for tree in one.trees for row in tree.rows]
    with torch.no_grad():
        said = [-float(answer_loss(model, alone(row))) for row in rows]
    expected = [better - worse for better, worse in zip(said[::2], said[1::2], strict=True)]
    assert found.tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert {(rows[at], rows[at + 1]) for at in range(0, len(rows), 2)} == set(pairs)


def test_the_loss_is_that_of_the_paper(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equation 7, from the four log-probabilities of each pair, computed one by one; in 32 bits."""
    monkeypatch.setattr("rolellm_train.training.trainer.computes_bf16", lambda: False)
    model = tuned(recipe)
    pairs = rows_of_pairs(4)
    (one,) = pack_together(pairs, 2_000, seed=1)
    before = log_probabilities(model, pairs)
    made = trainer(recipe, model, [one], tmp_path / "run")
    moved(model)
    with torch.no_grad():
        loss = float(made.summed_loss(model, made.batch(one)))
    after = log_probabilities(model, pairs)
    expected = 0.0
    for (better, worse), (better_before, worse_before) in zip(after, before, strict=True):
        margin = recipe.beta * ((better - better_before) - (worse - worse_before))
        expected += math.log1p(math.exp(-margin))
    assert loss == pytest.approx(expected, rel=1e-4)
    assert loss != pytest.approx(4 * math.log(2), rel=0.01)


SCORES = PairScores(
    torch.tensor([-6.0, -9.0]),
    torch.tensor([-8.0, -4.0]),
    torch.tensor([3.0, 6.0]),
    torch.tensor([2.0, 8.0]),
)
"""Two pairs: preferred and rejected answers' log-probabilities, then their lengths."""


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_simpos_loss_is_that_of_its_paper() -> None:
    """Equation 6, with beta = 2 and gamma = 1: a margin per token is expected, and no reference is used."""
    loss = SimPO(beta=2.0, margin=1.0)
    expected = [
        -math.log(sigmoid(2 / 3 * -6.0 - 2 / 2 * -8.0 - 1)),
        -math.log(sigmoid(2 / 6 * -9.0 - 2 / 8 * -4.0 - 1)),
    ]
    assert loss.loss(SCORES, torch.zeros(2)).tolist() == pytest.approx(expected, rel=1e-5)
    assert loss.loss(SCORES, torch.ones(2)).tolist() == pytest.approx(expected, rel=1e-5)
    assert [gain > 0 for gain in loss.gains(SCORES, torch.zeros(2)).tolist()] == [True, False]


def test_orpos_loss_is_that_of_its_paper() -> None:
    """Equations 4 to 7, with lambda = 0.25: the answer's own loss, and the odds ratio."""

    def odds(mean: float) -> float:
        return math.exp(mean) / (1 - math.exp(mean))

    expected = [
        2.0 - 0.25 * math.log(sigmoid(math.log(odds(-2.0) / odds(-4.0)))),
        1.5 - 0.25 * math.log(sigmoid(math.log(odds(-1.5) / odds(-0.5)))),
    ]
    assert ORPO(beta=0.25).loss(SCORES, torch.zeros(2)).tolist() == pytest.approx(expected, rel=1e-5)


def test_orpos_odds_of_a_certain_answer_are_finite() -> None:
    certain = PairScores(torch.zeros(1), torch.tensor([-1.0]), torch.ones(1), torch.ones(1))
    assert bool(ORPO(beta=0.1).loss(certain, torch.zeros(1)).isfinite().all())


@pytest.mark.parametrize("objective", ["simpo", "orpo"])
def test_preferences_are_learned_without_a_reference(
    objective: Literal["simpo", "orpo"],
    recipe: Recipe,
    conversations: Path,
    cast: list[Persona],
    tmp_path: Path,
) -> None:
    losses: list[float] = []

    def on_step(step: int, steps: int, figures: Mapping[str, float]) -> None:
        if "loss" in figures:
            losses.append(figures["loss"])

    chosen = recipe.model_copy(update={"objective": objective, "beta": 2.0, "margin": 0.5})
    done = train(chosen, [conversations], cast, tmp_path / "run", on_step=on_step)
    assert losses[-1] < losses[0] - 0.1
    assert done.figures["preferred_learned"] == 1.0
    config = json.loads((tmp_path / "run/config.json").read_text())["config"]
    assert config["trainer"] == objective


def test_what_the_base_says_learns_nothing(recipe: Recipe, tmp_path: Path) -> None:
    model = tuned(recipe)
    (one,) = pack_together(rows_of_pairs(2), 2_000, seed=1)
    made = trainer(recipe, model, [one], tmp_path / "run")
    torch.autograd.backward(made.summed_loss(model, made.batch(one)))
    learning = {name for name, weight in model.named_parameters() if weight.grad is not None}
    assert learning
    assert all("lora_" in name for name in learning)


def test_the_first_loss_is_ln_2_and_what_was_preferred_becomes_likelier(
    recipe: Recipe, conversations: Path, cast: list[Persona], tmp_path: Path
) -> None:
    told: list[Mapping[str, float]] = []
    done = train(
        recipe,
        [conversations],
        cast,
        tmp_path / "run",
        on_step=lambda _s, _n, figures: told.append(figures),
    )
    losses = [figures["loss"] for figures in told if "loss" in figures]
    # The adapter changes nothing yet, so neither answer has gained on the other.
    assert losses[0] == pytest.approx(math.log(2), abs=1e-6)
    assert losses[-1] < losses[0] - 0.1
    assert done.figures["preferred_learned"] == 1.0
    assert done.figures["preferred_held_out"] == 1.0
    assert done.held_out_loss is not None
    assert done.held_out_loss < math.log(2)
    assert (done.figures["rows"], done.figures["held_out_rows"]) == ({"swipes": 6}, 2)
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["tokens_of_an_epoch"] < manifest["tokens_without_packing"]
    assert (done.weights / "adapter_model.safetensors").stat().st_size > 0


_RUN = """
import sys
from pathlib import Path
from rolellm_agents.persona import list_personas
from rolellm_train.recipe import load_recipe
from rolellm_train.training.preference_tuning import train
recipe, data, run = sys.argv[1:]
cast = [found.persona for found in list_personas().found if found.origin == "user"]
train(load_recipe(recipe), [Path(data)], cast, Path(run))
"""


def test_two_processes_share_the_packs_and_their_references(
    recipe: Recipe, conversations: Path, cast: list[Persona], tmp_path: Path
) -> None:
    """A reference of another pack would show: the first loss would not be ln 2."""
    small = recipe.model_copy(update={"packs_per_step": 2, "pack": 700, "longest": 650, "epochs": 3})
    train(small, [conversations], cast, tmp_path / "alone")
    file, program = tmp_path / "tiny.yaml", tmp_path / "program.py"
    file.write_text(small.model_dump_json())
    program.write_text(_RUN)
    done = in_two_processes(str(program), str(file), str(conversations), str(tmp_path / "together"))
    assert done.returncode == 0, done.stderr
    alone, together = losses_of(tmp_path / "alone"), losses_of(tmp_path / "together")
    assert together[0] == pytest.approx(math.log(2), abs=1e-6)
    assert together == pytest.approx(alone, rel=0.02)


def losses_of(run: Path) -> list[float]:
    items = [json.loads(line)["value"] for line in (run / "items.jsonl").read_text().splitlines()]
    return [item["loss"] for item in items if "loss" in item]


def test_an_adapter_is_learned_on_from_where_it_was(
    recipe: Recipe, conversations: Path, cast: list[Persona], tmp_path: Path
) -> None:
    first = train(
        recipe.model_copy(update={"rank": 3, "alpha": 6}), [conversations], cast, tmp_path / "first"
    )
    further = continued_recipe(
        tmp_path / "first", recipe.model_copy(update={"held_out_questions": 0, "learning_rate": 1e-9})
    )
    assert (further.rank, further.alpha) == (3, 6)
    told: list[float] = []

    def tell(_step: int, _steps: int, figures: Mapping[str, float]) -> None:
        told.extend(value for name, value in figures.items() if name == "loss")

    second = train(further, [conversations], cast, tmp_path / "second", on_step=tell)
    # What it is compared with is the adapter it began with, and so slowly nothing is learned.
    assert told[0] == pytest.approx(math.log(2), abs=1e-6)
    one, other = weights(first.weights), weights(second.weights)
    assert one.keys() == other.keys()
    assert all(torch.allclose(one[name], other[name], atol=1e-6) for name in one)
    assert any(bool(weight.any()) for name, weight in other.items() if "lora_B" in name)


def test_an_adapter_of_another_base_is_not_learned_on(
    recipe: Recipe, conversations: Path, cast: list[Persona], tmp_path: Path
) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(recipe.model_copy(update={"epochs": 1}).model_dump_json())
    command = ("train", "--recipe", str(file), "--data", str(conversations))
    assert rolellm(*command, "--out", str(tmp_path / "run")).returncode == 0
    other = make_tiny_gguf(tmp_path / "other.gguf", seed=4)
    refused = rolellm(*command, "--base", str(other), "--from", str(tmp_path / "run"))
    assert refused.returncode == 2
    assert f"is one of {recipe.base}, and the recipe tiny tunes {other}" in refused.stderr
    assert "name the adapter's base model with --base" in refused.stderr
    absent = rolellm(*command, "--from", str(tmp_path / "away"))
    assert absent.returncode == 2
    assert "There is no run and no adapter in" in absent.stderr


_RUN = """
import sys
from pathlib import Path
from rolellm_agents.persona import list_personas
from rolellm_train.recipe import load_recipe
from rolellm_train.training.preference_tuning import train
recipe, data, run = sys.argv[1:]
cast = [found.persona for found in list_personas().found if found.origin == "user"]
train(load_recipe(recipe), [Path(data)], cast, Path(run), on_step=lambda *_: print("step", flush=True))
"""


def weights(adapter: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(adapter / "adapter_model.safetensors"))


def test_a_killed_training_goes_on_and_ends_with_the_same_adapter(
    recipe: Recipe, conversations: Path, cast: list[Persona], tmp_path: Path
) -> None:
    recipe = recipe.model_copy(update={"held_out_questions": 0, "pack": 600, "longest": 600, "epochs": 3})
    whole = train(recipe, [conversations], cast, tmp_path / "whole")
    file = tmp_path / "tiny.yaml"
    file.write_text(recipe.model_dump_json())
    command = (sys.executable, "-c", _RUN, str(file), str(conversations), str(tmp_path / "run"))
    killed_after = whole.steps // 2
    assert killed_after > 1
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout
        for _ in range(killed_after):
            assert process.stdout.readline() == "step\n"
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "run" / ADAPTER).exists()
    again = train(recipe, [conversations], cast, tmp_path / "run")
    first, second = weights(whole.weights), weights(again.weights)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert again.steps == whole.steps


def test_the_command_learns_from_the_persons_own_swipes_when_nothing_is_named(
    recipe: Recipe, conversations: Path, cast: list[Persona], tmp_path: Path
) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(recipe.model_copy(update={"epochs": 1, "held_out_questions": 0}).model_dump_json())
    nothing = rolellm("train", "--recipe", str(file), "--out", str(tmp_path / "run"))
    assert nothing.returncode == 2
    assert "finds no preferred answers in what was said here; swipe in conversations" in nothing.stderr
    user_paths().data.mkdir(parents=True, exist_ok=True)
    shutil.copy(conversations, user_paths().transcript)
    done = rolellm("train", "--recipe", str(file), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rows"] == {"swipes": 8}
    assert (tmp_path / "run/adapter/adapter_model.safetensors").stat().st_size > 0


def test_pairs_that_are_too_long_are_counted(
    recipe: Recipe, conversations: Path, cast: list[Persona], tmp_path: Path
) -> None:
    with pytest.raises(RoleLLMError, match=r"All \d+ pairs are longer than 64 tokens; raise “longest”"):
        train(recipe.model_copy(update={"longest": 64}), [conversations], cast, tmp_path / "run")


TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=6)


@given(st.lists(st.tuples(TOKENS, TOKENS, TOKENS), min_size=1, max_size=9), st.integers(0, 3))
def test_a_pair_is_never_parted_and_keeps_its_order(
    said: list[tuple[list[int], list[int], list[int]]], seed: int
) -> None:
    pairs: list[tuple[Encoded, Encoded]] = []
    for number, (prompt, *answers) in enumerate(said):
        begun = (9, 9, 9, *prompt)
        better, worse = (
            Encoded("ab"[number % 2], (*begun, *answer), (range(len(begun), len(begun) + len(answer)),))
            for answer in answers
        )
        pairs.append((better, worse))
    packs = pack_together(pairs, 40, seed=seed)
    assert all(len(one) <= 40 for one in packs)
    rows = [row for one in packs for tree in one.trees for row in tree.rows]
    assert Counter((rows[at], rows[at + 1]) for at in range(0, len(rows), 2)) == Counter(pairs)
