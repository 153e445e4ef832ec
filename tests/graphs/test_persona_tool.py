"""A persona as a tool of other agents."""

import re
from typing import Any

import pytest
from helpers.tool_calling_model import calling, tool_calling_model
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from rolellm_agents.errors import ModelError, PersonaError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_graphs.role.tool import persona_tool, tool_name

ADA = Persona(id="ada", name="Ada", description="Ada counts everything\nthat there is.")
VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IDS = st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True).filter(lambda one: len(one) <= 80)


def asked(model: ScriptedChatModel) -> list[tuple[str, str]]:
    return [(one.type, str(one.text)) for one in model.calls[0][1:]]


def test_it_asks_the_persona_and_gives_its_words() -> None:
    model = ScriptedChatModel(replies=["Three."], once=True)
    ada = persona_tool(ADA, model=model, strategy="system")
    assert ada.invoke({"question": "How many bees?"}) == "Three."
    assert model.calls[0][0].text.startswith("You are Ada.")
    assert asked(model) == [("human", "How many bees?")]


async def test_async_callers_are_answered_too() -> None:
    model = ScriptedChatModel(replies=["Three."], once=True)
    ada = persona_tool(ADA, model=model, strategy="system")
    assert await ada.ainvoke({"question": "How many bees?"}) == "Three."
    assert asked(model) == [("human", "How many bees?")]


def test_the_asking_model_is_told_who_it_is() -> None:
    function = convert_to_openai_tool(persona_tool(ADA, model="scripted:"))["function"]
    assert function["name"] == "ask_ada"
    assert function["description"].startswith("Ask Ada one thing")
    assert function["description"].endswith("Ada counts everything that there is.")
    assert list(function["parameters"]["properties"]) == ["question"]
    assert function["parameters"]["required"] == ["question"]


def test_both_can_be_said_otherwise() -> None:
    ada = persona_tool(ADA, model="scripted:", name="the_counter", description="Counts.")
    assert (ada.name, ada.description) == ("the_counter", "Counts.")


def supervisor(name: str) -> ScriptedChatModel:
    """Asks the persona, then tells what it said."""
    return tool_calling_model(calling(name, question="How many bees?"), AIMessage("Ada says three."))


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_agent_asks_a_persona(is_async: bool) -> None:
    model = ScriptedChatModel(replies=["Three."], once=True)
    ada = persona_tool(ADA, model=model, strategy="system")
    agent = create_agent(supervisor(ada.name), [ada], system_prompt="Ask those who know.")
    question: Any = {"messages": [HumanMessage("Find out how many bees there are.")]}
    result = await agent.ainvoke(question) if is_async else agent.invoke(question)
    said = [(one.type, one.text) for one in result["messages"]]
    assert said[2:] == [("tool", "Three."), ("ai", "Ada says three.")]
    # The agent's own instruction and conversation are not the persona's business.
    assert asked(model) == [("human", "How many bees?")]


def test_a_supervisor_graph_asks_several() -> None:
    ada = persona_tool(ADA, model="scripted:Three.")
    bob = persona_tool(ADA.model_copy(update={"id": "bob", "name": "Bob"}), model="scripted:Four.")

    def choose(state: MessagesState) -> dict[str, Any]:
        calls = [calling(tool.name, question="How many?").tool_calls[0] for tool in (ada, bob)]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    builder = StateGraph(MessagesState)
    builder.add_node("supervisor", choose)
    builder.add_node("ask", ToolNode([ada, bob]))
    builder.add_edge(START, "supervisor")
    builder.add_edge("supervisor", "ask")
    result = builder.compile().invoke(MessagesState(messages=[SystemMessage("Ask both.")]))
    assert [(one.name, one.text) for one in result["messages"][2:]] == [
        ("ask_ada", "Three."),
        ("ask_bob", "Four."),
    ]


def test_what_fails_is_told() -> None:
    with pytest.raises(PersonaError, match="There is no persona 'nobody'"):
        persona_tool("nobody", model="scripted:")
    asleep = ScriptedChatModel(replies=[ModelError("The model is asleep; wake it.")])
    with pytest.raises(ModelError, match="asleep"):
        persona_tool(ADA, model=asleep).invoke({"question": "Hello?"})


@pytest.mark.parametrize(
    ("persona_id", "name"),
    [("sherlock-holmes", "ask_sherlock-holmes"), ("孙悟空", "ask_sun-wu-kong"), ("Ünal Öz", "ask_unal-oz")],
)
def test_a_tools_name_is_made_of_the_personas_id(persona_id: str, name: str) -> None:
    assert tool_name(persona_id) == name


@given(st.text())
def test_every_name_is_one_that_servers_take(persona_id: str) -> None:
    assert VALID.fullmatch(tool_name(persona_id))


@given(st.lists(IDS, min_size=2, max_size=2, unique=True), st.sampled_from(["", "x" * 70]))
def test_unlike_ids_have_unlike_names(ids: list[str], before: str) -> None:
    first, second = (f"{before}{one}"[:80].strip("-") for one in ids)
    assert (tool_name(first) == tool_name(second)) == (first == second)
