"""Upper bounds of the weights of results, computed before the results."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinMethodType
from typing import Any, Final

from rolellm_agents.models.llamacpp.jinja.meter import CONTAINERS, NODE, LimitError, OperationMeter

_MOST_BITS: Final = 4_096
_MOST_NUMBER: Final = 100_000
"""The largest number that a filter or a method takes as an argument."""
_WIDE_PERCENT: Final = re.compile(r"%(?:\([^()]*\))?[^%a-zA-Z()]*(?:\*|\d{4})|%\([^()]*\(")
"""`%` with a width of four digits or from an argument, or with a key that hides one."""
_WIDE_BRACES: Final = re.compile(r"\{[^{}]*:[^{}]*(?:\{|\d{4})")


def of_operator(operator: str, left: Any, right: Any, left_weight: int, right_weight: int) -> int:
    """An upper bound of the weight of an operator's result."""
    if isinstance(left, int) and isinstance(right, int):
        bits = max(left.bit_length(), right.bit_length()) + 1
        if operator == "*":
            bits = left.bit_length() + right.bit_length()
        if operator == "**":
            bits = left.bit_length() * max(right, 1)
        if bits > _MOST_BITS:
            raise LimitError("it computes a number that no conversation needs")
        return NODE
    if operator == "*":
        for times, repeated, weight in ((left, right, right_weight), (right, left, left_weight)):
            if isinstance(times, int):
                return max(times, 1) * (len(repeated) if isinstance(repeated, str) else weight)
    if operator == "%" and isinstance(left, str):
        if _WIDE_PERCENT.search(left):
            raise LimitError("it formats a text to a width that no conversation needs")
        return left_weight + left.count("%") * right_weight
    return left_weight + right_weight


def of_braces(text: str, weight: int) -> int:
    """An upper bound of the weight of what `str.format` returns for values of a weight.

    Raises:
        LimitError: the text names a large width.
    """
    if _WIDE_BRACES.search(text):
        raise LimitError("it formats a text to a width that no conversation needs")
    return len(text) + text.count("{") * weight


def check_number(value: Any) -> None:
    """Raise if an argument is a number that is too large for a size.

    Raises:
        LimitError: it is.
    """
    if isinstance(value, int) and not -_MOST_NUMBER <= value <= _MOST_NUMBER:
        raise LimitError(
            f"it uses the number {str(value)[:20] if value.bit_length() < 64 else '…'} as a size"
        )


def check_method(meter: OperationMeter, method: BuiltinMethodType, given: Sequence[Any]) -> None:
    """Take what a method of a value costs, before it makes its result."""
    owner, name = method.__self__, method.__name__
    if isinstance(owner, str | bytes):
        meter.check(_weight_of_text_method(meter, owner, name, given))
    elif isinstance(owner, Sequence) and name in ("count", "index"):
        meter.touch(owner)
        meter.touch(given)
    elif isinstance(owner, Mapping) and name == "get" and given:
        meter.touch(given[0])


def _weight_of_text_method(
    meter: OperationMeter, owner: str | bytes, name: str, given: Sequence[Any]
) -> int:
    """An upper bound of the weight of what a method of a text returns."""
    weight = len(owner)
    first = given[0] if given else None
    match name:
        case "replace" if len(given) > 1 and isinstance(owner, str):
            return weight + owner.count(str(first)) * len(str(given[1]))
        case "join":
            parts = len(first) if isinstance(first, CONTAINERS) else 0
            return weight * parts + meter.touch(first)
        case "center" | "ljust" | "rjust" | "zfill":
            return weight + (first if isinstance(first, int) else 0)
        case "expandtabs":
            return weight * (1 + (first if isinstance(first, int) else 8))
        case "translate" | "maketrans":
            raise LimitError(f"it uses the method {name}")
        case _:
            return 3 * weight


def _weight_replaced(meter: OperationMeter, value: Any, weight: int, options: Sequence[Any]) -> int:
    if len(options) < 2:
        return weight
    return weight + str(value).count(str(options[0])) * len(str(options[1]))


def _weight_joined(meter: OperationMeter, value: Any, weight: int, options: Sequence[Any]) -> int:
    parts = len(value) if hasattr(value, "__len__") else 0
    return weight + parts * (len(str(options[0])) if options else 0)


def _weight_indented(meter: OperationMeter, value: Any, weight: int, options: Sequence[Any]) -> int:
    width = options[0] if options else 4
    return weight + (str(value).count("\n") + 1) * (width if isinstance(width, int) else len(str(width)))


def _weight_of_json(meter: OperationMeter, value: Any, weight: int, options: Sequence[Any]) -> int:
    widths = [one if isinstance(one, int) else len(str(one)) for one in options]
    # Each value may stand on a line of its own, behind an indentation for each level above it.
    return 6 * weight + weight // NODE * max(widths, default=0) * _depth(value)


def _depth(value: Any) -> int:
    """The levels of a value that has been weighed, so that it is neither large nor deep."""
    if isinstance(value, str) or not isinstance(value, CONTAINERS):
        return 0
    inside: Iterable[Any] = value.values() if isinstance(value, Mapping) else value
    return 1 + max(map(_depth, inside), default=0)


FILTERS: Final[Mapping[str, Callable[[OperationMeter, Any, int, Sequence[Any]], int]]] = {
    "replace": _weight_replaced,
    "join": _weight_joined,
    "indent": _weight_indented,
    "tojson": _weight_of_json,
}
"""Filters whose result may be larger than their value, with upper bounds of its weight."""
