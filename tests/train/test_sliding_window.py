"""Layers that look back over a few tokens only: in a pack they see what they see in the row alone."""

import random

import pytest
import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig

from rolellm_agents.errors import RoleLLMError
from rolellm_train.data import attention
from rolellm_train.data.batches import batch_of
from rolellm_train.data.encoding import Encoded
from rolellm_train.data.packing import PackedSequence, pack
from rolellm_train.recipe import Recipe
from rolellm_train.training.adapter import trainable
from rolellm_train.training.memory import Batch
from rolellm_train.training.preflight import check
from rolellm_train.training.trainer import answer_loss

WINDOW = 16
VOCABULARY = 96
RECIPE = Recipe(id="tiny", about="", base="tiny")


def gemma() -> Gemma3ForCausalLM:
    """Three layers of random weights, of which two see 16 tokens; norms and scales as Gemma has them."""
    torch.manual_seed(0)
    config = Gemma3TextConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=8,
        query_pre_attn_scalar=5,
        sliding_window=WINDOW,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        max_position_embeddings=256,
        initializer_range=0.3,
        attn_implementation="eager",
    )
    model = Gemma3ForCausalLM(config)
    for name, weight in model.named_parameters():
        if name.endswith("norm.weight"):
            torch.nn.init.normal_(weight, std=0.3)
    return model


def conversations() -> list[Encoded]:
    """Rows whose beginnings, questions and answers are each shorter and longer than the window."""
    drawn = random.Random(0)

    def words(count: int) -> list[int]:
        return [drawn.randrange(VOCABULARY) for _ in range(count)]

    made: list[Encoded] = []
    for group, shared in (("short", words(7)), ("long", words(60))):
        for length in (2, 9, WINDOW - 1, WINDOW, WINDOW + 1, 40):
            first = [*shared, *words(3)]
            whole = [*first, *words(length), *words(5), *words(length)]
            answers = (range(len(first), len(first) + length), range(len(whole) - length, len(whole)))
            made.append(Encoded(group, tuple(whole), answers))
    return made


def as_transformers_has_it(model: torch.nn.Module, row: Encoded) -> torch.Tensor:
    """The loss of a row by itself, by transformers' own attention and masks."""
    ids = torch.tensor([row.ids])
    logits = model(ids).logits[0]
    places = [place for answer in row.answers for place in answer]
    wanted = ids[0][torch.tensor(places)]
    return torch.nn.functional.cross_entropy(logits[torch.tensor(places) - 1], wanted, reduction="sum")


def gradients(model: torch.nn.Module, losses: list[torch.Tensor]) -> tuple[float, dict[str, torch.Tensor]]:
    model.zero_grad()
    loss = torch.stack(losses).sum()
    torch.autograd.backward(loss)
    return float(loss.detach()), {
        name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None
    }


@pytest.mark.parametrize("size", [2_000, 150])
def test_losses_and_gradients_are_those_of_transformers_row_by_row(size: int) -> None:
    attention.register()
    model = trainable(gemma(), RECIPE)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.1)
    rows = conversations()
    expected, expected_gradients = gradients(model, [as_transformers_has_it(model, row) for row in rows])
    model.base_model.model.set_attn_implementation(attention.NAME)
    packs: list[PackedSequence] = pack(rows, size, seed=0)
    assert any(tree.shared > WINDOW and len(tree.rows) > 1 for one in packs for tree in one.trees)
    loss, found = gradients(model, [answer_loss(model, batch_of(one)) for one in packs])
    assert loss == pytest.approx(expected, rel=1e-5)
    assert found.keys() == expected_gradients.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, expected_gradients[name], rtol=2e-3, atol=2e-4)


def test_a_longer_window_gives_another_loss() -> None:
    """Without it the comparison above would show nothing."""
    rows = conversations()
    narrow, wide = gemma(), gemma()
    for layer in wide.modules():
        if getattr(layer, "sliding_window", None):
            layer.sliding_window = 10 * WINDOW
    attention.register()
    losses = []
    for model in (narrow, wide):
        model.set_attn_implementation(attention.NAME)
        (one,) = pack(rows, 2_000, seed=0)
        losses.append(float(answer_loss(model, batch_of(one)).detach()))
    assert losses[0] != pytest.approx(losses[1], rel=1e-3)


def test_rows_longer_than_a_window_are_let_through_where_layers_tell_it() -> None:
    model = gemma()
    assert check(RECIPE.model_copy(update={"longest": 10 * WINDOW}), model, Batch(256, 128)).total > 0


def test_layers_of_other_kinds_are_refused() -> None:
    model = gemma()
    model.config.layer_types[0] = "linear_attention"
    with pytest.raises(RoleLLMError, match=r"cannot be trained here \(linear_attention\); choose another"):
        check(RECIPE, model, Batch(256, 128))
    model = gemma()
    model.config.attn_logit_softcapping = 50.0
    with pytest.raises(RoleLLMError, match="soft-capped"):
        check(RECIPE, model, Batch(256, 128))
