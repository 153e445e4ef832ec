"""A shape: what a schema asks of one value, without alternatives and references."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from rolellm_agents.models.llamacpp.grammar.keywords import Keywords, Schema
from rolellm_agents.models.llamacpp.grammar.numbers import NO_BOUNDS, Bounds
from rolellm_agents.models.llamacpp.grammar.rules import InexpressibleError

Kinds = frozenset[str]
_KINDS = {
    "null": ("null",),
    "boolean": ("boolean",),
    "integer": ("whole",),
    "number": ("whole", "fraction"),
    "string": ("string",),
    "array": ("array",),
    "object": ("object",),
}
"""Kinds are apart from each other, as types are not."""
ALL_KINDS: Kinds = frozenset(kind for kinds in _KINDS.values() for kind in kinds)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Span:
    """How many of something there may be."""

    least: int = 0
    most: int | None = None

    def meet(self, other: "Span") -> "Span":
        """What both allow."""
        tops = [most for most in (self.most, other.most) if most is not None]
        return Span(max(self.least, other.least), min(tops, default=None))

    @property
    def empty(self) -> bool:
        """Whether no number will do."""
        return self.most is not None and self.most < self.least

    def holds(self, number: int) -> bool:
        """Whether so many are allowed."""
        return self.least <= number and (self.most is None or number <= self.most)


@dataclass(frozen=True)
class Shape:
    """What is asked of one value, all at once; the defaults ask for nothing."""

    kinds: Kinds = ALL_KINDS
    values: tuple[Any, ...] | None = None
    bounds: Bounds = NO_BOUNDS
    step: Decimal | None = None
    length: Span = Span()
    pattern: str | None = None
    format: str | None = None
    elements: Span = Span()
    prefix: tuple[Schema, ...] = ()
    items: Schema = True
    unique: bool = False
    members: Span = Span()
    properties: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    additional: Schema = True
    patterns: Mapping[str, Schema] = field(default_factory=dict)
    names: Schema = True
    closed: bool = False
    """Nothing may be in an object that no part of the schema speaks of."""

    @property
    def meant(self) -> Kinds:
        """The kinds of value to write: where no type is given, those that something is asked of."""
        if self.kinds != ALL_KINDS:
            return self.kinds
        spoken_of = frozenset(kind for kind in ALL_KINDS if self._asks_of(kind))
        return spoken_of or ALL_KINDS

    def _asks_of(self, kind: str) -> bool:
        parts = _PARTS.get(kind, ())
        return any(getattr(self, part) != getattr(_ANYTHING, part) for part in parts)

    def is_plain(self, kind: str) -> bool:
        """Whether nothing is asked of values of this kind."""
        return not self._asks_of(kind)

    def meet(self, other: "Shape") -> "Shape":
        """What both ask for, together."""
        return Shape(
            kinds=self.kinds & other.kinds,
            values=_shared_values(self.values, other.values),
            bounds=self.bounds.meet(other.bounds),
            step=_one_of_two("multipleOf", self.step, other.step),
            length=self.length.meet(other.length),
            pattern=_one_of_two("pattern", self.pattern, other.pattern),
            format=_one_of_two("format", self.format, other.format),
            elements=self.elements.meet(other.elements),
            prefix=_both_prefixes(self, other),
            items=both(self.items, other.items),
            unique=self.unique or other.unique,
            members=self.members.meet(other.members),
            properties=_both_properties(self, other),
            required=tuple(dict.fromkeys(self.required + other.required)),
            additional=both(self.additional, other.additional),
            patterns=_one_of_two("patternProperties", self.patterns, other.patterns) or {},
            names=both(self.names, other.names),
            closed=self.closed or other.closed,
        )


_PARTS = {
    "whole": ("bounds", "step"),
    "fraction": ("bounds", "step"),
    "string": ("length", "pattern", "format"),
    "array": ("elements", "prefix", "items", "unique"),
    "object": ("members", "properties", "required", "additional", "patterns", "names", "closed"),
}
_ANYTHING = Shape()


def shape_of(words: Keywords) -> Shape:
    """What a schema's own keywords ask for."""
    names = [words.type] if isinstance(words.type, str) else words.type
    kinds = ALL_KINDS if names is None else frozenset(kind for name in names for kind in _KINDS[name])
    return Shape(
        kinds=kinds,
        values=words.values,
        bounds=words.bounds,
        step=words.step,
        length=Span(words.min_length, words.max_length),
        pattern=words.pattern,
        format=words.format,
        elements=Span(words.min_items, words.max_items),
        # Until draft 2019-09, a list of `items` was what `prefixItems` is now.
        prefix=tuple(words.items if isinstance(words.items, list) else words.prefix_items),
        items=words.additional_items if isinstance(words.items, list) else words.items,
        unique=words.unique_items,
        members=Span(words.min_properties, words.max_properties),
        properties=words.properties,
        required=tuple(words.required),
        additional=_simple(words.additional_properties),
        patterns=words.pattern_properties,
        names=_simple(words.property_names),
        closed=_simple(words.unevaluated_properties) is not True,
    )


def both(one: Schema, other: Schema) -> Schema:
    """A schema for what fulfils two."""
    if one is True or one == other:
        return other
    if other is True:
        return one
    return False if one is False or other is False else {"allOf": [one, other]}


def canonical(value: Any) -> str:
    """The same text for what JSON Schema takes for the same value: 1 and 1.0, but not 1 and true."""
    return json.dumps(_without_points(value), sort_keys=True)


def _without_points(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_without_points(each) for each in value]
    if isinstance(value, dict):
        return {name: _without_points(each) for name, each in value.items()}
    return value


def _simple(schema: Schema) -> Schema:
    return True if schema == {} else schema


def _shared_values(some: tuple[Any, ...] | None, others: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if some is None or others is None:
        return others if some is None else some
    known = {canonical(value) for value in others}
    return tuple(value for value in some if canonical(value) in known)


def _one_of_two(name: str, one: _T, other: _T) -> _T:
    if one and other and one != other:
        raise InexpressibleError(f"has two “{name}” at once; leave one of them.")
    return one or other


def _both_prefixes(one: Shape, other: Shape) -> tuple[Schema, ...]:
    def at(shape: Shape, place: int) -> Schema:
        return shape.prefix[place] if place < len(shape.prefix) else shape.items

    longest = max(len(one.prefix), len(other.prefix))
    return tuple(both(at(one, place), at(other, place)) for place in range(longest))


def _both_properties(one: Shape, other: Shape) -> dict[str, Schema]:
    """What one says of a property that the other does not name, it says as one of the others."""
    names = dict.fromkeys([*one.properties, *other.properties])
    return {
        name: both(one.properties.get(name, one.additional), other.properties.get(name, other.additional))
        for name in names
    }
