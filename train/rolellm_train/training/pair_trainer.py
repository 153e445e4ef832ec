"""The loss of DPO over packs of pairs, with transformers' Trainer."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from rolellm_train.data.batches import batch_of
from rolellm_train.data.packing import PackedSequence
from rolellm_train.training.trainer import PackTrainer


class PairTrainer(PackTrainer):
    """Learns packs whose rows are pairs: a preferred answer, and behind it the one it was preferred to."""

    def __init__(self, *, beta: float, **settings: Any) -> None:
        """Like `PackTrainer`, with how dearly a departure from the base is paid for."""
        super().__init__(**settings)
        self._beta = beta
        # By identity: packs are long, and the trainer keeps all of them.
        self._before = {
            id(pack): self._preferences(pack) for pack in (*self.train_dataset, *self._held_out)
        }

    def batch(self, pack: PackedSequence) -> dict[str, Any]:
        """A pack as tensors, in which each pair is one label."""
        return {**_pairs_of(pack), "before": self._before[id(pack)]}

    def summed_loss(self, model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor:
        """Of each pair, minus the logarithm of how surely it is told apart (equation 7), summed."""
        return -torch.nn.functional.logsigmoid(self._beta * self.gains(model, inputs)).sum()

    def gains(self, model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor:
        """By how much more each preferred answer is preferred than before training, in nats; one a pair."""
        asked = {name: value for name, value in inputs.items() if name != "before"}
        before: torch.Tensor = inputs["before"]
        return preferences(model, asked) - before

    def preferred(self, packs: Sequence[PackedSequence]) -> float | None:
        """The part of pairs whose preferred answer has gained on the other; None without pairs."""
        gains: list[float] = []
        self.model.eval()
        # When training has ended, the model is no longer as it was prepared.
        with torch.no_grad(), self.accelerator.autocast():
            for pack in packs:
                gains += self.gains(self.model, self._prepare_inputs(self.batch(pack))).tolist()
        return sum(gain > 0 for gain in gains) / len(gains) if gains else None

    def _preferences(self, pack: PackedSequence) -> torch.Tensor:
        """Of the model as it begins, which is what DPO compares with; computed once for all epochs."""
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
    """The log-probability of each preferred answer less that of the other; one a pair."""
    own = ("labels", "answers", "lengths")
    asked = {name: value for name, value in inputs.items() if name not in own}
    logits = model(**asked).logits[0].float()
    of_tokens = -torch.nn.functional.cross_entropy(logits, inputs["answers"][0], reduction="none")
    of_answers = torch.stack([part.sum() for part in torch.split(of_tokens, inputs["lengths"])])
    preferred, others = of_answers.view(-1, 2).unbind(dim=1)
    return preferred - others
