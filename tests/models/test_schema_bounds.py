"""Schemas from outside: each is prescribed or refused in a sentence, and none grows without bound."""

import json
import re
from typing import Any

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import AnswerFormatError
from rolellm_agents.models.llamacpp.engine.constraint import schema_grammar
from rolellm_agents.models.llamacpp.engine.finite import finite
from rolellm_agents.models.llamacpp.structured import grammar_of

NAMES = ("a", "b", "$defs", "properties")
KEYWORDS = [
    "$ref",
    "$anchor",
    "$defs",
    "definitions",
    "$id",
    "$schema",
    "type",
    "enum",
    "const",
    "properties",
    "patternProperties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "multipleOf",
    "x-guidance",
    "dependentSchemas",
    "propertyNames",
    "nullable",
    "title",
    "default",
]
REFS = st.sampled_from(
    [
        "#",
        "",
        "#/",
        "#0",
        "#a",
        "#/a",
        "#/$defs/a",
        "#/items/0",
        "#/items/00",
        "#/items/-1",
        "x",
        "#/%",
        "#~",
    ]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | REFS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*KEYWORDS, *NAMES]), inner, max_size=4)
    ),
    max_leaves=12,
)

ODD: list[Any] = [
    {"$ref": 5},
    {"$ref": ["#"]},
    {"required": 5},
    {"required": None, "properties": {"a": {}}},
    {"required": [[]], "properties": {"a": {}}},
    {"required": "ab", "properties": {"a": False}},
    {"properties": 3},
    {"properties": {"a": None}},
    {"minItems": "x", "items": False},
    {"minItems": 1.5, "items": False},
    {"enum": {}},
    {"anyOf": 5},
    {"anyOf": {"a": 1}},
    {"anyOf": [5]},
    {"oneOf": 5},
    {"allOf": 5},
    {"prefixItems": 5},
    {"pattern": 5},
    {"pattern": "x", "minLength": "x"},
    {"pattern": "x", "maxLength": "x"},
    {"format": 5},
    {"type": {}},
    {"$defs": 5, "$ref": "#/$defs/a"},
    {"definitions": {"a": 5}, "$ref": "#/definitions/a"},
    {"enum": [5], "$ref": "#/enum/0"},
    {"const": "\ud800"},
    {"properties": {"\ud800": {}}},
    {"oneOf": []},
    5,
    [],
    None,
    True,
    "x",
]


