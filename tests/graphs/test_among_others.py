"""Personas among others: each hears the other speakers of a conversation as others."""

from collections.abc import Sequence
from typing import Any

import pytest
from helpers.tool_calling_model import calling, tool_calling_model
from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from rolellm_agents.errors import MessageError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_graphs import RoleChatModel, role_graph

ADA = Persona(id="ada", name="Ada Lovell", description="Ada counts everything.")
BEN = Persona(id="ben", name="Ben", description="Ben catches herring.")
EVE = Persona(id="eve", name="Eve", description="Eve sells apples.")
MU = Persona(id="mu", name="木兰", description="从军。", language="zh")
THREAD: RunnableConfig = {"configurable": {"thread_id": "1"}}
RUM = HumanMessage("Where is the rum?")
GONE = AIMessage("Gone, mate.", name="jack-sparrow", response_metadata={"persona_name": "Jack Sparrow"})


def scripted(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies))


def heard(messages: Sequence[BaseMessage], persona: Persona = ADA, **options: Any) -> list[tuple[str, str]]:
    """What the persona's model is sent after the instruction, which is the same by both ways."""
    by_graph, by_chat = scripted("Hm."), scripted("Hm.")
    options = {"strategy": "system", **options}
    said: Any = {"messages": [*messages]}
    role_graph(persona, model=by_graph, **options).invoke(said)
    RoleChatModel(persona, model=by_chat, **options).invoke([*messages])
    prompts = [lines(model.calls[0]) for model in (by_graph, by_chat)]
    assert prompts[0] == prompts[1]
    return prompts[0][1:]


def lines(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in messages]


# What a persona hears


def test_another_personas_words_are_somebody_elses() -> None:
    assert heard([RUM, GONE]) == [("human", "User: Where is the rum?\nJack Sparrow: Gone, mate.")]


def test_a_speaker_without_a_display_name_has_its_name() -> None:
    assert heard([AIMessage("Two plus two is four.", name="math_expert")]) == [
        ("human", "math_expert: Two plus two is four.")
    ]


def test_its_own_words_are_its_own_by_any_of_its_names() -> None:
    for own in (
        AIMessage("Seven.", name="ada"),
        AIMessage("Seven.", name="Ada Lovell"),
        AIMessage("Seven.", name="clerk", response_metadata={"persona": "ada"}),
        AIMessage("Seven."),
    ):
        assert heard([RUM, own, HumanMessage("Sure?")]) == [
            ("human", RUM.text),
            ("ai", "Seven."),
            ("human", "Sure?"),
        ]


def test_several_people_are_kept_apart() -> None:
    asked = [HumanMessage("Tea?", name="Tom"), HumanMessage("Or coffee?", name="Kim")]
    assert heard(asked) == [("human", "Tom: Tea?\nKim: Or coffee?")]
    assert heard(asked[:1]) == [("human", "Tom: Tea?")]
    assert heard(asked[:1], user="Tom") == [("human", "Tea?")]
    assert heard(asked, user="Tom") == [("human", "Tom: Tea?\nKim: Or coffee?")]


def test_nothing_changes_without_names() -> None:
    said = [RUM, HumanMessage("Hello?"), AIMessage("Seven."), HumanMessage("Sure?")]
    assert heard(said) == lines(said)


def test_the_form_is_that_of_scenes_in_the_personas_language() -> None:
    assert heard([HumanMessage("你好", name="红拂")], MU) == [("human", "红拂：你好")]


def test_reasoning_of_others_stays_theirs() -> None:
    thought = AIMessage("<think>Sly.</think>Gone.", name="jack")
    assert heard([thought]) == [("human", "jack: Gone.")]


