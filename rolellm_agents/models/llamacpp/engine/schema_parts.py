"""The parts of a JSON Schema, and whether each has the form that JSON Schema prescribes."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from rolellm_agents.errors import AnswerFormatError
from rolellm_agents.text import one_line

Place = tuple[str, ...]
"""The keys from a schema to a part of it."""
DEFINITIONS: Final = ("$defs", "definitions")
OF_NAMES: Final = ("properties", "patternProperties")
OF_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
OF_ONE: Final = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "not",
    "if",
    "then",
    "else",
)
"""Keywords with one schema. Before 2020, `items` could also have a list, as `prefixItems` has today."""
_MOST_MEMBERS: Final = 2_000
"""The most parts of one keyword; llguidance's time grows with the square of their number."""
_SHOWN: Final = 60


def parts_of(schema: Any) -> Iterator[tuple[Place, Any]]:
    """The schemas directly within a schema, each with its place there; definitions are no parts."""
    if not isinstance(schema, Mapping):
        return
    yield from _named(schema, OF_NAMES)
    for key in OF_LISTS:
        listed = schema.get(key)
        if isinstance(listed, list):
            yield from (((key, str(number)), part) for number, part in enumerate(listed))
    for key in OF_ONE:
        if key in schema and not isinstance(schema[key], list):
            yield (key,), schema[key]


def definitions_of(schema: Any) -> Iterator[tuple[Place, Any]]:
    """The definitions directly within a schema, each with its place there."""
    if isinstance(schema, Mapping):
        yield from _named(schema, DEFINITIONS)


def check_form(schema: Any) -> None:
    """Check one schema, without its parts. Keywords that only llguidance reads are left to it.

    Raises:
        AnswerFormatError: the schema or a keyword's value has the wrong form, or too many parts.
    """
    if not isinstance(schema, Mapping):
        if not isinstance(schema, bool):
            raise AnswerFormatError(
                f"The answer's schema has {_shown(schema)} where a schema belongs; write an object, true "
                "or false."
            )
        return
    for key, (is_right, form) in _FORMS.items():
        if key in schema and not is_right(schema[key]):
            raise AnswerFormatError(
                f"The answer's schema has {_shown(schema[key])} as {key}, which must be {form}; correct it."
            )
    for key in (*OF_NAMES, *OF_LISTS):
        if isinstance(schema.get(key), list | Mapping) and len(schema[key]) > _MOST_MEMBERS:
            raise AnswerFormatError(
                f"The answer's schema has {len(schema[key]):,} parts in one {key}, and at most "
                f"{_MOST_MEMBERS:,} can be prescribed; use a smaller schema."
            )


def _named(schema: Mapping[str, Any], keys: Sequence[str]) -> Iterator[tuple[Place, Any]]:
    for key in keys:
        named = schema.get(key)
        if isinstance(named, Mapping):
            yield from (((key, name), part) for name, part in named.items())


def _shown(value: Any) -> str:
    return one_line(json.dumps(value, ensure_ascii=False), _SHOWN)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_list_of_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_schema(value: Any) -> bool:
    return isinstance(value, Mapping | bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_Form = tuple[Callable[[Any], bool], str]
_FORMS: Final[Mapping[str, _Form]] = {
    "$ref": (_is_text, "a text such as “#/$defs/NAME”"),
    "$anchor": (_is_text, "a name"),
    "required": (_is_list_of_names, "a list of names"),
    **dict.fromkeys((*DEFINITIONS, *OF_NAMES), (_is_object, "an object of schemas")),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), (_is_list, "a list of schemas")),
    **dict.fromkeys((key for key in OF_ONE if key != "items"), (_is_schema, "one schema")),
    **dict.fromkeys(("minItems", "minLength", "maxLength"), (_is_count, "a whole number from 0")),
}
