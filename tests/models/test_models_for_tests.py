"""`TestModel` and `FunctionModel`, which programs over this library are tested with."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
)
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests
from pydantic import BaseModel, Field

from rolellm_agents import FunctionModel, TestModel
from rolellm_agents.errors import ModelError
from rolellm_agents.models.testing import _example, _Made


class OfTestModel:
    """What LangChain's suites need to know."""

    @property
    def chat_model_class(self) -> type[TestModel]:
        return TestModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {}


class TestUnitsOfTestModel(OfTestModel, ChatModelUnitTests):
    """LangChain's own unit tests."""


class TestIntegrationOfTestModel(OfTestModel, ChatModelIntegrationTests):
    """LangChain's own tests of what models answer."""


class OfFunctionModel:
    """What LangChain's suites need to know."""

    @property
    def chat_model_class(self) -> type[FunctionModel]:
        return FunctionModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"function": lambda messages: f"You said: {messages[-1].text}"}

    @property
    def has_tool_calling(self) -> bool:
        return False

    @property
    def has_structured_output(self) -> bool:
        return False


class TestUnitsOfFunctionModel(OfFunctionModel, ChatModelUnitTests):
    """LangChain's own unit tests."""


class TestIntegrationOfFunctionModel(OfFunctionModel, ChatModelIntegrationTests):
    """LangChain's own tests of what models answer."""


class Grade(BaseModel):
    """How good a reply is."""

    value: Annotated[int, Field(ge=1, le=5)]
    reason: Annotated[str, Field(min_length=3)]
    mood: Literal["calm", "angry"]
    faults: list[str]
    note: str | None = None


def weather(city: str, day: int) -> str:
    """Tell the weather of a city."""
    return f"Rain in {city} on day {day}."


# TestModel


def test_the_same_prompt_gives_the_same_answer_and_another_prompt_another() -> None:
    first, again, other = (TestModel().invoke(line).text for line in ("Hello.", "Hello.", "Good day."))
    assert first == again != other
    assert "Hello." in first


def test_a_seed_gives_another_answer() -> None:
    model = TestModel()
    assert model.invoke("Hello.", seed=1).text == model.invoke("Hello.", seed=1).text
    assert model.invoke("Hello.", seed=1).text != model.invoke("Hello.", seed=2).text


def test_the_answer_can_be_given() -> None:
    assert TestModel(text="Aye.").invoke("Hello.").text == "Aye."


def test_a_form_is_filled_so_that_it_is_valid_with_a_number_of_the_prompt() -> None:
    grader = TestModel().with_structured_output(Grade)
    assert grader.invoke("Of 12 replies grade number 4.") == Grade(
        value=4, reason="aaa", mood="calm", faults=["a"]
    )
    calm = Grade(value=1, reason="so calm", mood="calm", faults=["so calm"])
    assert grader.invoke("Why 'so calm'?") == calm
    assert grader.invoke("Grade this.") == Grade(value=1, reason="aaa", mood="calm", faults=["a"])


async def test_an_agent_with_it_calls_each_tool_once_and_ends() -> None:
    def time() -> str:
        """Tell the time."""
        return "Noon."

    model = TestModel()
    state = await create_agent(model, [weather, time]).ainvoke({"messages": [HumanMessage("Day 3?")]})
    asked, *results, answer = state["messages"][1:]
    assert [(call["name"], call["args"]) for call in asked.tool_calls] == [
        ("weather", {"city": "a", "day": 3}),
        ("time", {}),
    ]
    assert [result.text for result in results] == ["Rain in a on day 3.", "Noon."]
    assert "Noon." in answer.text
    assert len(model.calls) == 2


def test_a_chosen_tool_is_called_alone_even_after_results() -> None:
    chosen = TestModel().bind_tools([weather, Grade], tool_choice="weather")
    call = ToolCall(name="weather", args={}, id="1", type="tool_call")
    again = chosen.invoke(
        [HumanMessage("?"), AIMessage("", tool_calls=[call]), ToolMessage("Rain.", tool_call_id="1")]
    )
    for answer in (chosen.invoke("?"), again):
        assert [call["name"] for call in answer.tool_calls] == ["weather"]
    assert not TestModel().bind_tools([weather], tool_choice="none").invoke("?").tool_calls


NUMBERS = st.integers(-20, 20)
LEAVES = st.one_of(
    st.builds(
        lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
        NUMBERS,
        st.integers(0, 5),
    ),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, NUMBERS),
    st.builds(lambda high: {"type": "integer", "maximum": high}, NUMBERS),
    st.builds(lambda n: {"type": "string", "minLength": n, "maxLength": n + 3}, st.integers(0, 4)),
    st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "null"},
            {"enum": ["x", 1]},
            {"const": 3},
            {"type": ["null", "string"]},
        ]
    ),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda item, n: {"type": "array", "items": item, "minItems": n}, inner, st.integers(0, 2)
        ),
        st.builds(lambda either: {"anyOf": either}, st.lists(inner, min_size=1, max_size=2)),
        st.dictionaries(st.sampled_from("abc"), inner).map(
            lambda inside: {"type": "object", "properties": inside, "required": sorted(inside)}
        ),
    ),
    max_leaves=6,
)


@examples(1)
@given(
    schema=SCHEMAS, numbers=st.lists(NUMBERS, max_size=2), quoted=st.lists(st.text(max_size=9), max_size=2)
)
def test_what_is_made_up_satisfies_its_schema(
    schema: dict[str, Any], numbers: list[int], quoted: list[str]
) -> None:
    jsonschema.validate(_example(schema, _Made({}, numbers, quoted)), schema)


# FunctionModel


def test_a_function_says_what_is_answered() -> None:
    model = FunctionModel(function=lambda messages: f"You said: {messages[-1].text}")
    assert model.invoke("Good day.", seed=3).text == "You said: Good day."
    assert [chunk.text for chunk in model.stream("Hm.")] == ["You", " said:", " Hm.", ""]
    assert [call[0].text for call in model.calls] == ["Good day.", "Hm."]
    assert model.options == [{"seed": 3}, {}]


async def test_a_generator_says_the_chunks_and_may_fail_between_them() -> None:
    def breaks_off(_: list[BaseMessage]) -> Iterator[str]:
        yield "I was"
        yield " about to"
        raise ModelError("The model broke.")

    model = FunctionModel(function=breaks_off)
    stream = model.astream("?")
    assert [(await anext(stream)).text for _ in range(2)] == ["I was", " about to"]
    with pytest.raises(ModelError, match="broke"):
        await anext(stream)


def test_a_message_with_tool_calls_is_given_as_it_is() -> None:
    call = ToolCall(name="weather", args={"city": "York"}, id="1", type="tool_call")
    model = FunctionModel(function=lambda _: AIMessage("Wait.", tool_calls=[call]), takes_tools=True)
    bound = model.bind_tools([weather])
    for answer in (bound.invoke("?"), next(bound.stream("?"))):
        assert (answer.text, answer.tool_calls) == ("Wait.", [call])
    assert model.options[0]["tools"][0]["function"]["name"] == "weather"


def test_without_tools_it_counts_as_a_model_that_knows_none() -> None:
    model = FunctionModel(function=lambda _: "Aye.")
    with pytest.raises(NotImplementedError):
        model.bind_tools([weather])
    with pytest.raises(NotImplementedError):
        model.with_structured_output(Grade)
