"""Estimates the tokens, time and cost of a run, from its finished items or by rules of thumb."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.runs.budget import Prices, Tokens
from rolellm_agents.runs.folder import Run
from rolellm_agents.runs.items import FinishedItems

_ENOUGH: Final = 5
"""The fewest finished items that an estimate is based on."""
_LOCAL_READ, _LOCAL_WRITTEN = 500, 90
"""Tokens per second of the embedded model on two processor cores, all requests together."""
_SERVER_WRITTEN = 50
"""Tokens per second of each request to a server."""
_LOCAL: Final = ("llamacpp", "huggingface")
"""Providers that compute on this machine."""


@dataclass(frozen=True)
class Estimate:
    """The remaining work of a run."""

    items: int
    done: int
    calls: int
    tokens: Tokens
    seconds: float
    cost: float | None
    measured: bool
    """Whether the estimate is based on finished items; otherwise on a rule of thumb."""


def estimate_left(
    folder: Path,
    keys: Callable[[], Iterable[str]],
    guess: Tokens,
    *,
    at_once: int,
    model_name: str,
    prices: Prices | None,
) -> Estimate:
    """Estimate the remaining work of a run, which need not have started.

    Each item is one call of the model; its tokens are guessed until enough items are finished. Without
    prices there is no cost.

    Raises:
        StorageError: a line of the run is damaged.
    """
    finished = FinishedItems(Run(folder), keys)
    items = sum(1 for _ in keys())
    left = items - finished.count
    measured = finished.recorded >= _ENOUGH
    if measured:
        share = left / finished.recorded
        tokens = Tokens(round(finished.tokens.read * share), round(finished.tokens.written * share))
        seconds = finished.seconds * share / at_once
    else:
        tokens = Tokens(guess.read * left, guess.written * left)
        seconds = _rule_of_thumb(tokens, at_once, local=model_name.partition(":")[0] in _LOCAL)
    cost = prices.cost(tokens) if prices else None
    return Estimate(items, finished.count, left, tokens, round(seconds, 1), cost, measured)


def _rule_of_thumb(tokens: Tokens, at_once: int, *, local: bool) -> float:
    if local:
        return tokens.read / _LOCAL_READ + tokens.written / _LOCAL_WRITTEN
    return tokens.written / _SERVER_WRITTEN / at_once
