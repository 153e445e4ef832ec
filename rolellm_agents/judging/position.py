"""Whether a judge of pairs looks at the replies or at the places where they stand."""

from collections.abc import Iterable
from dataclasses import dataclass

from rolellm_agents.judging.verdict import Verdict


@dataclass(frozen=True)
class PositionBias:
    """Over pairs that were asked about in both orders, and answered in both."""

    n: int
    first_preferred: float | None
    """How often the reply that stood first was preferred; 0.5 is no bias. None without pairs."""
    consistent: float | None
    """How often both orders gave the same reply; a coin would be consistent half of the time."""


def position_bias(verdicts: Iterable[Verdict]) -> PositionBias:
    """Measure it from the `orders` that verdicts of a pair judge carry; those by a rule count for nothing.

    Args:
        verdicts: with `details["orders"]`, what each order gave for the first reply: 1, 0 or 0.5.
    """
    asked = [orders for one in verdicts if len(orders := _orders(one)) == 2]
    if not asked:
        return PositionBias(0, None, None)
    # In the second order the first reply stands second.
    first = sum(one + 1 - other for one, other in asked) / (2 * len(asked))
    return PositionBias(len(asked), first, sum(one == other for one, other in asked) / len(asked))


def _orders(verdict: Verdict) -> list[float]:
    orders = verdict.details.get("orders", [])
    if not isinstance(orders, list) or not all(isinstance(one, int | float) for one in orders):
        return []
    return [float(one) for one in orders]
