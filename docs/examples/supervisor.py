"""A supervisor hands each line to one of two characters, who share one conversation.

Each character is a graph, used as a node of this one, and hears what the other has said as the other's
words: “Jack Sparrow: Gone, mate.” The supervisor is a model with structured output. The bundled model
always gives valid output, but is too small to choose well, so use a larger one:

    python docs/examples/supervisor.py
    ROLELLM_MODEL=openai:gpt-4o-mini python docs/examples/supervisor.py

An empty line ends it.
"""

from typing import Any, Literal, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from pydantic import BaseModel

from rolellm_agents import get_model
from rolellm_agents.config.settings import load_settings
from rolellm_graphs import role_graph

Who = Literal["sherlock-holmes", "jack-sparrow"]
DUTY = (
    "Who should answer? Crimes and riddles are for sherlock-holmes, ships and the sea for jack-sparrow. "
    'Answer in JSON, as in {"to": "jack-sparrow"}.'
)


class Handover(BaseModel):
    """What the supervisor decides."""

    to: Who


def supervised(model: BaseChatModel) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph: the supervisor, then whom it chose."""
    form = model.with_structured_output(Handover)

    def supervise(state: MessagesState) -> Command[Who]:
        decided = form.invoke([SystemMessage(DUTY), state["messages"][-1]])
        return Command(goto=Handover.model_validate(decided).to)

    builder = StateGraph(MessagesState)
    builder.add_node("supervise", supervise)
    builder.add_edge(START, "supervise")
    for persona in get_args(Who):
        builder.add_node(persona, role_graph(persona, model=model))
        builder.add_edge(persona, END)
    return builder.compile(checkpointer=InMemorySaver())


def main() -> None:
    graph = supervised(get_model(load_settings().model))
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    while line := input("You: "):
        answer = graph.invoke({"messages": [("user", line)]}, thread)["messages"][-1]
        print(f"{answer.name}: {answer.text}")


if __name__ == "__main__":
    main()
