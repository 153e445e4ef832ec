"""Answers in a prescribed form: valid every time, however small, hot or hurried the model."""

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import pytest
from helpers.hypotheses import examples
from helpers.tiny_gguf import make_tiny_gguf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.engine.constraint import Constraint, choice_grammar, schema_grammar
from rolellm_agents.models.llamacpp.structured import closed, grammar_of
from rolellm_agents.text import plain


class Mood(BaseModel):
    """How somebody feels."""

    feeling: Literal["glad", "sad", "angry"]
    strength: Annotated[int, Field(ge=0, le=10)]
    why: str | None = None


class Scene(BaseModel):
    """Several moods."""

    place: str
    moods: list[Mood]
    inner: "Scene | None" = None


class Verdict(TypedDict):
    """A judgement."""

    winner: Literal["A", "B"]
    reason: str


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ChatLlamaCpp:
    """Random weights: whatever it writes, it writes by the grammar alone."""
    path = make_tiny_gguf(tmp_path_factory.mktemp("tiny") / "tiny.gguf", seed=3)
    return ChatLlamaCpp(model_path=path, n_ctx=2048, sequences=2, n_threads=1, temperature=1, max_tokens=40)


SCHEMAS: dict[str, dict[str, Any]] = {
    "nested": Scene.model_json_schema(),
    "number": {"type": "number", "minimum": -3, "maximum": 7.5},
    "long-text": {"type": "string", "minLength": 5, "maxLength": 400},
    "date": {"type": "string", "format": "date"},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
    "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 50},
    "anything": {"type": "object"},
    "any-value": {},
    "choice": {"enum": ["yes", "no", 3, None]},
    "either": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"é": {"type": "null"}}}]},
    "booleans-behind-a-number": {
        "type": "object",
        "properties": {
            "a": {"type": "number"},
            "b": {"type": "array", "items": {"type": "boolean"}, "minItems": 1},
        },
        "required": ["a", "b"],
    },
    "tree": {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
                "required": ["name", "children"],
            }
        },
    },
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_answer_is_valid_at_any_heat_and_length(tiny: ChatLlamaCpp, name: str) -> None:
    schema = SCHEMAS[name]
    for seed in range(12):
        answer = tiny.invoke("Go.", json_schema=schema, seed=seed, max_tokens=(2, 9, 40)[seed % 3])
        assert Draft202012Validator(schema).is_valid(json.loads(answer.text)), answer.text


