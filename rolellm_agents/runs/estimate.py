"""What a run will take, before it is paid for: by what was measured in it, or else by rules of thumb."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.runs.budget import Prices, Tokens
from rolellm_agents.runs.folder import LongRun
from rolellm_agents.runs.items import FinishedItems

_ENOUGH: Final = 5
"""So many finished items say more than a rule."""
_LOCAL_READ, _LOCAL_WRITTEN = 500, 90
"""Tokens a second of the embedded model on two processor cores, all requests together."""
_SERVER_WRITTEN = 50
"""Tokens a second of each request to a server."""


_LOCAL: Final = ("llamacpp", "huggingface")
"""Providers that compute on this machine."""


@dataclass(frozen=True)
class Estimate:
    """What is left to do of a run, and about what it takes."""

    items: int
    done: int
    calls: int
    tokens: Tokens
    seconds: float
    cost: float | None
    measured: bool
    """By the items that are done; else by a rule of thumb."""


def estimate_left(
    folder: Path,
    keys: Callable[[], Iterable[str]],
    guess: Tokens,
    *,
    at_once: int,
    model_name: str,
    prices: Prices | None,
) -> Estimate:
    """Estimate what is left of a run, which need not have begun.

    Args:
        folder: the run's.
        keys: of all its items; each is one call of the model.
        guess: tokens of one call, used while too little is done to measure it.
        at_once: requests at the same time.
        model_name: its spec.
        prices: None when they do not matter.

    Raises:
        StorageError: a line of the run is damaged.
    """
    finished = FinishedItems(LongRun(folder), keys)
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
