import asyncio
from collections.abc import Sequence

import pytest
from helpers.hypotheses import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_tests.unit_tests import ChatModelUnitTests

from rolellm_agents.errors import ModelError
from rolellm_agents.models.reasoning import CONTROL_TEXTS
from rolellm_agents.models.scripted import ScriptedChatModel


class TestScriptedStandard(ChatModelUnitTests):
    """LangChain's own tests of what every chat model must do."""

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ScriptedChatModel

    @property
    def chat_model_params(self) -> dict[str, object]:
        return {"replies": ["Elementary."]}

    @property
    def has_tool_calling(self) -> bool:
        return False


def joined(chunks: Sequence[AIMessageChunk]) -> AIMessageChunk:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


async def each_way(model: ScriptedChatModel, question: str) -> list[AIMessage]:
    """The answers of the four ways to ask."""
    return [
        model.invoke(question),
        joined(list(model.stream(question))),
        await model.ainvoke(question),
        joined([chunk async for chunk in model.astream(question)]),
    ]


def test_replies_come_in_turn_and_begin_again() -> None:
    model = ScriptedChatModel(replies=["One.", "Two."])
    assert [model.invoke("?").text for _ in range(5)] == ["One.", "Two.", "One.", "Two.", "One."]


def test_once_refuses_the_question_after_the_last_reply() -> None:
    model = ScriptedChatModel(replies=["One.", "Two."], once=True)
    assert [model.invoke("?").text for _ in range(2)] == ["One.", "Two."]
    for _ in range(2):
        with pytest.raises(ModelError, match=r"^The scripted model has no reply left after 2\.$"):
            model.invoke("?")


def test_an_exception_among_the_replies_is_raised_in_its_turn() -> None:
    failure = ConnectionError("the line is dead")
    model = ScriptedChatModel(replies=["One.", failure, "Three."])
    assert model.invoke("?").text == "One."
    with pytest.raises(ConnectionError) as raised:
        model.invoke("?")
    assert raised.value is failure
    assert model.invoke("?").text == "Three."


async def test_an_exception_is_raised_to_async_callers_too() -> None:
    model = ScriptedChatModel(replies=[ConnectionError("the line is dead"), "Two."])
    with pytest.raises(ConnectionError, match=r"^the line is dead$"):
        [chunk async for chunk in model.astream("?")]
    assert (await model.ainvoke("?")).text == "Two."


def test_without_replies_it_repeats_the_last_message() -> None:
    model = ScriptedChatModel()
    assert model.invoke([HumanMessage("First."), AIMessage("Yes?"), HumanMessage("Last  words.")]).text == (
        "Last  words."
    )
    assert model.invoke("Others.").text == "Others."


def test_every_prompt_is_recorded_even_of_a_call_that_failed() -> None:
    model = ScriptedChatModel(replies=["One.", LookupError("no")])
    prompt: list[BaseMessage] = [SystemMessage("You are Holmes."), HumanMessage("Who are you?")]
    model.invoke(prompt)
    with pytest.raises(LookupError):
        model.invoke("And now?")
    assert model.calls == [prompt, [HumanMessage("And now?")]]


def test_a_recorded_prompt_does_not_change_with_the_list_it_was_given_as() -> None:
    model = ScriptedChatModel(replies=["One."])
    prompt: list[BaseMessage] = [HumanMessage("Who are you?")]
    model._generate(prompt)
    prompt.append(AIMessage("One."))
    assert model.calls == [[HumanMessage("Who are you?")]]


@pytest.mark.parametrize(
    ("stop", "left"),
    [
        ([], "The game is afoot, Watson."),
        (["nowhere"], "The game is afoot, Watson."),
        (["game"], "The "),
        (["Watson", "is"], "The game "),
        (["The"], ""),
    ],
)
async def test_a_reply_ends_before_the_first_stop_string(stop: list[str], left: str) -> None:
    model = ScriptedChatModel(replies=["The game is afoot, Watson."])
    assert model.invoke("?", stop=stop).text == left
    assert "".join([chunk.text async for chunk in model.astream("?", stop=stop)]) == left


def test_a_reply_is_streamed_by_words() -> None:
    model = ScriptedChatModel(replies=["The game\nis afoot. "])
    assert [chunk.text for chunk in model.stream("?")] == ["The", " game", "\nis", " afoot.", " ", ""]


def test_usage_counts_the_words_read_and_said() -> None:
    model = ScriptedChatModel(replies=["The game is afoot."])
    answer = model.invoke([SystemMessage("You are Holmes."), HumanMessage("What now?")])
    assert answer.usage_metadata == {"input_tokens": 5, "output_tokens": 4, "total_tokens": 9}
    assert answer.response_metadata == {"model_name": "scripted", "finish_reason": "stop"}


@examples(0.25)
@given(reply=st.text())
def test_whatever_the_reply_all_four_ways_give_it_word_for_word(reply: str) -> None:
    assume(not any(mark in reply for mark in CONTROL_TEXTS))  # which are no part of an answer
    answers = asyncio.run(each_way(ScriptedChatModel(replies=[reply]), "Well?"))
    assert [answer.text for answer in answers] == [reply] * 4
    assert all(answer.usage_metadata == answers[0].usage_metadata for answer in answers)


async def test_leaving_a_stream_early_leaves_the_next_reply_in_its_turn() -> None:
    model = ScriptedChatModel(replies=["One " * 50, "Two."], seconds_per_word=0.001)
    stream = model._astream([HumanMessage("?")])
    assert (await anext(stream)).text == "One"
    await stream.aclose()  # type: ignore[attr-defined]  # an async generator, though typed as an iterator
    assert (await model.ainvoke("?")).text == "Two."


def test_only_so_many_prompts_are_kept_as_were_asked_for() -> None:
    model = ScriptedChatModel(replies=["Aye."], kept=2)
    for line in ("one", "two", "three"):
        model.invoke(line)
    assert [call[0].text for call in model.calls] == ["two", "three"]
