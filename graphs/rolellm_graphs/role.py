"""The role graph: one persona, one conversation. recall → compose → speak.

It is shaped like `MessagesState`, so it can stand alone, as a node of another graph, or behind any
checkpointer, called with `invoke`, `stream`, or their async twins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    messages_from_dict,
    messages_to_dict,
)
from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime
from langgraph.types import Checkpointer

from rolellm_agents.errors import MessageError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.recall import DemonstrationIndex, RecalledItem
from rolellm_agents.settings import DEFAULT_MODEL, DEFAULT_STRATEGY
from rolellm_agents.strategies import DEMONSTRATIONS, get_strategy, uses_demonstrations
from rolellm_graphs.node import Node


class RoleState(MessagesState):
    """What the graph keeps: the conversation, and what this turn needs."""

    recalled: list[RecalledItem]
    """What was looked up for the last user line."""
    prompt: Annotated[list[dict[str, Any]], EphemeralValue]
    """The very messages the model is sent, as plain values (messages in a node's update would show up
    in everybody's message stream); gone from the state when the model has answered."""


class RoleOutput(MessagesState):
    """What the graph gives back."""

    recalled: list[RecalledItem]


@dataclass(frozen=True, kw_only=True)
class RoleContext:
    """What may differ from call to call without being part of the conversation."""

    seed: int | None = None
    """For this answer; None leaves it to the model."""


def role_graph(
    persona: Persona | str,
    *,
    model: BaseChatModel | str = DEFAULT_MODEL,
    strategy: str = DEFAULT_STRATEGY,
    checkpointer: Checkpointer = None,
) -> CompiledStateGraph[RoleState, RoleContext, MessagesState, RoleOutput]:
    """Build the graph in which `persona` answers the last of the `messages`.

    Args:
        persona: a persona, or its id, name or path.
        model: any LangChain chat model, or a spec for `get_model`.
        strategy: how the persona reaches the model; see `rolellm_agents.strategies`.
        checkpointer: anybody's; None keeps nothing between calls.

    Raises:
        PersonaError: there is no such persona.
        ModelError: there is no such model.
        SettingsError: there is no such strategy.
    """
    played = load_persona(persona) if isinstance(persona, str) else persona
    chat_model = get_model(model) if isinstance(model, str) else model
    compose_messages = get_strategy(strategy)
    index = DemonstrationIndex(played) if uses_demonstrations(strategy) else None

    def recall(state: RoleState) -> dict[str, Any]:
        _, user = _split(state["messages"])
        return {"recalled": index.search(user, DEMONSTRATIONS) if index else []}

    def compose(state: RoleState) -> dict[str, Any]:
        history, user = _split(state["messages"])
        messages = compose_messages(played, history, state["recalled"], user)
        return {"prompt": messages_to_dict(messages)}

    def speak(state: RoleState) -> dict[str, Any]:
        prompt = messages_from_dict(state["prompt"])
        return in_role(chat_model.invoke(prompt, **_call_options()))

    async def speak_async(state: RoleState) -> dict[str, Any]:
        prompt = messages_from_dict(state["prompt"])
        return in_role(await chat_model.ainvoke(prompt, **_call_options()))

    def in_role(answer: AIMessage) -> dict[str, Any]:
        return {"messages": [answer.model_copy(update={"name": played.id})]}

    builder = StateGraph(
        RoleState, context_schema=RoleContext, input_schema=MessagesState, output_schema=RoleOutput
    )
    builder.add_node("recall", Node(recall))
    builder.add_node("compose", Node(compose))
    builder.add_node("speak", Node(speak, speak_async))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "compose")
    builder.add_edge("compose", "speak")
    builder.add_edge("speak", END)
    return builder.compile(checkpointer=checkpointer, name=played.id)


def _call_options() -> dict[str, Any]:
    context = get_runtime(RoleContext).context
    return {} if context is None or context.seed is None else {"seed": context.seed}


def _split(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], str]:
    """The turns before, and the user's line."""
    if not messages or not isinstance(messages[-1], HumanMessage):
        raise MessageError(
            "The last message must be the user's, so that the persona can answer it; "
            'put {"messages": [("user", "…")]} in.'
        )
    return list(messages[:-1]), messages[-1].text
