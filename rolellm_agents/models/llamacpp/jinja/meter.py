"""The budget of a rendering, and the weights of values.

Operations take from the budget in proportion to the size of the values that they touch. So the template and
the conversation alone decide whether a rendering is refused, and not the machine.
"""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, Set, ValuesView
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from jinja2 import TemplateError
from jinja2.utils import Namespace

_OPERATIONS: Final = 500_000
"""The budget of a rendering, in operations of about a microsecond; published templates take some hundreds,
and about fifty for each further message."""
_OPERATIONS_PER_CHARACTER: Final = 4
"""Added for the weight of the conversation."""
_OPERATIONS_PER_PAIR: Final = 50
"""Added for each pair of messages, since some published templates loop over all for each."""
_MOST_WEIGHT: Final = 4_000_000
"""The largest value that a template may make, in characters; four times the conversation is added."""
_MOST_DEPTH: Final = 64
NODE: Final = 16
"""The weight of a value without its characters."""
SCALARS: Final = frozenset({bool, float, type(None)})
CONTAINERS: Final = (Mapping, Set, KeysView, ValuesView, ItemsView, Sequence)
"""What weighs as much as what it contains; texts are sequences, too."""


class LimitError(TemplateError):
    """A template works too long, or makes too large a value."""


class OperationMeter:
    """What one rendering may still do, and the weights of the containers that it has seen."""

    def __init__(self, given: Sequence[Sequence[Any]]) -> None:
        self.left = 0
        self.most = _MOST_WEIGHT
        self._known: dict[int, tuple[Any, int]] = {}
        weights = [self._weight(value, 0, bounded=False) for value in given]
        self.most += 4 * sum(weights)
        pairs = sum(len(value) ** 2 for value in given)
        self.left = _OPERATIONS + _OPERATIONS_PER_CHARACTER * sum(weights) + _OPERATIONS_PER_PAIR * pairs

    def take(self, cost: int) -> None:
        """Take from the budget.

        Raises:
            LimitError: nothing is left.
        """
        self.left -= cost
        if self.left < 0:
            raise LimitError("it works longer than any conversation needs")

    def check(self, weight: int) -> None:
        """Raise if a value would be too large, before it is made."""
        if weight > self.most:
            raise LimitError("it makes a text or a list that is far larger than the conversation")
        self.take(1 + (weight >> 6))

    def touch(self, value: Any, *, deep: bool = True) -> int:
        """Take what it costs to look at a value, and return its weight.

        Args:
            value: any value of a template.
            deep: whether the values inside a container are looked at, too.
        """
        kind = type(value)
        if kind is str:
            self.take(1 + (len(value) >> 6))
            return NODE + len(value)
        if kind in SCALARS:
            self.take(1)
            return NODE
        weight = self.weigh(value)
        if deep or not hasattr(value, "__len__"):
            self.take(1 + (weight >> 6))
        else:
            self.take(1 + (len(value) >> 2))
        return weight

    def weigh(self, value: Any) -> int:
        """The weight of a value: its characters, and those of all that it contains, as often as it does."""
        return self._weight(value, 0, bounded=True)

    def _weight(self, value: Any, depth: int, *, bounded: bool) -> int:
        kind = type(value)
        if kind is str:
            return NODE + len(value)
        # The usual containers first, since looking at abstract classes is slow.
        if kind is not dict and kind is not list and (weight := _weight_outside(value)) is not None:
            return weight
        if (known := self._known.get(id(value))) is not None:
            return known[1]
        if depth == _MOST_DEPTH:
            raise LimitError("it nests values too deeply")
        if bounded:
            self.take(1 + (len(value) >> 2))
        inside: list[Iterable[Any]] = [value]
        if isinstance(value, Mapping):
            inside = [value.keys(), value.values()]
        weight = NODE + sum(
            self._weight(one, depth + 1, bounded=bounded) for part in inside for one in part
        )
        if bounded and weight > self.most:
            raise LimitError("it makes a text or a list that is far larger than the conversation")
        # The value is kept, so that no other one gets its id.
        self._known[id(value)] = (value, weight)
        return weight


def _weight_outside(value: Any) -> int | None:
    """The weight of a value that contains nothing; None for a container."""
    if isinstance(value, str | bytes):
        return NODE + len(value)
    if isinstance(value, int):
        return NODE + (value.bit_length() >> 2)
    if isinstance(value, Namespace):
        raise LimitError("it uses a namespace as a value")
    return NODE if isinstance(value, range) or not isinstance(value, CONTAINERS) else None


METER: ContextVar[OperationMeter] = ContextVar("meter")


@contextmanager
def bounded(*given: Sequence[Any]) -> Iterator[None]:
    """Limit the renderings in this block.

    Args:
        given: the messages and tools that the template gets; the budget grows with them.

    Raises:
        TemplateError: the template works too long, makes too large a value, or fails in another way.
    """
    reset = METER.set(OperationMeter(given))
    try:
        yield
    except TemplateError:
        raise
    except RecursionError as error:
        raise LimitError("it calls itself without end") from error
    except Exception as error:  # a template can raise whatever Python's operators raise
        raise TemplateError(f"{type(error).__name__}: {error}") from error
    finally:
        METER.reset(reset)