def test_tools_of_others_are_left_out_and_its_own_stay() -> None:
    def call(number: str, name: str | None) -> list[AnyMessage]:
        asked: Any = {"name": "count", "args": {}, "id": number, "type": "tool_call"}
        return [AIMessage("", tool_calls=[asked], name=name), ToolMessage("7", tool_call_id=number)]

    assert heard([RUM, *call("1", "jack"), *call("2", "ada")]) == [
        ("human", RUM.text),
        ("ai", ""),
        ("tool", "7"),
    ]


def test_after_its_own_words_nobody_has_answered() -> None:
    assert heard([RUM, AIMessage("Seven.", name="ada")]) == [
        ("human", RUM.text),
        ("ai", "Seven."),
        ("human", "[Nobody answers.]"),
    ]


def test_the_last_words_of_nobody_are_a_finished_turn_or_a_begun_answer() -> None:
    by_graph, by_chat = scripted("Hm."), scripted("Hm.")
    begun = AIMessage("Let me")
    role_graph(ADA, model=by_graph, strategy="system").invoke({"messages": [RUM, begun]})
    RoleChatModel(ADA, model=by_chat, strategy="system").invoke([RUM, begun])
    assert lines(by_graph.calls[0])[1:] == [*lines([RUM, begun]), ("human", "[Nobody answers.]")]
    assert lines(by_chat.calls[0])[1:] == lines([RUM, begun])


def test_system_messages_are_the_scene_at_one_place() -> None:
    model = scripted("Hm.")
    said: list[AnyMessage] = [SystemMessage("It rains."), RUM, SystemMessage("At sea."), GONE]
    role_graph(ADA, model=model, strategy="system").invoke({"messages": said})
    instruction, *rest = model.calls[0]
    assert instruction.text.endswith("It rains.\n\nAt sea.")
    assert lines(rest) == [("human", "User: Where is the rum?\nJack Sparrow: Gone, mate.")]
    heard(said)


@pytest.mark.parametrize("message", [HumanMessage, AIMessage])
def test_pictures_are_refused_in_a_sentence(message: Any) -> None:
    picture = {"type": "image", "url": "https://a.test"}
    shown = message([{"type": "text", "text": "See?"}, picture], name="jack")
    for later in ([], [HumanMessage("Well?")]):
        with pytest.raises(
            MessageError, match=r"contains a part of the type 'image', but a persona accepts"
        ):
            role_graph(ADA, model=scripted("Hm.")).invoke({"messages": [shown, *later]})
        with pytest.raises(MessageError, match=r"contains a part of the type 'image'"):
            RoleChatModel(ADA, model=scripted("Hm.")).invoke([shown, *later])


# In one state


def group(*personas: Persona, model: ScriptedChatModel, **options: Any) -> Any:
    """One after the other answers in one state."""
    builder = StateGraph(MessagesState)
    builder.add_sequence(
        [
            (persona.id, role_graph(persona, model=model, strategy="system", **options))
            for persona in personas
        ]
    )
    return builder.add_edge(START, personas[0].id).compile(checkpointer=InMemorySaver())


async def test_four_answer_one_after_the_other_in_one_state() -> None:
    model = scripted("Seven.", "Forty.", "None.", "好。")
    graph = group(ADA, BEN, EVE, MU, model=model)
    said = (await graph.ainvoke({"messages": [RUM]}, THREAD))["messages"]
    assert [message.name for message in said] == [None, "ada", "ben", "eve", "mu"]
    assert [lines(call)[1:] for call in model.calls] == [
        [("human", "Where is the rum?")],
        [("human", "User: Where is the rum?\nAda Lovell: Seven.")],
        [("human", "User: Where is the rum?\nAda Lovell: Seven.\nBen: Forty.")],
        [("human", "User：Where is the rum?\nAda Lovell：Seven.\nBen：Forty.\nEve：None.")],
    ]
    await graph.ainvoke({"messages": [HumanMessage("Sure?")]}, THREAD)
    assert lines(model.calls[5])[1:] == [
        ("human", "User: Where is the rum?\nAda Lovell: Seven."),
        ("ai", "Forty."),
        ("human", "Eve: None.\n木兰: 好。\nUser: Sure?\nAda Lovell: Seven."),
    ]


