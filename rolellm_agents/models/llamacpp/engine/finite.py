"""Bounds JSON Schemas, so that llguidance supports them and constrained output can always be completed."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from rolellm_agents.errors import AnswerFormatError
from rolellm_agents.models.llamacpp.engine.references import References
from rolellm_agents.models.llamacpp.engine.schema_parts import (
    DEFINITIONS,
    OF_LISTS,
    OF_NAMES,
    OF_ONE,
    Place,
    check_form,
    parts_of,
)

_DEEPEST: Final = 12
"""The deepest nesting of references, which limits recursive schemas."""
_MOST_PARTS: Final = 30_000
_MOST_CHARACTERS: Final = 3_000_000
"""The most parts and the most text of an unrolled schema, which bound its time and memory in sum."""
_MOST_NESTED: Final = 64
"""The deepest nesting of parts without references; llguidance reads no more."""
_LONGEST_WORD: Final = 100
"""The most characters of a string with a pattern or format, which cannot be closed at any point."""
_OF_CHOICES: Final = ("anyOf", "oneOf")
_OF_PARTS: Final = tuple(dict.fromkeys((*OF_LISTS, *OF_ONE)))
_ANNOTATIONS: Final = frozenset((*DEFINITIONS, "$anchor"))
"""Keywords that are left out, because copies of them would contradict each other."""
_FORMATS: Final = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri")
)
"""The formats that llguidance supports; others are annotations in JSON Schema and removed."""


def finite(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema whose valid values are valid for `schema`, too, and have a limited length.

    References are unrolled to a fixed depth, and strings with a pattern or format get a maximum length. The
    size of the result is known, and limited, before it is built.

    Raises:
        AnswerFormatError: a part has the wrong form, a reference has no target, the schema is too large, or
            no value of limited length is valid.
    """
    if not isinstance(schema, Mapping):
        raise AnswerFormatError("The answer's schema is no JSON object; give one that is.")
    survey = _Survey(schema)
    unrolled = _Unrolled(survey)
    for level, places in reversed(list(enumerate(survey.reached(), 1))):
        unrolled.define(places, _DEEPEST + 1 - level)
    root = unrolled.of(schema, _DEEPEST)
    if root is False:
        raise AnswerFormatError(
            "The answer's schema is infinitely recursive; make the recursive part optional."
            if survey.has_references
            else "The answer's schema allows no answer at all; change what excludes every value."
        )
    kept = {name: part for name, part in unrolled.definitions.items() if part is not False}
    return {**root, "$defs": kept} if kept else root


class _Size(NamedTuple):
    """How much of a schema there is."""

    parts: int
    characters: int

    def plus(self, other: "_Size") -> "_Size":
        """The sum.

        Raises:
            AnswerFormatError: it is more than is unrolled.
        """
        total = _Size(self.parts + other.parts, self.characters + other.characters)
        if total.parts > _MOST_PARTS or total.characters > _MOST_CHARACTERS:
            raise AnswerFormatError(
                f"The answer's schema has more than {_MOST_PARTS:,} parts or {_MOST_CHARACTERS:,} "
                "characters when its references are followed; use a smaller schema, or fewer references."
            )
        return total


class _Survey:
    """What a schema refers to, and how large it becomes when it is unrolled."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        """Check the root and its parts.

        Raises:
            AnswerFormatError: a part has the wrong form, or there are too many.
        """
        self.references = References(root)
        self._within: dict[Place, tuple[_Size, frozenset[Place]]] = {}
        """The size of each place, and the places to which it refers."""
        self._look_at((), root)
        self.has_references = bool(self._within[()][1])

    def reached(self) -> list[frozenset[Place]]:
        """The places that each level of references reaches, beginning with those of the root.

        Raises:
            AnswerFormatError: a part has the wrong form, or the unrolled schema is too large.
        """
        levels: list[frozenset[Place]] = []
        total, places = self._within[()]
        while places and len(levels) < _DEEPEST:
            levels.append(places)
            for place in places:
                if place not in self._within:
                    self._look_at(place, self.references.at(place))
                total = total.plus(self._within[place][0])
            places = frozenset().union(*(self._within[place][1] for place in places))
        return levels

    def _look_at(self, place: Place, schema: Any) -> None:
        refs: dict[str, None] = {}  # in their order, so that an error always names the same one
        size = _Size(0, 0)
        waiting = [(schema, 0)]
        while waiting:
            part, depth = waiting.pop()
            check_form(part)
            _check_depth(depth)
            size = size.plus(_Size(1, 0))
            if isinstance(part, Mapping) and "$ref" in part:
                refs[part["$ref"]] = None
            waiting += [(inner, depth + 1) for _, inner in parts_of(part)]
        size = size.plus(_Size(0, len(json.dumps(schema))))
        self._within[place] = size, frozenset(map(self.references.place_of, refs))


class _Unrolled:
    """A schema whose references are being unrolled, from the innermost to the root."""

    def __init__(self, survey: _Survey) -> None:
        self.definitions: dict[str, Any] = {}
        self._references = survey.references
        self._numbers: dict[Place, int] = {}

    def define(self, places: Iterable[Place], level: int) -> None:
        """Unroll the targets of references at a level. The levels below must be defined."""
        for place in sorted(places):
            name = self._name(place, level)
            self.definitions[name] = self.of(self._references.at(place), level - 1)

    def of(self, schema: Any, level: int) -> Any:
        """Unroll a part of the schema, in which `level` references may nest; False if nothing is valid."""
        if not isinstance(schema, Mapping):
            return schema
        result = self._parts(schema, level)
        if "$ref" in result:
            name = self._name(self._references.place_of(result["$ref"]), level)
            if self.definitions.get(name, False) is False:
                return False
            result["$ref"] = f"#/$defs/{name}"
        for key in _OF_CHOICES:
            if result.get(key):
                result[key] = [part for part in result[key] if part is not False]
        return False if _is_impossible(result) else _short(result)

    def _parts(self, schema: Mapping[str, Any], level: int) -> dict[str, Any]:
        """The schema with each of its parts unrolled."""
        result = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
        for key in OF_NAMES:
            if key in result:
                result[key] = {name: self.of(part, level) for name, part in result[key].items()}
        for key in _OF_PARTS:
            if isinstance(result.get(key), list):
                result[key] = [self.of(part, level) for part in result[key]]
            elif key in result:
                result[key] = self.of(result[key], level)
        return result

    def _name(self, place: Place, level: int) -> str:
        return f"{self._numbers.setdefault(place, len(self._numbers))}-{level}"


def _is_impossible(schema: Mapping[str, Any]) -> bool:
    """Whether the schema requires a part that nests too deeply."""
    members = schema.get("properties", {})
    first = schema.get("prefixItems", ())
    return (
        any(schema.get(key) == [] for key in _OF_CHOICES)
        or any(False in _listed(schema.get(key)) for key in ("allOf", "prefixItems"))
        or any(members.get(name) is False for name in schema.get("required", ()))
        or (schema.get("items") is False and schema.get("minItems", 0) > len(first))
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _check_depth(depth: int) -> None:
    if depth > _MOST_NESTED:
        raise AnswerFormatError(
            f"The answer's schema nests deeper than {_MOST_NESTED} levels; use a flatter schema."
        )


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("format"), str) and schema["format"] not in _FORMATS:
        schema = {key: value for key, value in schema.items() if key != "format"}
    if "pattern" not in schema and "format" not in schema:
        return schema
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    longest = max(_LONGEST_WORD, 2 * least)
    return {**schema, "maxLength": longest if most is None else min(most, longest)}
