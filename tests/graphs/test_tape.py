"""The tape of a turn, and the model that says again what stands on it."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, messages_to_dict
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from langchain_tests.unit_tests import ChatModelUnitTests
from langgraph.graph import END, START, MessagesState, StateGraph

from rolellm_agents.errors import ModelError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.chat.answer import hash_prompt
from rolellm_graphs.scene.tape import Call, Tape, TapeChatModel

PROMPT: list[BaseMessage] = [SystemMessage("You are Ada."), HumanMessage("Tea?")]


class TestTapeStandard(ChatModelUnitTests):
    """LangChain's own tests of what every chat model must do."""

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return TapeChatModel

    @property
    def chat_model_params(self) -> dict[str, object]:
        return {"tape": {}}


def call(text: str, prompt: Iterable[BaseMessage] = PROMPT) -> Call:
    return Call(by="speak", prompt=hash_prompt(messages_to_dict([*prompt])), text=text)


async def each_way(model: BaseChatModel) -> list[str]:
    """What the four ways to ask give, one after another."""
    return [
        model.invoke(PROMPT).text,
        "".join(chunk.text for chunk in model.stream(PROMPT)),
        (await model.ainvoke(PROMPT)).text,
        "".join([chunk.text async for chunk in model.astream(PROMPT)]),
    ]


@given(st.lists(st.text(), min_size=4, max_size=4))
@examples(0.15)
def test_what_was_recorded_comes_word_for_word_and_in_its_order_whichever_way_it_is_asked(
    said: list[str],
) -> None:
    tape = Tape()
    recording = ScriptedChatModel(replies=[*said])
    for _ in said:
        recording.invoke(PROMPT, config={"callbacks": [tape]})

    assert [one["text"] for one in tape.calls] == said
    assert asyncio.run(each_way(TapeChatModel.of(tape.calls))) == said


async def test_each_way_of_asking_is_heard() -> None:
    tape = Tape()
    model = ScriptedChatModel(replies=["One.", "Two.", "Three.", "Four."])

    await each_way(model.with_config(callbacks=[tape]))  # type: ignore[arg-type]  # it is asked alike

    assert tape.calls == [{**call(text), "by": ""} for text in ("One.", "Two.", "Three.", "Four.")]


def test_prompts_have_their_own_answers() -> None:
    other = [HumanMessage("Cake?")]
    model = TapeChatModel.of([call("Yes."), call("No.", other), call("Please.")])

    assert [model.invoke(one).text for one in (other, PROMPT, PROMPT)] == ["No.", "Yes.", "Please."]


@pytest.mark.parametrize(
    "prompt",
    [
        [SystemMessage("You are Ada!"), HumanMessage("Tea?")],
        [SystemMessage("You are Ada."), AIMessage("Tea?")],
        [HumanMessage("Tea?")],
        [*PROMPT, HumanMessage("")],
    ],
    ids=["other words", "another speaker", "less", "more"],
)
async def test_a_prompt_that_is_not_on_the_tape_is_told_and_what_to_do(prompt: list[BaseMessage]) -> None:
    model = TapeChatModel.of([call("Yes.")])
    told = r"^The tape has no answer to this prompt: .* replay it with --live instead\.$"

    with pytest.raises(ModelError, match=told):
        model.invoke(prompt)
    with pytest.raises(ModelError, match=told):
        await model.ainvoke(prompt)
    assert model.invoke(PROMPT).text == "Yes."


def test_an_answer_is_given_as_often_as_it_was_and_no_more() -> None:
    model = TapeChatModel.of([call("Yes."), call("Yes.")])

    assert [model.invoke(PROMPT).text for _ in range(2)] == ["Yes.", "Yes."]
    with pytest.raises(ModelError):
        model.invoke(PROMPT)


def test_who_asked_is_told_by_the_graphs_node() -> None:
    model = ScriptedChatModel(replies=["Yes.", "No."])
    builder = StateGraph(MessagesState)
    for node in ("direct", "speak"):
        builder.add_node(node, lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "direct")
    builder.add_edge("direct", "speak")
    builder.add_edge("speak", END)
    tape = Tape()

    builder.compile().invoke(
        MessagesState(messages=[SystemMessage("You are Ada."), HumanMessage("Tea?")]), {"callbacks": [tape]}
    )

    assert [(one["by"], one["text"]) for one in tape.calls] == [("direct", "Yes."), ("speak", "No.")]
    assert tape.calls[0]["prompt"] == call("")["prompt"] != tape.calls[1]["prompt"]


def test_a_call_that_failed_is_not_on_the_tape() -> None:
    tape = Tape()
    model = ScriptedChatModel(replies=[ModelError("Broken."), "Yes."])

    with pytest.raises(ModelError):
        model.invoke(PROMPT, config={"callbacks": [tape]})
    model.invoke(PROMPT, config={"callbacks": [tape]})

    assert [one["text"] for one in tape.calls] == ["Yes."]


def ended(*generations: Any) -> str:
    """What a tape notes of such an answer."""
    tape = Tape()
    run = uuid4()
    tape.on_chat_model_start({}, [PROMPT], run_id=run)
    tape.on_llm_end(LLMResult(generations=[[*generations]]), run_id=run)
    return tape.calls[0]["text"]


def test_a_form_that_was_filled_as_a_tools_arguments_is_noted_as_its_json() -> None:
    filled = AIMessage("", tool_calls=[{"name": "Next", "args": {"next": "孙悟空"}, "id": "1"}])

    assert json.loads(ended(ChatGeneration(message=filled))) == {"next": "孙悟空"}
    assert ended(ChatGeneration(message=AIMessage("Yes."))) == "Yes."
    assert ended(Generation(text="Plain.")) == "Plain."
    assert ended() == ""
