"""Bounds JSON Schemas, so that llguidance supports them and constrained output can always be completed."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from rolellm_agents.errors import ModelError

_DEEPEST = 12
"""The deepest nesting of references, which limits recursive schemas."""
_LONGEST_WORD = 100
"""The most characters of a string with a pattern or format, which cannot be closed at any point."""
_DEFINITIONS = ("$defs", "definitions")
_OF_NAMES = ("properties", "patternProperties")
_OF_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_OF_CHOICES = ("anyOf", "oneOf")
_OF_ONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri")
)
"""The formats that llguidance supports; others are annotations in JSON Schema and removed."""


def finite(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema whose valid values are valid for `schema`, too, and have a limited length.

    References are unrolled to a fixed depth, and strings with a pattern or format get a maximum length.

    Raises:
        ModelError: a reference has no target, or the schema requires infinite recursion.
    """
    unrolled = _Unrolled(schema)
    root = unrolled.of(schema, _DEEPEST)
    if root is False:
        raise ModelError("The answer's schema is infinitely recursive; make the recursive part optional.")
    kept = {name: part for name, part in unrolled.definitions.items() if part is not False}
    return {**root, "$defs": kept} if kept else root


class _Unrolled:
    """A schema whose references are being unrolled."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.definitions: dict[str, Any] = {}
        self._root = root

    def of(self, schema: Any, levels: int) -> Any:
        """Unroll a part of the schema, in which `levels` references may nest; False if nothing is valid."""
        if not isinstance(schema, Mapping):
            return schema
        result = self._parts(schema, levels)
        if isinstance(result.get("$ref"), str):
            result["$ref"] = self._reference(result["$ref"], levels)
        for key in _OF_CHOICES:
            if result.get(key):
                result[key] = [part for part in result[key] if part is not False]
        return False if self._impossible(result) else _short(result)

    def _parts(self, schema: Mapping[str, Any], levels: int) -> dict[str, Any]:
        """The schema with each of its parts unrolled."""
        result = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
        for key in _OF_NAMES:
            if isinstance(result.get(key), Mapping):
                result[key] = {name: self.of(part, levels) for name, part in result[key].items()}
        for key in _OF_LISTS:
            if isinstance(result.get(key), list):
                result[key] = [self.of(part, levels) for part in result[key]]
        for key in _OF_ONE:
            if key in result:
                result[key] = self.of(result[key], levels)
        return result

    def _impossible(self, schema: Mapping[str, Any]) -> bool:
        """Whether the schema requires a part that nests too deeply."""
        members = schema.get("properties", {})
        return (
            any(schema.get(key) == [] for key in _OF_CHOICES)
            or any(False in schema.get(key, ()) for key in ("allOf", "prefixItems"))
            or any(members.get(name) is False for name in schema.get("required", ()))
            or (
                schema.get("items") is False
                and schema.get("minItems", 0) > len(schema.get("prefixItems", ()))
            )
            or self.definitions.get(schema.get("$ref", "").removeprefix("#/$defs/")) is False
        )

    def _reference(self, ref: str, levels: int) -> str:
        name = f"{ref.removeprefix('#').replace('/', '.')}-{levels}"
        if name not in self.definitions:
            self.definitions[name] = self.of(self._look_up(ref), levels - 1) if levels else False
        return f"#/$defs/{name}"

    def _look_up(self, ref: str) -> Any:
        target: Any = self._root
        address, _, path = ref.partition("#")
        try:
            if address:
                raise KeyError(address)
            for step in unquote(path).split("/")[1:]:
                key = step.replace("~1", "/").replace("~0", "~")
                target = target[int(key)] if isinstance(target, list) else target[key]
        except (LookupError, TypeError, ValueError) as error:
            raise ModelError(f"The answer's schema refers to {ref}, which is not in it; add it.") from error
        return target


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("format"), str) and schema["format"] not in _FORMATS:
        schema = {key: value for key, value in schema.items() if key != "format"}
    if "pattern" not in schema and "format" not in schema:
        return schema
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    longest = max(_LONGEST_WORD, 2 * least)
    return {**schema, "maxLength": longest if most is None else min(most, longest)}
