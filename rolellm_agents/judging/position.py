"""Position bias: whether a judge of pairs prefers a reply because of its place."""

from collections.abc import Iterable
from dataclasses import dataclass

from rolellm_agents.judging.verdict import Verdict


@dataclass(frozen=True)
class PositionBias:
    """The position bias over pairs with a verdict in both orders."""

    n: int
    first_preferred: float | None
    """How often the reply in the first place was preferred; 0.5 is no bias. None without pairs."""
    consistent: float | None
    """How often both orders preferred the same reply; chance alone gives 0.5. None without pairs."""


def position_bias(verdicts: Iterable[Verdict]) -> PositionBias:
    """Measure position bias from the verdicts of a pair judge; verdicts by a rule are ignored.

    Args:
        verdicts: verdicts with `details["orders"]`, the outcome of each order for the first reply: 1, 0 or
            0.5.
    """
    asked = [orders for one in verdicts if len(orders := _orders(one)) == 2]
    if not asked:
        return PositionBias(0, None, None)
    # The second order shows the first reply in the second place.
    first = sum(one + 1 - other for one, other in asked) / (2 * len(asked))
    return PositionBias(len(asked), first, sum(one == other for one, other in asked) / len(asked))


def _orders(verdict: Verdict) -> list[float]:
    orders = verdict.details.get("orders", [])
    if not isinstance(orders, list) or not all(isinstance(one, int | float) for one in orders):
        return []
    return [float(one) for one in orders]
