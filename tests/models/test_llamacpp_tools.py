"""Tool calls of models in this process: a call always parses, whatever the model and the schema."""

import json
from typing import Any, Literal

import pytest
from helpers.tiny_gguf import make_tiny_gguf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.template import CHATML, ChatTemplate, turns_of
from rolellm_agents.models.llamacpp.tools import ToolCallSplitter

# The form of Qwen's and Hermes' templates.
WITH_TOOLS = (
    "{% if tools %}{{ '<|im_start|>system\\nTools: ' + (tools | tojson) + '<|im_end|>\\n' }}{% endif %}"
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] }}"
    "{% for call in message['tool_calls'] %}{{ '<tool_call>' + (call['function'] | tojson) }}"
    "{{ '</tool_call>' }}"
    "{% endfor %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


@tool
def dice(sides: int, count: int = 1) -> int:
    """Throw dice."""
    return sides * count


class Mood(BaseModel):
    """Set one's own mood."""

    feeling: Literal["glad", "sad"]
    strength: int


@pytest.fixture(
    scope="module",
    params=[(CHATML, ()), (WITH_TOOLS, ()), (WITH_TOOLS, ("<tool_call>", "</tool_call>"))],
    ids=["described by us", "by the template", "marks as tokens"],
)
def random_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ChatLlamaCpp:
    template, marks = request.param
    file = make_tiny_gguf(tmp_path_factory.mktemp("t") / "t.gguf", seed=9, template=template, marks=marks)
    return ChatLlamaCpp(model_path=file, seed=1, temperature=1, max_tokens=40)


def test_a_required_call_is_made_whatever_the_model_wants(random_model: ChatLlamaCpp) -> None:
    for seed in range(5):
        answer = random_model.bind_tools([dice, Mood], tool_choice="any", seed=seed).invoke("Throw!")
        (call,) = answer.tool_calls
        assert call["name"] in {"dice", "Mood"}
        assert call["id"]
        assert answer.response_metadata["finish_reason"] == "tool_calls"
        if call["name"] == "Mood":
            Mood.model_validate(call["args"])


def test_a_named_tool_is_called_and_none_with_none(random_model: ChatLlamaCpp) -> None:
    chosen = random_model.bind_tools([dice, Mood], tool_choice="Mood").invoke("Throw!")
    assert [call["name"] for call in chosen.tool_calls] == ["Mood"]
    asked = {"type": "function", "function": {"name": "dice"}}
    assert (
        random_model.bind_tools([dice, Mood], tool_choice=asked).invoke("Hm?").tool_calls[0]["name"]
        == "dice"
    )
    assert not random_model.bind_tools([dice], tool_choice="none").invoke("Throw!").tool_calls
    with pytest.raises(ModelError, match=r"There is no tool 'dise'; did you mean 'dice'\?|dice"):
        random_model.bind_tools([dice], tool_choice="dise")


def test_by_itself_it_may_answer_in_words(random_model: ChatLlamaCpp) -> None:
    answer = random_model.bind_tools([dice]).invoke("Who are you?")
    assert answer.text or answer.tool_calls
    assert "<tool_call>" not in answer.text


async def test_calls_are_streamed_as_they_are_invoked(random_model: ChatLlamaCpp) -> None:
    bound = random_model.bind_tools([dice], tool_choice="any", parallel_tool_calls=True, seed=3)
    streamed: AIMessageChunk | None = None
    async for chunk in bound.astream("Throw!"):
        assert isinstance(chunk, AIMessageChunk)
        streamed = chunk if streamed is None else streamed + chunk
    whole = bound.invoke("Throw!")
    assert streamed is not None
    assert [call["args"] for call in streamed.tool_calls] == [call["args"] for call in whole.tool_calls]


NAMES = st.text(alphabet="abcdefgh_", min_size=1, max_size=8)
LEAVES = st.one_of(
    st.builds(dict, type=st.sampled_from(["string", "integer", "number", "boolean", "null"])),
    st.builds(lambda values: {"enum": values}, st.lists(NAMES, min_size=1, max_size=4, unique=True)),
    st.builds(lambda low: {"type": "integer", "minimum": low, "maximum": low + 50}, st.integers(-9, 9)),
)


