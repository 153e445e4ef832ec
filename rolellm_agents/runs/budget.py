"""Limits of tokens and cost for a run. The expected tokens of pending requests count as spent."""

from dataclasses import dataclass

from rolellm_agents.errors import SettingsError

_MILLION = 1_000_000


@dataclass(frozen=True)
class Tokens:
    """Prompt tokens (`read`) and answer tokens (`written`)."""

    read: int = 0
    written: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.read + other.read, self.written + other.written)

    def __sub__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.read - other.read, self.written - other.written)

    @property
    def total(self) -> int:
        """The sum of both."""
        return self.read + self.written


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens, in any currency."""

    read: float
    written: float
    cached: float | None = None
    """For prompt tokens from the server's cache; `read` when None."""

    def cost(self, tokens: Tokens, *, cached: int = 0) -> float:
        """The cost of these tokens, of which `cached` prompt tokens came from the server's cache."""
        reduced = self.read if self.cached is None else self.cached
        prompt = self.read * (tokens.read - cached) + reduced * cached
        return (prompt + self.written * tokens.written) / _MILLION


class Budget:
    """Tracks spending against limits that hold for a run, including all of its restarts."""

    def __init__(
        self,
        *,
        most_tokens: int | None = None,
        most_cost: float | None = None,
        prices: Prices | None = None,
        spent: Tokens | None = None,
    ) -> None:
        """Set the limits.

        Args:
            most_tokens: limit of read and written tokens together; None for no limit.
            most_cost: cost limit in the prices' currency; None for no limit.
            prices: required for a cost limit.
            spent: tokens spent by earlier starts of the run.

        Raises:
            SettingsError: a cost limit without prices.
        """
        if most_cost is not None and prices is None:
            raise SettingsError(
                "A cost limit requires prices; set --price-read and --price-written, per million tokens, "
                "or list the model in prices.toml."
            )
        self.prices = prices
        self.spent = spent or Tokens()
        self._reserved = Tokens()
        self._most_tokens = most_tokens
        self._most_cost = most_cost

    @property
    def cost(self) -> float | None:
        """The cost of the spent tokens; None without prices."""
        return self.prices.cost(self.spent) if self.prices else None

    def reserve(self, expected: Tokens) -> bool:
        """Reserve the expected tokens of a request; False if they exceed the budget."""
        total = self.spent + self._reserved + expected
        if self._most_tokens is not None and total.total > self._most_tokens:
            return False
        if self._most_cost is not None and self.prices and self.prices.cost(total) > self._most_cost:
            return False
        self._reserved += expected
        return True

    def settle(self, expected: Tokens, used: Tokens) -> None:
        """Replace a request's reserved tokens by the tokens it used."""
        self._reserved -= expected
        self.spent += used
