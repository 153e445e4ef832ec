"""The DPO loss over packs of pairs, with transformers' Trainer."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from rolellm_train.data.batches import batch_of
from rolellm_train.data.packing import PackedSequence
from rolellm_train.training.trainer import PackTrainer


class PairTrainer(PackTrainer):
    """Trains on packs of pairs: a preferred answer, followed by the rejected one."""

    def __init__(self, *, beta: float, **settings: Any) -> None:
        """Create a trainer as `PackTrainer` does, with DPO's `beta`."""
        super().__init__(**settings)
        self._beta = beta
        # By identity: packs are long, and the trainer keeps all of them.
        self._before = {
            id(pack): self._preferences(pack) for pack in (*self.train_dataset, *self._held_out)
        }

    def batch(self, pack: PackedSequence) -> dict[str, Any]:
        """Convert a pack to tensors; each pair counts as one label."""
        return {**_pairs_of(pack), "before": self._before[id(pack)]}

    def summed_loss(self, model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor:
        """The DPO loss (equation 7 of the paper), summed over the pairs."""
        return -torch.nn.functional.logsigmoid(self._beta * self.gains(model, inputs)).sum()

    def gains(self, model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor:
        """The reward margin of each pair relative to the reference model, in nats."""
        asked = {name: value for name, value in inputs.items() if name != "before"}
        before: torch.Tensor = inputs["before"]
        return preferences(model, asked) - before

    def preferred(self, packs: Sequence[PackedSequence]) -> float | None:
        """The share of pairs with a positive margin; None without pairs."""
        gains: list[float] = []
        self.model.eval()
        # After training, the model is no longer wrapped.
        with torch.no_grad(), self.accelerator.autocast():
            for pack in packs:
                gains += self.gains(self.model, self._prepare_inputs(self.batch(pack))).tolist()
        return sum(gain > 0 for gain in gains) / len(gains) if gains else None

    def _preferences(self, pack: PackedSequence) -> torch.Tensor:
        """Log-probability differences of the reference model, computed once for all epochs."""
        self.model.eval()
        # As precise as training will be; the model is not prepared for that yet.
        with torch.no_grad(), self.accelerator.autocast():
            found = preferences(self.model, self._prepare_inputs(_pairs_of(pack)))
        self.model.train()
        return found.cpu()


def _pairs_of(pack: PackedSequence) -> dict[str, Any]:
    tensors = batch_of(pack)
    lengths = [sum(map(len, row.answers)) for tree in pack.trees for row in tree.rows]
    pairs = torch.ones(1, len(lengths) // 2)
    return {**tensors, "answers": tensors["labels"], "lengths": lengths, "labels": pairs}


def preferences(model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor:
    """The log-probability of the preferred answer minus that of the rejected one, for each pair."""
    own = ("labels", "answers", "lengths")
    asked = {name: value for name, value in inputs.items() if name not in own}
    logits = model(**asked).logits[0].float()
    of_tokens = -torch.nn.functional.cross_entropy(logits, inputs["answers"][0], reduction="none")
    of_answers = torch.stack([part.sum() for part in torch.split(of_tokens, inputs["lengths"])])
    preferred, rejected = of_answers.view(-1, 2).unbind(dim=1)
    return preferred - rejected