def parts(value: Any) -> int:
    """How many values a document has."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(parts, inner))


def written_in_many_ways(word: str, number: int) -> str:
    """The word with other letters percent-encoded for each number."""
    return "".join(
        f"%{ord(letter):02x}" if number >> place & 1 else letter for place, letter in enumerate(word)
    )


def complete_graph(definitions: int) -> dict[str, Any]:
    """Definitions that each refer to all."""
    names = [f"d{number}" for number in range(definitions)]
    each = {"properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    return {"$ref": "#/$defs/d0", "$defs": dict.fromkeys(names, each)}


@pytest.mark.parametrize("schema", ODD, ids=json.dumps)
def test_an_odd_schema_is_refused_in_a_sentence(schema: Any) -> None:
    with pytest.raises(AnswerFormatError) as refused:
        schema_grammar(schema)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_a_schema_on_which_the_library_panics_is_refused() -> None:
    keywords = {"patternProperties": "·é\x8a\U000c1d16", "maxItems": "", "minItems": "#~"}
    with pytest.raises(AnswerFormatError, match="cannot be prescribed"):
        schema_grammar({"maxItems": [keywords, "", keywords]})


@examples(10)
@given(JSON)
def test_any_json_as_a_schema_is_prescribed_or_refused(schema: Any) -> None:
    try:
        assert schema_grammar(schema)
    except AnswerFormatError as error:
        assert str(error).endswith(".")  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    "ref", ["#0", "#a", "#a/b", "x", "http://x/y#/$defs/a", "#/$defs/b", "#/prefixItems/00"]
)
def test_a_reference_without_a_target_is_refused(ref: str) -> None:
    schema = {"properties": {"x": {"$ref": ref}}, "$defs": {"a": {}}, "prefixItems": [{"type": "null"}]}
    with pytest.raises(AnswerFormatError, match=re.escape(f"refers to “{ref}”, which is not in it")):
        schema_grammar(schema)


def test_many_unknown_references_are_no_copies_of_the_schema() -> None:
    attack = {
        "type": "object",
        "properties": {f"a{number}": {"$ref": f"#{number}"} for number in range(800)},
    }
    with pytest.raises(AnswerFormatError, match="which is not in it"):
        finite(attack)


def test_one_place_is_one_definition_however_it_is_referred_to() -> None:
    pointers = [f"#/%24defs/{written_in_many_ways('recursive', number)}" for number in range(200)]
    schema = {
        "properties": {f"a{number}": {"$ref": pointer} for number, pointer in enumerate(pointers)},
        "$defs": {"recursive": {"properties": {"again": {"$ref": pointers[7]}}}},
    }
    assert len(finite(schema)["$defs"]) == 12
    assert parts(finite(schema)) < 1_000


def test_similar_places_are_different_definitions() -> None:
    schema = {
        "properties": {"x": {"$ref": "#/$defs/a.b"}, "y": {"$ref": "#/$defs/a/properties/b"}},
        "$defs": {"a.b": {"type": "null"}, "a": {"properties": {"b": {"type": "boolean"}}}},
    }
    unrolled = finite(schema)
    kinds = [unrolled["$defs"][unrolled["properties"][name]["$ref"][8:]]["type"] for name in "xy"]
    assert kinds == ["null", "boolean"]


def test_an_anchor_names_a_place() -> None:
    schema = {"$ref": "#mood", "$defs": {"m": {"$anchor": "mood", "enum": ["glad", "sad"]}}}
    assert schema_grammar(schema)
    assert list(finite(schema)["$defs"].values()) == [{"enum": ["glad", "sad"]}]


def test_references_in_the_older_form_of_tuples_are_followed() -> None:
    schema = {
        "type": "array",
        "items": [{"$ref": "#/definitions/a"}],
        "definitions": {"a": {"type": "null"}},
    }
    (item,) = finite(schema)["items"]
    assert finite(schema)["$defs"] == {item["$ref"].removeprefix("#/$defs/"): {"type": "null"}}


def test_recursion_that_multiplies_is_bounded_in_sum() -> None:
    assert parts(finite(complete_graph(20))) < 100_000
    with pytest.raises(AnswerFormatError, match="more than 30,000 parts"):
        finite(complete_graph(70))


def test_text_that_multiplies_is_bounded_in_sum() -> None:
    schema: dict[str, Any] = {"enum": ["x" * 150_000]}
    for depth in range(30):
        up = "#" + "/properties/in" * depth
        schema = {"properties": {"in": schema, "up": {"$ref": up}}}
    with pytest.raises(AnswerFormatError, match="3,000,000 characters"):
        finite(schema)


def test_an_object_of_very_many_members_is_refused() -> None:
    with pytest.raises(AnswerFormatError, match="2,001 parts in one properties"):
        schema_grammar({"properties": {str(number): True for number in range(2_001)}})


@pytest.mark.parametrize("levels", [65, 400])
def test_a_schema_that_nests_too_deeply_is_refused(levels: int) -> None:
    schema: dict[str, Any] = {"$ref": "#"}
    for _ in range(levels):
        schema = {"items": schema}
    with pytest.raises(AnswerFormatError, match="nests deeper than 64 levels"):
        schema_grammar(schema)


@pytest.mark.parametrize("form", [{}, {"json_schema": 5}, {"json_schema": {"name": "x"}}])
def test_a_response_format_without_its_schema_is_refused(form: dict[str, Any]) -> None:
    with pytest.raises(AnswerFormatError, match="json_schema"):
        grammar_of({"response_format": {"type": "json_schema", **form}})
