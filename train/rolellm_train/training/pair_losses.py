"""Losses of preferences: DPO, SimPO and ORPO. They see only the log-probabilities of answers."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch.nn.functional import logsigmoid

from rolellm_train.recipe import Recipe


class PairScores(NamedTuple):
    """Log-probabilities of the answers of pairs, in nats; each tensor has the shape (pairs,)."""

    chosen: torch.Tensor
    """Summed over the tokens of the preferred answer and its end."""
    rejected: torch.Tensor
    chosen_tokens: torch.Tensor
    """The number of these tokens."""
    rejected_tokens: torch.Tensor

    @property
    def margins(self) -> torch.Tensor:
        """The log-probability of the preferred answer minus that of the rejected one."""
        return self.chosen - self.rejected

    @property
    def mean_chosen(self) -> torch.Tensor:
        """Log-probability per token."""
        return self.chosen / self.chosen_tokens

    @property
    def mean_rejected(self) -> torch.Tensor:
        """Log-probability per token."""
        return self.rejected / self.rejected_tokens


class PairLoss(Protocol):
    """The loss of a preference."""

    @property
    def needs_reference(self) -> bool:
        """Whether it compares with the margins of the model before training."""
        ...

    def gains(self, scores: PairScores, reference: torch.Tensor) -> torch.Tensor:
        """By how much each pair is preferred as it should be; positive is right, shape (pairs,)."""
        ...

    def loss(self, scores: PairScores, reference: torch.Tensor) -> torch.Tensor:
        """The loss of each pair, shape (pairs,)."""
        ...


@dataclass(frozen=True)
class DPO:
    """Direct Preference Optimization (Rafailov et al., arXiv 2305.18290, equation 7)."""

    beta: float
    needs_reference = True

    def gains(self, scores: PairScores, reference: torch.Tensor) -> torch.Tensor:
        """The growth of the margin since the beginning of training."""
        return scores.margins - reference

    def loss(self, scores: PairScores, reference: torch.Tensor) -> torch.Tensor:
        """The loss of each pair."""
        return -logsigmoid(self.beta * self.gains(scores, reference))


@dataclass(frozen=True)
class SimPO:
    """Simple Preference Optimization (Meng et al., arXiv 2405.14734, equation 6), without a reference."""

    beta: float
    margin: float
    needs_reference = False

    def gains(self, scores: PairScores, reference: torch.Tensor) -> torch.Tensor:
        """The margin per token: long answers have no advantage."""
        return scores.mean_chosen - scores.mean_rejected

    def loss(self, scores: PairScores, reference: torch.Tensor) -> torch.Tensor:
        """The loss of each pair."""
        return -logsigmoid(self.beta * self.gains(scores, reference) - self.margin)


@dataclass(frozen=True)
class ORPO:
    """Odds Ratio Preference Optimization (Hong et al., arXiv 2403.07691, equations 6 and 7).

    The preferred answer is learned like RoCIT's, and its odds against the rejected one are raised, so no
    tuned model is needed to start with.
    """

    beta: float
    needs_reference = False

    def gains(self, scores: PairScores, reference: torch.Tensor) -> torch.Tensor:
        """The logarithm of the odds ratio."""
        return _log_odds(scores.mean_chosen) - _log_odds(scores.mean_rejected)

    def loss(self, scores: PairScores, reference: torch.Tensor) -> torch.Tensor:
        """The loss of each pair."""
        return -scores.mean_chosen - self.beta * logsigmoid(self.gains(scores, reference))


def pair_loss(recipe: Recipe) -> PairLoss:
    """The loss of a recipe whose objective is a preference.

    Raises:
        ValueError: the objective is another one.
    """
    match recipe.objective:
        case "dpo":
            return DPO(recipe.beta)
        case "simpo":
            return SimPO(recipe.beta, recipe.margin)
        case "orpo":
            return ORPO(recipe.beta)
        case other:
            raise ValueError(f"{other} is not an objective of preferences")


def _log_odds(mean: torch.Tensor) -> torch.Tensor:
    """log(p / (1 - p)) of the geometric mean of a token's probability."""
    return mean - torch.log1p(-torch.exp(mean).clamp(max=1 - 1e-6))
