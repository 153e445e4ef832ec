"""A schema made finite: what llguidance can promise, and what always comes to an end when it must."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from rolellm_agents.errors import ModelError

_DEEPEST = 12
"""How many references may stand in each other: a recursive schema has no end of its own."""
_LONGEST_WORD = 100
"""Characters of a string with a pattern or format, which a closing quotation mark cannot end at will."""
_DEFINITIONS = ("$defs", "definitions")
_OF_NAMES = ("properties", "patternProperties")
_OF_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_OF_CHOICES = ("anyOf", "oneOf")
_OF_ONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri")
)
"""Those that llguidance knows; others are remarks in JSON Schema, and left out."""


def finite(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema whose valid values are valid against `schema`, too, and end within bounds.

    References are unrolled to a fixed depth, and strings that must match something have a greatest length.

    Raises:
        ModelError: a reference leads nowhere.
    """
    unrolled = _Unrolled(schema)
    root = unrolled.of(schema, _DEEPEST)
    if root is False:
        raise ModelError(
            "The answer's schema has no end, because it requires itself; make that part optional."
        )
    kept = {name: part for name, part in unrolled.definitions.items() if part is not False}
    return {**root, "$defs": kept} if kept else root


class _Unrolled:
    """One schema on its way."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.definitions: dict[str, Any] = {}
        self._root = root

    def of(self, schema: Any, levels: int) -> Any:
        """A part of the schema, in which `levels` references may nest; False if no value fits."""
        if not isinstance(schema, Mapping):
            return schema
        made = self._parts(schema, levels)
        if isinstance(made.get("$ref"), str):
            made["$ref"] = self._reference(made["$ref"], levels)
        for key in _OF_CHOICES:
            if made.get(key):
                made[key] = [part for part in made[key] if part is not False]
        return False if self._impossible(made) else _short(made)

    def _parts(self, schema: Mapping[str, Any], levels: int) -> dict[str, Any]:
        """The schema with each of its parts done."""
        made = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
        for key in _OF_NAMES:
            if isinstance(made.get(key), Mapping):
                made[key] = {name: self.of(part, levels) for name, part in made[key].items()}
        for key in _OF_LISTS:
            if isinstance(made.get(key), list):
                made[key] = [self.of(part, levels) for part in made[key]]
        for key in _OF_ONE:
            if key in made:
                made[key] = self.of(made[key], levels)
        return made

    def _impossible(self, made: Mapping[str, Any]) -> bool:
        """Whether something must be there that nests too deep."""
        members = made.get("properties", {})
        return (
            any(made.get(key) == [] for key in _OF_CHOICES)
            or any(False in made.get(key, ()) for key in ("allOf", "prefixItems"))
            or any(members.get(name) is False for name in made.get("required", ()))
            or (made.get("items") is False and made.get("minItems", 0) > len(made.get("prefixItems", ())))
            or self.definitions.get(made.get("$ref", "").removeprefix("#/$defs/")) is False
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
