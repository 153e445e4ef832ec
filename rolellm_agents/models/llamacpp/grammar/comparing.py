"""Whether a value has a shape, and whether two shapes can have a value in common."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from rolellm_agents.models.llamacpp.grammar.keywords import Schema
from rolellm_agents.models.llamacpp.grammar.shapes import Shape, canonical

ShapesOf = Callable[[Schema], tuple[Shape, ...]]
_DEEPEST = 4


def fits(value: Any, shape: Shape) -> bool | None:
    """Whether the value has the shape; None if that is not looked into here."""
    kind = kind_of(value)
    if kind not in shape.kinds:
        return False
    if shape.values is not None and canonical(value) not in {canonical(each) for each in shape.values}:
        return False
    if shape.is_plain(kind):
        return True
    if kind in {"whole", "fraction"}:
        return None if shape.step is not None else shape.bounds.holds(Decimal(repr(value)))
    if kind == "string":
        return shape.length.holds(len(value)) and (None if shape.pattern else True)
    return None


def kind_of(value: Any) -> str:
    """The kind of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "whole" if value == int(value) else "fraction"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def apart(some: tuple[Shape, ...], others: tuple[Shape, ...], shapes_of: ShapesOf, depth: int = 0) -> bool:
    """Whether surely no value that is written for one side fits the other."""
    return depth < _DEEPEST and all(
        _never(one, other, shapes_of, depth) and _never(other, one, shapes_of, depth)
        for one in some
        for other in others
    )


def _never(one: Shape, other: Shape, shapes_of: ShapesOf, depth: int) -> bool:
    """Whether no value written for `one` fits the other."""
    if one.values is not None:
        return all(fits(value, other) is False for value in one.values)
    shared = one.meant & other.kinds
    if other.values is not None:
        shared &= {kind_of(value) for value in other.values if fits(value, one) is not False}
    return all(_apart_as(kind, one, other, shapes_of, depth) for kind in shared)


def _apart_as(kind: str, one: Shape, other: Shape, shapes_of: ShapesOf, depth: int) -> bool:
    if kind in {"whole", "fraction"}:
        return one.bounds.meet(other.bounds).empty
    if kind == "string":
        return one.length.meet(other.length).empty
    if kind == "array":
        return one.elements.meet(other.elements).empty
    if kind == "object":
        return any(
            _told_apart_by(name, one, other, shapes_of, depth) for name in (*one.required, *other.required)
        )
    return False


def _told_apart_by(name: str, one: Shape, other: Shape, shapes_of: ShapesOf, depth: int) -> bool:
    """Whether a property that one side requires is another thing, or nothing, on the other side."""
    if one.patterns or other.patterns:
        return False
    here = one.properties.get(name, one.additional)
    there = other.properties.get(name, other.additional)
    return apart(shapes_of(here), shapes_of(there), shapes_of, depth + 1)
