"""A persona as a chat model: the prompt is the role graph's, the answer is the model's inside."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal

import pytest
from helpers.cards import book, entry, v2
from helpers.hypotheses import examples
from helpers.tool_calling_model import calling, tool_calling_model
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.language_models import BaseChatModel, FakeMessagesListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, Field, ValidationError

from rolellm_agents.cards import Card
from rolellm_agents.errors import MessageError, ModelError, PersonaError, SettingsError
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.persona.from_card.conversion import persona_of
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.recall import RecallOptions
from rolellm_graphs import PersonaRetriever, RoleContext, role_graph
from rolellm_graphs.role.chat_model import RoleChatModel

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada counts everything for {{user}}.",
    demonstrations=(
        Demonstration(user="How many stairs?", reply="Seventeen."),
        Demonstration(user="How many bees?", reply="Three hives of them."),
    ),
    knowledge=(Knowledge(title="The hives", text="I counted the bees in May."),),
)
ANSWER = "One, two, three; and four."
LINE = "How many bees are there?"
STICKY = entry(comment="Lamp", extensions={"sticky": 5})


def chat(*replies: str | Exception, persona: Persona = ADA, **options: Any) -> RoleChatModel:
    return RoleChatModel(persona, model=ScriptedChatModel(replies=list(replies)), **options)


def inside(model: RoleChatModel) -> ScriptedChatModel:
    assert isinstance(model.model, ScriptedChatModel)
    return model.model


def told(messages: Sequence[BaseMessage]) -> list[Any]:
    """All that a model can see of messages."""
    return [
        (one.type, one.content, one.name, one.additional_kwargs, getattr(one, "tool_calls", []))
        for one in messages
    ]


async def each_way(model: RoleChatModel, asked: Any, **options: Any) -> list[AIMessage]:
    """The answers of the four ways to ask."""
    return [
        model.invoke(asked, **options),
        joined(list(model.stream(asked, **options))),
        await model.ainvoke(asked, **options),
        joined([chunk async for chunk in model.astream(asked, **options)]),
    ]


def joined(chunks: Sequence[AIMessageChunk]) -> AIMessageChunk:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


# The answer


async def test_every_way_of_asking_gives_the_models_answer_in_the_personas_name() -> None:
    model = chat(ANSWER, strategy="system")
    bare = await inside(model).ainvoke(model.prompt(LINE))
    for answer in await each_way(model, LINE):
        assert answer.text == ANSWER
        assert answer.usage_metadata == bare.usage_metadata
        assert answer.response_metadata == {
            "model_name": "scripted",
            "finish_reason": "stop",
            "persona": "ada",
            "persona_name": "Ada",
            "strategy": "system",
        }
    assert model.invoke(LINE).name == (await model.ainvoke(LINE)).name == "ada"
    assert {chunk.name for chunk in model.stream(LINE)} == {"ada"}


async def test_an_answer_tells_what_came_to_mind() -> None:
    for answer in await each_way(chat(ANSWER, recall=RecallOptions(k=1)), LINE):
        (item,) = answer.response_metadata["recalled"]
        (document, *_) = PersonaRetriever(ADA).invoke(LINE)
        assert document.page_content == "How many bees?\nThree hives of them."
        why = "shares “bees”, “many”"
        assert item == {"id": document.id, "kind": "demonstration", "source": "How many bees?", "why": why}


async def test_keywords_of_a_call_reach_the_model_inside() -> None:
    model = chat(ANSWER)
    options = {"seed": 3, "temperature": 0.1, "response_format": {"type": "json_object"}}
    answers = await each_way(model, LINE, stop=[";"], **options)
    assert inside(model).options == [options] * 4
    assert [answer.text for answer in answers] == ["One, two, three"] * 4


async def test_what_is_said_once_holds_for_every_call_that_does_not_say_otherwise() -> None:
    model = chat(ANSWER, temperature=0.1, max_tokens=9, stop=[";"])
    answers = await each_way(model, LINE)
    assert inside(model).options == [{"temperature": 0.1, "max_tokens": 9}] * 4
    assert [answer.text for answer in answers] == ["One, two, three"] * 4
    assert model.invoke(LINE, max_tokens=5, stop=[","]).text == "One"
    assert inside(model).options[-1] == {"temperature": 0.1, "max_tokens": 5}


def waiting(may_go_on: threading.Event) -> RoleChatModel:
    """A persona whose model says its second word when it is let."""

    def answer(_: list[BaseMessage]) -> Iterator[str]:
        first, *others = re.findall(r"\s*\S+", ANSWER)
        yield first
        assert may_go_on.wait(10), "the first word was held back"
        yield from others

    return RoleChatModel(ADA, model=FunctionModel(function=answer))


def test_words_come_as_the_model_inside_says_them() -> None:
    may_go_on = threading.Event()
    words = waiting(may_go_on).stream(LINE)
    assert next(words).text == "One,"
    may_go_on.set()
    assert "".join(chunk.text for chunk in words) == ANSWER.removeprefix("One,")


async def test_async_callers_are_not_held_up() -> None:
    may_go_on = threading.Event()
    words = waiting(may_go_on).astream(LINE)
    assert (await anext(words)).text == "One,"
    may_go_on.set()
    assert "".join([chunk.text async for chunk in words]) == ANSWER.removeprefix("One,")


class TwoSidedModel(ScriptedChatModel):
    """Notes from which side it was called."""

    sides: list[str] = Field(default_factory=list)

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.sides.append("sync")
        return super()._stream(*args, **kwargs)

    def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.sides.append("async")
        return super()._astream(*args, **kwargs)


async def test_sync_calls_stay_sync_and_async_ones_async() -> None:
    model = TwoSidedModel(replies=[ANSWER])
    await each_way(RoleChatModel(ADA, model=model), LINE)
    assert model.sides == ["sync", "sync", "async", "async"]


async def test_leaving_a_stream_ends_the_answer_inside() -> None:
    ended: list[bool] = []

    class Endless(ScriptedChatModel):
        async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
            try:
                while True:
                    yield ChatGenerationChunk(message=AIMessageChunk(content="and "))
                    await asyncio.sleep(0)
            finally:
                ended.append(True)

    words = RoleChatModel(ADA, model=Endless())._astream([HumanMessage(LINE)])
    await anext(words)
    await words.aclose()  # type: ignore[attr-defined]
    assert ended == [True]


async def test_what_the_model_inside_raises_is_raised() -> None:
    model = chat(ModelError("The model is asleep; wake it."))
    with pytest.raises(ModelError, match="asleep"):
        model.invoke(LINE)
    with pytest.raises(ModelError, match="asleep"):
        [chunk async for chunk in model.astream(LINE)]


# The prompt

WORDS = st.text("ab ,.?蜂", min_size=1, max_size=12).filter(str.strip)
CALL: Any = {"name": "count", "args": {"what": "bees"}, "id": "1", "type": "tool_call"}
TURN = st.one_of(
    WORDS.map(HumanMessage),
    WORDS.map(AIMessage),
    WORDS.map(lambda words: HumanMessage(words, name="watson")),
    WORDS.map(lambda words: AIMessage(words, name="ada")),
    WORDS.map(lambda words: AIMessage(words, name="jack")),
    st.builds(lambda: AIMessage("", tool_calls=[CALL])),
    st.builds(lambda: AIMessage("", tool_calls=[CALL], name="jack")),
    WORDS.map(lambda words: ToolMessage(words, tool_call_id="1")),
    WORDS.map(SystemMessage),
)
LORE = {"name": "Ada", "entries": [entry(keys=["a"]), entry(keys=["b"], extensions={"position": 4})]}


@pytest.mark.parametrize("strategy", list(STRATEGIES))
@given(history=st.lists(TURN, max_size=6), line=WORDS, lore=st.booleans(), seed=st.integers(0, 3))
@examples(0.1)
def test_the_prompt_is_the_role_graphs(
    strategy: str, history: list[AnyMessage], line: str, lore: bool, seed: int
) -> None:
    persona = ADA.model_copy(update={"lorebook": LORE}) if lore else ADA
    options: Any = {"strategy": strategy, "user": "Tom", "recall": RecallOptions(method="bm25")}
    model = chat(ANSWER, persona=persona, **options)
    model.invoke([*history, HumanMessage(line)], seed=seed)

    scene = "\n\n".join(one.text for one in history if isinstance(one, SystemMessage))
    said = [one for one in history if not isinstance(one, SystemMessage)]
    other = ScriptedChatModel(replies=[ANSWER])
    role_graph(persona, model=other, **options).invoke(
        {"messages": [*said, HumanMessage(line)]}, context=RoleContext(scene=scene, seed=seed)
    )
    assert told(inside(model).calls[0]) == told(other.calls[0])


@pytest.mark.parametrize("strategy", list(STRATEGIES))
async def test_prompt_shows_what_the_model_inside_is_sent(strategy: str) -> None:
    model = chat(ANSWER, strategy=strategy)
    asked = [SystemMessage("It rains."), AIMessage("Good day!"), HumanMessage(LINE)]
    shown = told(model.prompt(asked))
    await each_way(model, asked)
    assert [told(call) for call in inside(model).calls] == [shown] * 4


def test_system_messages_are_told_as_the_scene() -> None:
    model = chat(ANSWER, strategy="system", user="Tom")
    asked = [
        SystemMessage("It rains."),
        HumanMessage("Hello."),
        SystemMessage("  "),
        SystemMessage([{"type": "text", "text": "The bees sleep."}]),
        HumanMessage(LINE),
    ]
    instruction, *rest = model.prompt(asked)
    assert "Ada counts everything for Tom." in instruction.text
    assert instruction.text.endswith("It rains.\n\nThe bees sleep.")
    assert told(rest) == told([HumanMessage("Hello."), HumanMessage(LINE)])


def test_a_greeting_is_history() -> None:
    prompt = chat(strategy="system").prompt([AIMessage("Good day!"), HumanMessage(LINE)])
    assert [one.type for one in prompt] == ["system", "ai", "human"]


def test_what_follows_the_line_stands_after_the_prompt_as_it_is() -> None:
    since = [AIMessage("", tool_calls=[CALL]), ToolMessage("60,000", tool_call_id="1"), SystemMessage("!")]
    model = chat(strategy="retrieval")
    prompt = model.prompt([HumanMessage(LINE), *since])
    assert prompt[-3:] == since
    assert told(prompt[:-3]) == told(model.prompt([HumanMessage(LINE)]))


@pytest.mark.parametrize("messages", [[], [SystemMessage("It rains."), AIMessage("Good day!")]])
def test_without_a_word_of_the_users_nothing_is_answered(messages: list[AnyMessage]) -> None:
    model = chat(ANSWER)
    with pytest.raises(MessageError, match=r"^There is no user message.*add a HumanMessage.*\.$"):
        model.invoke(messages)
    assert inside(model).calls == []


def test_blocks_of_text_are_words() -> None:
    line = HumanMessage([{"type": "text", "text": "How many "}, "bees?"])
    assert chat(strategy="system").prompt([line])[-1].text == "How many bees?"


@pytest.mark.parametrize("later", [[], [AIMessage("A bee."), HumanMessage(LINE)]])
def test_pictures_are_refused_wherever_the_user_shows_them(later: list[AnyMessage]) -> None:
    shown = HumanMessage(
        [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "https://bees.test/1.png"}},
        ]
    )
    with pytest.raises(MessageError, match=r"^A user message contains a part of the type 'image(_url)?'"):
        chat(ANSWER).invoke([shown, *later])


def test_blocks_that_are_not_the_users_are_the_models_business() -> None:
    thought = AIMessage([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Three."}])
    prompt = chat(strategy="system").prompt([HumanMessage("Hello."), thought, HumanMessage(LINE)])
    assert prompt[2].content == thought.content


def test_timed_lore_begins_anew_with_each_call() -> None:
    keeper = persona_of(Card(v2(character_book=book(STICKY))), "ada")
    model = RoleChatModel(keeper, model=ScriptedChatModel(replies=["Hm."]), strategy="system")
    lamp = [HumanMessage("The lamp!"), AIMessage("Hm.")]
    later = [HumanMessage("Good."), AIMessage("Hm.")] * 4
    lore = "The lamp burns herring oil."
    assert lore in model.prompt(lamp[:1])[0].text
    assert lore not in model.prompt([*lamp, *later, HumanMessage("Good.")])[0].text


# Inside other programs


def test_in_a_graph_its_words_are_streamed_once_and_its_answer_is_signed() -> None:
    model = chat(ANSWER)
    builder = StateGraph(MessagesState)
    builder.add_node("ada", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "ada")
    asked = MessagesState(messages=[HumanMessage(LINE)])
    parts: list[Any] = list(builder.compile().stream(asked, stream_mode=["messages", "values"]))
    words = [message.text for mode, (message, *_) in parts if mode == "messages"]
    assert "".join(words) == ANSWER
    (last,) = [part for mode, part in parts if mode == "values"][-1:]
    assert (last["messages"][-1].text, last["messages"][-1].name) == (ANSWER, "ada")


async def test_its_tokens_are_counted_once() -> None:
    model = chat(ANSWER)
    with get_usage_metadata_callback() as counted:
        answers = await each_way(model, LINE)
    usage = answers[0].usage_metadata
    assert usage is not None
    assert counted.usage_metadata["scripted"]["total_tokens"] == 4 * usage["total_tokens"]


class StreamItem(BaseCallbackHandler):
    """Notes what is told of runs."""

    def __init__(self) -> None:
        self.asked: list[list[BaseMessage]] = []
        self.parents: list[Any] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        self.asked += messages
        self.parents.append(kwargs["parent_run_id"])


async def test_callbacks_hear_one_run_of_each_call_with_what_the_caller_said() -> None:
    heard, inner = StreamItem(), StreamItem()
    model = RoleChatModel(ADA, model=ScriptedChatModel(replies=[ANSWER], callbacks=[inner]))
    config = RunnableConfig(callbacks=[heard])
    model.invoke(LINE, config)
    [chunk async for chunk in model.astream(LINE, config)]
    assert told(heard.asked[0]) == told(heard.asked[1]) == told([HumanMessage(LINE)])
    assert len(heard.asked) == len(inner.asked) == 2
    assert heard.parents == [None, None]


@pytest.mark.parametrize(
    "inner",
    [
        FakeMessagesListChatModel(responses=[AIMessage(ANSWER)]),
        ScriptedChatModel(replies=[ANSWER], disable_streaming=True),
    ],
)
async def test_models_that_do_not_stream_answer_in_one_piece(inner: BaseChatModel) -> None:
    answers = await each_way(RoleChatModel(ADA, model=inner), LINE)
    assert [(answer.text, answer.name) for answer in answers] == [(ANSWER, "ada")] * 4


async def test_answers_can_be_cached_and_personas_are_not_mixed_up() -> None:
    cache = InMemoryCache()
    inner = ScriptedChatModel(replies=["One.", "Two.", "Three."], cache=cache)
    model = RoleChatModel(ADA, model=inner)
    assert [model.invoke(LINE).text, (await model.ainvoke(LINE)).text] == ["One.", "One."]
    other = ADA.model_copy(update={"description": "Ada counts nothing."})
    assert RoleChatModel(other, model=inner).invoke(LINE).text == "Two."
    assert RoleChatModel(ADA, model=inner, strategy="system").invoke(LINE).text == "Three."
    assert model.invoke(LINE).name == "ada"


def test_the_limits_of_the_model_inside_are_kept() -> None:
    limiter = InMemoryRateLimiter(requests_per_second=1000)
    model = RoleChatModel(ADA, model=ScriptedChatModel(replies=[ANSWER], rate_limiter=limiter))
    assert model.rate_limiter is limiter


def test_several_conversations_are_answered_in_their_order() -> None:
    answers = chat().batch(["One?", "Two?"])
    assert [answer.text for answer in answers] == ["One?", "Two?"]


# Tools and structured output


def count(what: str) -> str:
    """Count something.

    Args:
        what: to be counted.
    """
    return f"60,000 {what}"


def test_a_persona_with_tools_calls_them_and_goes_on() -> None:
    inner = tool_calling_model(calling("count", what="bees"), AIMessage("Sixty thousand."))
    agent = create_agent(RoleChatModel(ADA, model=inner, strategy="system"), [count])
    answer = agent.invoke({"messages": [HumanMessage(LINE)]})["messages"]
    assert [one.type for one in answer] == ["human", "ai", "tool", "ai"]
    assert (answer[-1].text, answer[-1].name) == ("Sixty thousand.", "ada")
    first, second = inner.calls
    assert first[0].text.startswith("You are Ada.")
    assert [one.type for one in second] == ["system", "human", "ai", "tool"]
    assert told(second[:2]) == told(first)
    assert second[-1].text == "60,000 bees"
    assert [options["tools"][0]["function"]["name"] for options in inner.options] == ["count", "count"]


def test_a_choice_of_tools_reaches_the_model_inside() -> None:
    inner = tool_calling_model(calling("count", what="bees"))
    answer = RoleChatModel(ADA, model=inner).bind_tools([count], tool_choice="count").invoke(LINE)
    assert answer.tool_calls[0]["args"] == {"what": "bees"}
    assert inner.options[0]["tool_choice"] == "count"


class Number(BaseModel):
    """A number from 1 to 3."""

    number: Literal[1, 2, 3]


class Tally(BaseModel):
    """A number of things."""

    what: str
    number: int


async def test_structured_output_is_asked_with_the_personas_prompt() -> None:
    inner = tool_calling_model(*[calling("Tally", what="bees", number=3)] * 3)
    model = RoleChatModel(ADA, model=inner)
    bees = Tally(what="bees", number=3)
    assert model.with_structured_output(Tally).invoke(LINE) == bees
    assert await model.with_structured_output(Tally).ainvoke([HumanMessage(LINE)]) == bees
    raw = model.with_structured_output(Tally, include_raw=True).invoke(LINE)
    assert (raw["parsed"], raw["raw"].tool_calls[0]["name"]) == (bees, "Tally")
    assert [told(call) for call in inner.calls] == [told(model.prompt(LINE))] * 3


def test_structured_output_is_the_personas_own_call() -> None:
    inner = tool_calling_model(calling("Tally", what="bees", number=3))
    heard = StreamItem()
    model = RoleChatModel(ADA, model=inner, temperature=0.1, callbacks=[heard])
    raw = model.with_structured_output(Tally, include_raw=True).invoke(LINE)["raw"]
    assert (raw.name, raw.response_metadata["persona"]) == ("ada", "ada")
    assert inner.options[0]["temperature"] == 0.1
    assert told(heard.asked[0]) == told([HumanMessage(LINE)])


def test_an_agent_gets_structured_output() -> None:
    inner = tool_calling_model(calling("Tally", what="bees", number=3))
    agent = create_agent(RoleChatModel(ADA, model=inner), [], response_format=Tally)
    output = agent.invoke({"messages": [HumanMessage(LINE)]})
    assert output["structured_response"] == Tally(what="bees", number=3)


@pytest.mark.model
def test_an_agent_gets_structured_output_of_the_embedded_model(small_model: ChatLlamaCpp) -> None:
    inner = small_model.model_copy(update={"max_tokens": 60})
    agent = create_agent(RoleChatModel(ADA, model=inner, strategy="system"), [], response_format=Number)
    output = agent.invoke({"messages": [HumanMessage(LINE)]})
    assert isinstance(output["structured_response"], Number)


class Stubborn(ScriptedChatModel):
    """Makes of tools what no persona can be put into."""

    def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
        return RunnableLambda(lambda _: AIMessage("I do it my way."))


def test_tools_that_would_pass_the_persona_by_are_refused() -> None:
    model = RoleChatModel(ADA, model=Stubborn(replies=[]))
    with pytest.raises(NotImplementedError, match="in a way that does not work for a persona"):
        model.bind_tools([count])


def test_what_the_model_inside_cannot_do_the_persona_cannot() -> None:
    with pytest.raises(NotImplementedError):
        chat().bind_tools([count])
    with pytest.raises(NotImplementedError):
        chat().with_structured_output(Tally)


# Making one


def test_what_does_not_exist_is_told_before_anything_is_said() -> None:
    with pytest.raises(PersonaError, match="There is no persona 'nobody'"):
        RoleChatModel("nobody", model="scripted:")
    with pytest.raises(ModelError, match="There is no model"):
        RoleChatModel(ADA, model="nothing")
    with pytest.raises(SettingsError):
        RoleChatModel(ADA, model="scripted:", strategy="telepathy")
    with pytest.raises(ValidationError, match="temprature"):
        RoleChatModel(ADA, model="scripted:", temprature=0.1)


def test_a_persona_and_a_model_can_be_named() -> None:
    model = RoleChatModel("shrek", model="scripted:Get out.")
    assert (model.persona.name, model.invoke("Hello?").text) == ("Shrek", "Get out.")


def test_it_stays_the_persona_it_was_made_as() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        chat().strategy = "system"  # type: ignore[misc]


def test_it_is_shown_by_names_and_not_by_all_it_holds() -> None:
    shown = repr(RoleChatModel(ADA, model="scripted:", strategy="system"))
    assert shown == "RoleChatModel(persona='ada', model='scripted:scripted', strategy='system')"
