"""A loss of preferences over packs of pairs, with transformers' Trainer."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from accelerate.utils import gather_object

from rolellm_train.data.batches import batch_of
from rolellm_train.data.packing import PackedSequence
from rolellm_train.training.pair_losses import PairLoss, PairScores
from rolellm_train.training.trainer import PackTrainer


class PairTrainer(PackTrainer):
    """Trains on packs of pairs: a preferred answer, followed by the rejected one."""

    def __init__(self, *, loss: PairLoss, **settings: Any) -> None:
        """Create a trainer as `PackTrainer` does, with the loss of preferences."""
        super().__init__(**settings)
        self._loss = loss
        # By identity: packs are long, and the trainer keeps all of them.
        self._reference = self._reference_margins([*self.train_dataset, *self._held_out])

    def batch(self, pack: PackedSequence) -> dict[str, Any]:
        """Convert a pack to tensors; each pair counts as one label."""
        return {**_pairs_of(pack), "reference": self._reference[id(pack)]}

    def summed_loss(self, model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor:
        """The loss, summed over the pairs."""
        return self._loss.loss(_scores(model, inputs), inputs["reference"]).sum()

    def preferred(self, packs: Sequence[PackedSequence]) -> float | None:
        """The share of pairs with a positive gain; None without pairs."""
        gains: list[float] = []
        self.model.eval()
        # After training, the model is no longer wrapped.
        with torch.no_grad(), self.accelerator.autocast():
            for pack in packs:
                inputs = self._prepare_inputs(self.batch(pack))
                gains += self._loss.gains(_scores(self.model, inputs), inputs["reference"]).tolist()
        return sum(gain > 0 for gain in gains) / len(gains) if gains else None

    def _reference_margins(self, packs: Sequence[PackedSequence]) -> dict[int, torch.Tensor]:
        """The margins of the model before training by pack, computed once for all epochs.

        Each process computes a part of them.
        """
        own = self.accelerator.process_index, None, self.accelerator.num_processes
        margins = [(number, self._margins(packs[number])) for number in range(len(packs))[slice(*own)]]
        return {id(packs[number]): margin for number, margin in gather_object(margins)}

    def _margins(self, pack: PackedSequence) -> torch.Tensor:
        if not self._loss.needs_reference:
            return torch.zeros(len(_lengths(pack)) // 2)
        self.model.eval()
        # As precise as training will be; the model is not prepared for that yet.
        with torch.no_grad(), self.accelerator.autocast():
            scores = pair_scores(self.model, self._prepare_inputs(_pairs_of(pack)))
        self.model.train()
        return scores.margins.cpu()


def _pairs_of(pack: PackedSequence) -> dict[str, Any]:
    tensors = batch_of(pack)
    lengths = _lengths(pack)
    pairs = torch.ones(1, len(lengths) // 2)
    return {**tensors, "answers": tensors["labels"], "lengths": lengths, "labels": pairs}


def _lengths(pack: PackedSequence) -> list[int]:
    """The lengths of all answers in tokens, each preferred one before the rejected one."""
    return [sum(map(len, row.answers)) for tree in pack.trees for row in tree.rows]


def _scores(model: torch.nn.Module, inputs: Mapping[str, Any]) -> PairScores:
    return pair_scores(model, {name: value for name, value in inputs.items() if name != "reference"})


def pair_scores(model: torch.nn.Module, inputs: Mapping[str, Any]) -> PairScores:
    """The log-probabilities of the answers of each pair."""
    own = ("labels", "answers", "lengths")
    asked = {name: value for name, value in inputs.items() if name not in own}
    logits = model(**asked).logits[0].float()
    of_tokens = -torch.nn.functional.cross_entropy(logits, inputs["answers"][0], reduction="none")
    of_answers = torch.stack([part.sum() for part in torch.split(of_tokens, inputs["lengths"])])
    chosen, rejected = of_answers.view(-1, 2).unbind(dim=1)
    tokens = of_answers.new_tensor(inputs["lengths"]).view(-1, 2)
    return PairScores(chosen, rejected, *tokens.unbind(dim=1))