def _schemas() -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(["a", "b c", "ä", 'q"', "x\\y"])
    formats = ["date", "date-time", "time", "email", "uuid", "ipv4", "uri", "hostname", "of-my-own"]
    leaves: st.SearchStrategy[dict[str, Any]] = st.one_of(
        st.sampled_from(
            [{"type": "number"}, {"type": "integer"}, {"type": "number", "exclusiveMinimum": 0}]
        ),
        st.sampled_from(formats).map(lambda name: {"type": "string", "format": name}),
        st.sampled_from(["^[a-z]+$", "x", "^(ab)*c$", "[0-9]{3}"]).map(
            lambda pattern: {"type": "string", "pattern": pattern}
        ),
        st.just({"type": "boolean"}),
        st.just({"type": "null"}),
        st.integers(-50, 50).map(lambda low: {"type": "integer", "minimum": low, "maximum": low + 99}),
        st.integers(0, 9).map(lambda low: {"type": "string", "minLength": low}),
        st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True).map(
            lambda any_of: {"enum": any_of}
        ),
    )

    def grow(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        members = st.dictionaries(names, inner, min_size=1, max_size=4)
        return st.one_of(
            members.map(lambda held: {"type": "object", "properties": held, "required": [*held][:2]}),
            st.tuples(inner, st.integers(0, 3)).map(
                lambda given: {"type": "array", "items": given[0], "minItems": given[1]}
            ),
            st.lists(inner, min_size=1, max_size=3).map(lambda several: {"anyOf": several}),
        )

    return st.recursive(leaves, grow, max_leaves=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(schema=_schemas(), seed=st.integers(0, 99), max_tokens=st.integers(1, 60))
def test_any_schema_is_fulfilled(
    schema: dict[str, Any], seed: int, max_tokens: int, tiny: ChatLlamaCpp
) -> None:
    answer = tiny.invoke("Go.", json_schema=closed(schema), seed=seed, max_tokens=max_tokens)
    assert Draft202012Validator(schema).is_valid(json.loads(answer.text)), answer.text
    if answer.response_metadata["finish_reason"] == "stop":
        assert answer.usage_metadata is not None
        assert answer.usage_metadata["output_tokens"] <= max_tokens


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=9).map(plain).filter(bool)


@examples(0.2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choices=st.lists(WORDS, min_size=1, max_size=5))
def test_a_choice_is_one_of_the_words_and_nothing_else(choices: Sequence[str], tiny: ChatLlamaCpp) -> None:
    assert tiny.invoke("Go.", choices=list(choices), max_tokens=1).text in choices


@pytest.mark.core
def test_the_embedded_model_fills_a_form_in(small_model: ChatLlamaCpp) -> None:
    mood = small_model.with_structured_output(Mood).invoke(
        "How would you feel if your dog died? Answer as JSON.", temperature=1.0, seed=4
    )
    assert isinstance(mood, Mood)


def test_a_typed_dict_a_schema_and_json_mode_give_dicts(tiny: ChatLlamaCpp) -> None:
    verdict = tiny.with_structured_output(Verdict).invoke("Go.")
    assert set(verdict) == {"winner", "reason"}
    assert isinstance(tiny.with_structured_output(SCHEMAS["tree"] | {"title": "t"}).invoke("Go."), dict)
    assert isinstance(tiny.with_structured_output(method="json_mode").invoke("Go."), dict)


def test_the_raw_message_comes_too_when_asked_for(tiny: ChatLlamaCpp) -> None:
    given = tiny.with_structured_output(Mood, include_raw=True).invoke("Go.")
    assert given["parsed"] == Mood.model_validate_json(given["raw"].text)
    assert given["parsing_error"] is None


def test_what_works_against_a_form_is_left_out(tiny: ChatLlamaCpp) -> None:
    model = tiny.model_copy(update={"stop": ['"', "}"], "repeat_penalty": 9.0})
    validator = Draft202012Validator(SCHEMAS["nested"])
    for seed in range(5):
        answer = model.invoke("Go.", json_schema=SCHEMAS["nested"], seed=seed)
        assert validator.is_valid(json.loads(answer.text)), answer.text


def test_a_form_that_fails_on_the_way_fails_alone(
    tiny: ChatLlamaCpp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Constraint) -> NoReturn:
        raise ModelError("broken on purpose")

    with monkeypatch.context() as patched:
        patched.setattr(Constraint, "allowed", broken)
        with pytest.raises(ModelError, match="on purpose"):
            tiny.invoke("Go.", choices=["a"])
    assert tiny.invoke("Go.", choices=["a"]).text == "a"


async def test_a_form_is_compiled_beside_the_event_loop_and_a_hang_up_ends_its_answer(
    tiny: ChatLlamaCpp, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling, may_go_on, threads = threading.Event(), threading.Event(), list[int]()
    compile_ = Constraint.__init__

    def slowly(self: Constraint, *arguments: Any) -> None:
        threads.append(threading.get_ident())
        compiling.set()
        may_go_on.wait(60)
        compile_(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Constraint, "__init__", slowly)
        asking = asyncio.create_task(tiny.ainvoke("Go.", json_schema=SCHEMAS["anything"], max_tokens=400))
        assert await asyncio.to_thread(compiling.wait, 60)
        asking.cancel()
        await asyncio.sleep(0)
        may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert threading.get_ident() not in threads
    engine = tiny.load().engine
    async with asyncio.timeout(60):
        while engine._running or engine._waiting:  # noqa: ASYNC110 - the engine is another thread
            await asyncio.sleep(0.01)
    assert (await tiny.ainvoke("Go.", choices=["a"])).text == "a"


def test_openais_response_format_is_understood() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMAS["date"]}}
    assert grammar_of({"response_format": wanted}) == schema_grammar(SCHEMAS["date"])
    assert grammar_of({"response_format": {"type": "json_object"}}) == schema_grammar({"type": "object"})
    assert grammar_of({"response_format": {"type": "text"}}) == ""


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "banana"}, "banana"),
        ({"type": "string", "pattern": "(a"}, "regex"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "Unsatisfiable"),
        ({"not": {"type": "string"}}, "not"),
        ({"enum": [float("nan")]}, "is not JSON"),
        ({"description": "x" * 200_001}, "longer than 200,000"),
    ],
)
def test_what_cannot_be_prescribed_is_told(schema: dict[str, Any], told: str) -> None:
    with pytest.raises(ModelError, match=told):
        schema_grammar(schema)


@pytest.mark.parametrize("choices", [[], [""], ["a", ""], ["a\x7f"]])
def test_a_choice_of_nothing_is_told(choices: list[str]) -> None:
    with pytest.raises(ModelError, match="at least one word"):
        choice_grammar(choices)


def test_a_broken_grammar_is_told(tiny: ChatLlamaCpp) -> None:
    with pytest.raises(ModelError, match="format cannot be used"):
        tiny.invoke("Go.", grammar="start: ((")


def test_a_form_too_large_for_the_context_is_told(tmp_path: Path) -> None:
    model = ChatLlamaCpp(
        model_path=make_tiny_gguf(tmp_path / "tiny.gguf", seed=3), n_ctx=64, sequences=1, n_threads=1
    )
    with pytest.raises(ModelError, match="does not fit into the context"):
        model.invoke("Go.", json_schema={"type": "string", "minLength": 900})


def test_objects_are_closed_wherever_they_name_their_members() -> None:
    free = {
        "properties": {
            "properties": {"type": "object", "properties": {"x": {}}},
            "free": {"type": "object"},
        },
        "$defs": {"d": {"properties": {}, "additionalProperties": True}},
        "anyOf": [{"properties": {"y": {}}}],
    }
    assert closed(free) == {
        "properties": {
            "properties": {"type": "object", "properties": {"x": {}}, "additionalProperties": False},
            "free": {"type": "object"},
        },
        "$defs": {"d": {"properties": {}, "additionalProperties": True}},
        "anyOf": [{"properties": {"y": {}}, "additionalProperties": False}],
        "additionalProperties": False,
    }
