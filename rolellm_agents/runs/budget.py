"""What a run may spend: tokens, and money at given prices. What is being asked for counts as spent."""

from dataclasses import dataclass

from rolellm_agents.errors import SettingsError

_MILLION = 1_000_000


@dataclass(frozen=True)
class Tokens:
    """What a model read and wrote."""

    read: int = 0
    written: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.read + other.read, self.written + other.written)

    def __sub__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.read - other.read, self.written - other.written)

    @property
    def total(self) -> int:
        """Both together."""
        return self.read + self.written


@dataclass(frozen=True)
class Prices:
    """Of a million tokens, in whatever currency."""

    read: float
    written: float

    def cost(self, tokens: Tokens) -> float:
        """What these tokens cost."""
        return (self.read * tokens.read + self.written * tokens.written) / _MILLION


class Budget:
    """What may still be asked for; the limits hold for a run as a whole, however often it is started."""

    def __init__(
        self,
        *,
        most_tokens: int | None = None,
        most_cost: float | None = None,
        prices: Prices | None = None,
        spent: Tokens | None = None,
    ) -> None:
        """Begin with what is spent.

        Args:
            most_tokens: read and written together; None is no limit.
            most_cost: in the prices' currency; None is no limit.
            prices: needed to know what anything costs.
            spent: by earlier starts of the run.

        Raises:
            SettingsError: a greatest cost without prices.
        """
        if most_cost is not None and prices is None:
            raise SettingsError(
                "A greatest cost needs prices; give --price-read and --price-written, per million tokens."
            )
        self.prices = prices
        self.spent = spent or Tokens()
        self._asked = Tokens()
        self._most_tokens = most_tokens
        self._most_cost = most_cost

    @property
    def cost(self) -> float | None:
        """Of what is spent; None without prices."""
        return self.prices.cost(self.spent) if self.prices else None

    def reserve(self, expected: Tokens) -> bool:
        """Set aside what a request may take; False when there is not so much left."""
        wanted = self.spent + self._asked + expected
        if self._most_tokens is not None and wanted.total > self._most_tokens:
            return False
        if self._most_cost is not None and self.prices and self.prices.cost(wanted) > self._most_cost:
            return False
        self._asked += expected
        return True

    def settle(self, expected: Tokens, used: Tokens) -> None:
        """Count what a request took in the place of what was set aside for it."""
        self._asked -= expected
        self.spent += used
