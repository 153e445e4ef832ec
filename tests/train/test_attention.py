"""Attention over packs: what a row gives in a pack is what it gives alone."""

from pathlib import Path

import pytest
import torch
from helpers.tiny_gguf import make_tiny_gguf

from rolellm_agents.persona import list_personas
from rolellm_train.data.batches import batch_of
from rolellm_train.data.conversations import conversations_of
from rolellm_train.data.material import encoded
from rolellm_train.data.packing import PackedSequence, PrefixTree, pack
from rolellm_train.data.rows import cast_rows
from rolellm_train.recipe import Recipe
from rolellm_train.training.adapter import trainable
from rolellm_train.training.loading import open_base
from rolellm_train.training.trainer import answer_loss


def test_losses_and_gradients_are_those_of_the_rows_one_by_one(tmp_path: Path) -> None:
    recipe = Recipe(id="tiny", about="", base=str(make_tiny_gguf(tmp_path / "tiny.gguf", seed=2)))
    base = open_base(recipe)
    torch.manual_seed(0)
    model = trainable(base.model, recipe)
    for name, weight in model.named_parameters():
        if "lora_B" in name:  # zeros at first, which would hide all gradients of A
            torch.nn.init.normal_(weight, std=0.1)
    cast = [found.persona for found in list_personas().found][:3]
    short, _ = encoded(conversations_of(cast_rows(cast), 0.5, seed=0), base.encoder, 4_000)
    (together,) = pack(short[:12], 60_000, seed=0)
    assert max(tree.shared for tree in together.trees) > 100

    def measured(packs: list[PackedSequence]) -> tuple[float, list[float]]:
        model.zero_grad()
        loss = torch.stack([answer_loss(model, batch_of(one)) for one in packs]).sum()
        torch.autograd.backward(loss)
        learning = [weight for weight in model.parameters() if weight.requires_grad]
        return float(loss.detach()), [
            float(weight.grad.norm()) for weight in learning if weight.grad is not None
        ]

    alone = [PackedSequence((PrefixTree(0, (row,)),)) for row in short[:12]]
    loss, gradients = measured([together])
    expected, expected_gradients = measured(alone)
    assert loss == pytest.approx(expected, rel=1e-5)
    assert gradients == pytest.approx(expected_gradients, rel=1e-3)
    assert min(expected_gradients) > 0
