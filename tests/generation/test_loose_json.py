"""JSON as models really write it."""

import json
import time
from typing import Any

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.loose_json import values_in

KEYS = st.text(max_size=40)
LEAVES = (
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(max_size=60)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.lists(VALUES, max_size=4) | st.dictionaries(KEYS, VALUES, max_size=4)
PROSE = st.text(st.characters(blacklist_characters="{}[]", blacklist_categories=["Cs"]), max_size=60)


@examples(1.5)
@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 2]))
def test_valid_json_is_read_as_json_reads_it(value: Any, ascii_only: bool, indent: int | None) -> None:
    assert [*values_in(json.dumps(value, ensure_ascii=ascii_only, indent=indent))] == [value]


@examples(1.5)
@given(DOCUMENTS, PROSE, PROSE, st.booleans())
def test_prose_and_fences_around_it_change_nothing(
    value: Any, before: str, after: str, fenced: bool
) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    text = f"```json\n{text}\n```" if fenced else f"\n{text}\n"
    found = [*values_in(before + text + after)]
    assert found == [value]


@examples(1.5)
@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=200))
def test_no_text_makes_it_fail(text: str) -> None:
    for value in values_in(text):
        assert isinstance(value, dict | list)


SIMPLE = st.dictionaries(
    st.text(st.characters(whitelist_categories=["Ll"]), min_size=1, max_size=12),
    st.text(st.characters(blacklist_characters="'\"\\", blacklist_categories=["Cs", "Cc"]), max_size=30)
    | st.booleans()
    | st.none()
    | st.integers(-999, 999),
    min_size=1,
    max_size=5,
)


@given(st.lists(SIMPLE, min_size=1, max_size=4))
def test_pythons_way_of_writing_it_is_understood(value: list[dict[str, Any]]) -> None:
    assert [*values_in(f"Here you are: {value!r}")] == [value]


@given(st.lists(SIMPLE, min_size=1, max_size=4), st.data())
def test_what_is_cut_short_keeps_what_stood_before_the_cut(
    value: list[dict[str, Any]], data: st.DataObject
) -> None:
    text = json.dumps({"questions": value}, ensure_ascii=False)
    whole = json.dumps({"questions": value[:-1]}, ensure_ascii=False).removesuffix("]}")
    cut = data.draw(st.integers(len(whole), len(text)))
    (found,) = values_in(text[:cut])
    assert found["questions"][: len(value) - 1] == value[:-1]
    assert len(found["questions"]) <= len(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "He said "go" to me", "b": 1}', {"a": 'He said "go" to me', "b": 1}),
        ("{'a': 'the dog's name'}", {"a": "the dog's name"}),
        ('{"a": 1, "b": 2,}', {"a": 1, "b": 2}),
        ('["a", "b",]', ["a", "b"]),
        ('{"a": "x" "b": "y"}', {"a": "x", "b": "y"}),
        ("{a: high, b: True, c: None}", {"a": "high", "b": True, "c": None}),
        ("{“a”: “你好”}", {"a": "你好"}),
        ('{"a"："x"}', {"a": "x"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": 1 // a remark\n, "b": 2}', {"a": "1 // a remark", "b": 2}),
        ('{// a remark\n"a": 1}', {"a": 1}),
        ('{"a": "\\u4f60\\ud83d\\ude00', {"a": "你😀"}),
        ('{"a": [1, 2, {"b": "x', {"a": [1, 2, {"b": "x"}]}),
        ('{"a":', {"a": ""}),
    ],
)
def test_what_models_do_wrong_is_put_right(text: str, value: Any) -> None:
    assert next(values_in(text)) == value


def test_several_values_come_in_their_order() -> None:
    assert [*values_in('First {name}, then {"a": 1} and ["b"].')] == [{}, {"a": 1}, ["b"]]


@pytest.mark.parametrize("piece", ["{", "[", '{"a":[', '"', "{'a': '", '["', "{a:", '\\"', "[[{", ' " ,'])
def test_nothing_takes_long(piece: str) -> None:
    began = time.process_time()
    for value in values_in(piece * 20_000):
        assert isinstance(value, dict | list)
    assert time.process_time() - began < 10


def test_what_nests_too_deep_is_left_out() -> None:
    assert str(next(values_in("[" * 2_000 + "]" * 2_000))).count("[") < 50