def objects(parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(NAMES, parts, max_size=4).flatmap(
        lambda properties: st.lists(st.sampled_from(sorted(properties) or ["x"]), unique=True).map(
            lambda required: {
                "type": "object",
                "properties": properties,
                "required": [name for name in required if name in properties],
            }
        )
    )


SCHEMAS = objects(
    st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            objects(inner), st.builds(lambda items: {"type": "array", "items": items, "maxItems": 3}, inner)
        ),
        max_leaves=5,
    )
)


@pytest.mark.timeout(600)
@settings(max_examples=340, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=NAMES, schema=SCHEMAS, seed=st.integers(0, 2**31))
def test_a_call_is_valid_against_any_schema(
    random_model: ChatLlamaCpp, name: str, schema: dict[str, Any], seed: int
) -> None:
    """Three models with 340 random schemas each."""
    described = {"type": "function", "function": {"name": name, "description": "", "parameters": schema}}
    (call,) = random_model.bind_tools([described], tool_choice="any", seed=seed).invoke("Go.").tool_calls
    assert call["name"] == name
    Draft202012Validator(schema).validate(call["args"])


def test_results_go_back_into_the_prompt_in_the_templates_form() -> None:
    call = {"name": "dice", "args": {"sides": 6}, "id": "1"}
    talk = [
        HumanMessage("Throw!"),
        AIMessage("Well.", tool_calls=[call]),
        ToolMessage("4", tool_call_id="1", name="dice"),
    ]
    own = ChatTemplate(WITH_TOOLS, bos="", eos="")
    assert own.takes_tools
    described = [{"type": "function", "function": {"name": "dice"}}]
    text = own.render(turns_of(talk, takes_tools=True), tools=described)
    assert 'Tools: [{"type": "function", "function": {"name": "dice"}}]' in text
    assert 'Well.<tool_call>{"name": "dice", "arguments": {"sides": 6}}</tool_call>' in text
    assert "<|im_start|>tool\n4<|im_end|>" in text
    plain = ChatTemplate(CHATML, bos="", eos="")
    assert not plain.takes_tools
    text = plain.render(turns_of(talk))
    assert 'Well.\n<tool_call>\n{"name": "dice", "arguments": {"sides": 6}}\n</tool_call>' in text
    assert "<tool_response>\n4\n</tool_response>" in text


def test_an_agent_of_langchain_runs_on_it(random_model: ChatLlamaCpp) -> None:
    class Once(ChatLlamaCpp):
        """Calls the tool until it has a result, as a larger model would."""

        def _answer(self, messages: Any, stop: Any, options: dict[str, Any]) -> Any:
            done = isinstance(messages[-1], ToolMessage)
            return super()._answer(messages, stop, {**options, "tool_choice": "none" if done else "any"})

    model = Once(model_path=random_model.model_path, seed=2, max_tokens=30)
    told = create_agent(model, [dice]).invoke({"messages": [HumanMessage("Throw!")]})["messages"]
    assert [type(message).__name__ for message in told] == [
        "HumanMessage",
        "AIMessage",
        "ToolMessage",
        "AIMessage",
    ]


@given(st.lists(st.integers(0, 200), max_size=6))
def test_calls_are_found_however_the_stream_is_cut(places: list[int]) -> None:
    calls = [{"name": "dice", "arguments": {"sides": number}} for number in (6, 20)]
    text = "Well. " + "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)
    edges = sorted(place % len(text) for place in places)
    pieces = [text[start:end] for start, end in zip([0, *edges], [*edges, len(text)], strict=True)]
    splitter = ToolCallSplitter()
    whole = AIMessageChunk(content="")
    for chunk in [part for piece in pieces for part in splitter.push(piece)] + splitter.end():
        assert isinstance(chunk.message, AIMessageChunk)
        whole += chunk.message
    assert whole.text == "Well. "
    assert [call["args"] for call in whole.tool_calls] == [{"sides": 6}, {"sides": 20}]


def test_white_space_of_the_text_after_a_call_is_kept() -> None:
    text = (
        f"<tool_call>\n{json.dumps({'name': 'dice', 'arguments': {}})}\n</tool_call>\n\nIt is 4.\n\nGood."
    )
    splitter = ToolCallSplitter()
    chunks = [part for letter in text for part in splitter.push(letter)] + splitter.end()
    assert "".join(part.text for part in chunks) == "It is 4.\n\nGood."