def test_a_persona_that_speaks_twice_goes_on() -> None:
    model = scripted("One.", "Two.")
    graph = role_graph(ADA, model=model, strategy="system", checkpointer=InMemorySaver())
    graph.invoke({"messages": [RUM]}, THREAD)
    said = graph.invoke({"messages": []}, THREAD)["messages"]
    assert [message.text for message in said] == [RUM.text, "One.", "Two."]


def hand_over(agent: str, number: int) -> AIMessage:
    call: Any = {"name": f"transfer_to_{agent}", "args": {}, "id": f"call-{number}", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("mode", ["full_history", "last_message"])
@pytest.mark.parametrize("as_chat_model", [False, True])
async def test_in_a_supervisor(mode: Any, as_chat_model: bool) -> None:
    supervisor = pytest.importorskip("langgraph_supervisor", reason="langgraph-supervisor is not installed")
    model = scripted("Seven.", "Forty.", "Eight.")

    def agent(persona: Persona) -> Any:
        if as_chat_model:
            chat = RoleChatModel(persona, model=model, strategy="system")
            return create_agent(chat, [], name=f"{persona.id}_agent")
        return role_graph(persona, model=model, strategy="system", name=f"{persona.id}_agent")

    boss = tool_calling_model(
        hand_over("ada_agent", 1),
        hand_over("ben_agent", 2),
        hand_over("ada_agent", 3),
        AIMessage("They do not know."),
    )
    graph = supervisor.create_supervisor([agent(ADA), agent(BEN)], model=boss, output_mode=mode)
    said = (await graph.compile().ainvoke({"messages": [RUM]}))["messages"]
    assert said[-1].text == "They do not know."
    assert [lines(call)[1:] for call in model.calls] == [
        [("human", "Where is the rum?")],
        [("human", "User: Where is the rum?\nAda Lovell: Seven.")],
        [("human", "Where is the rum?"), ("ai", "Seven."), ("human", "Ben: Forty.")],
    ]


async def test_in_a_swarm() -> None:
    swarm = pytest.importorskip("langgraph_swarm", reason="langgraph-swarm is not installed")
    hands_over = tool_calling_model(hand_over("ben", 1))
    ben = role_graph(BEN, model=(model := scripted("Forty.", "Fifty.")), strategy="system")
    ada = create_agent(
        RoleChatModel(ADA, model=hands_over, strategy="system"),
        [swarm.create_handoff_tool(agent_name="ben")],
        name="ada",
    )
    graph = swarm.create_swarm([ada, ben], default_active_agent="ada").compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"messages": [RUM]}, THREAD)
    said = (await graph.ainvoke({"messages": [HumanMessage("Sure?")]}, THREAD))["messages"]
    assert [(message.name, message.text) for message in said if message.type == "ai"] == [
        ("ada", ""),
        ("ben", "Forty."),
        ("ben", "Fifty."),
    ]
    assert [lines(call)[1:] for call in model.calls] == [
        [("human", "Where is the rum?")],
        [("human", "Where is the rum?"), ("ai", "Forty."), ("human", "Sure?")],
    ]


def test_a_persona_with_tools_in_a_group_keeps_its_calls() -> None:
    asked = calling("count", what="bees")
    model = tool_calling_model(asked, AIMessage("Seven."))

    def count(what: str) -> str:
        """Count."""
        return f"7 {what}"

    agent = create_agent(RoleChatModel(ADA, model=model, strategy="system"), [count], name="clerk")
    said = agent.invoke({"messages": [RUM, GONE]})["messages"]
    assert said[-1].text == "Seven."
    assert lines(model.calls[1])[1:] == [
        ("human", "User: Where is the rum?\nJack Sparrow: Gone, mate."),
        ("ai", ""),
        ("tool", "7 bees"),
    ]
