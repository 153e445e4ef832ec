"""The role graph: one persona, one conversation. recall → compose → speak.

Its state extends `MessagesState`, so it works alone, as a node of another graph, and with any checkpointer,
through `invoke`, `stream` and their async variants.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from langgraph.types import Checkpointer

from rolellm_agents.cards import Lorebook
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.errors import MessageError
from rolellm_agents.models.catalog import describe_model, get_model
from rolellm_agents.models.context_size import (
    SURELY_FITS,
    ask_for_context,
    fitted,
    has_server_to_ask,
)
from rolellm_agents.models.reasoning import without_reasoning
from rolellm_agents.models.separated import separated
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import Passage, RecalledItem, RecallOptions
from rolellm_graphs.role.call_context import context_of
from rolellm_graphs.role.model_node import ModelNode, ModelRequest, Node
from rolellm_graphs.tracing.tags import run_metadata, run_tags, trace_recalled, trace_recalled_async


class RoleInput(MessagesState, total=False):
    """The graph's input."""

    lore: dict[str, Any]
    """Timed effects of the lorebook so far, for callers that keep their own state."""


_INPUT: type[MessagesState] = RoleInput
"""Typed as `MessagesState`, because most callers pass only messages."""


class RoleState(MessagesState):
    """The graph's state: the conversation, and the data of this turn."""

    lore: dict[str, Any]
    """Timed effects of the lorebook: which entries stay active, and which cannot be active yet."""

    recalled: list[RecalledItem]
    """The items that were recalled for the last user line."""
    prompt: Annotated[list[dict[str, Any]], EphemeralValue]
    """The messages for the model, as plain values, because messages in a node's update would appear in
    message streams; removed from the state after the answer."""


class RoleOutput(MessagesState):
    """The graph's output."""

    recalled: list[RecalledItem]
    lore: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RoleContext:
    """Options of one call that are not part of the conversation."""

    seed: int | None = None
    """Sampling seed of this answer; the model's own when None."""
    note: str = ""
    """The author's note, placed in the prompt a few messages before its end."""
    answer_prefix: str = ""
    """Prefix that the answer continues; the returned message holds only the continuation."""
    scene: str = ""
    """What the persona knows of its scene, placed after its description."""
    summary: str = ""
    """A summary of what was said before the messages, placed after the persona's description."""
    earlier: tuple[str, ...] = ()
    """Exchanges before the messages, of which those near the line are recalled."""
    stop: tuple[str, ...] = ()
    """Stop sequences."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Further options of the model's call, such as `temperature`."""


def role_graph(
    persona: Persona | str,
    *,
    model: BaseChatModel | str = DEFAULT_MODEL,
    strategy: str | Strategy | None = None,
    checkpointer: Checkpointer = None,
    user: str = DEFAULT_USER,
    lorebooks: Sequence[Lorebook] = (),
    recall: RecallOptions | None = None,
    memories: Sequence[Passage] = (),
) -> CompiledStateGraph[RoleState, RoleContext, MessagesState, RoleOutput]:
    """Build the graph in which `persona` answers the last of the `messages`.

    Args:
        persona: a persona, or its id, name or path.
        model: any LangChain chat model, or a spec for `get_model`.
        strategy: a strategy or its name; the model's preferred strategy when None.
        checkpointer: any LangGraph checkpointer; None keeps nothing between calls.
        user: the display name of the person who talks with it, for `{{user}}` in cards.
        lorebooks: further lorebooks beside the persona's own.
        recall: how passages are looked up; the strategy's method when None.
        memories: passages of earlier conversations, as `rolellm_agents.recall.memories_of` reads them.

    Raises:
        PersonaError: there is no such persona.
        ModelError: there is no such model.
        SettingsError: there is no such strategy.
    """
    found = load_persona(persona) if isinstance(persona, str) else persona
    played = with_macros(found, user)
    chat_model = get_model(model) if isinstance(model, str) else model
    prompting = Prompting(
        played,
        strategy or default_strategy(model),
        user=user,
        lorebooks=lorebooks,
        recall=recall,
        memories=memories,
    )
    return prompted_role_graph(prompting, chat_model, checkpointer=checkpointer)


def prompted_role_graph(
    prompting: Prompting, chat_model: BaseChatModel, *, checkpointer: Checkpointer = None
) -> CompiledStateGraph[RoleState, RoleContext, MessagesState, RoleOutput]:
    """Build the same graph from an existing `Prompting`."""
    speaker = separated(chat_model)

    def look_up(state: RoleState) -> dict[str, Any]:
        history, line = _split(state["messages"])
        context = context_of(RoleContext)
        found = prompting.look_up(
            history, line, state.get("lore", {}), seed=context.seed, earlier=context.earlier
        )
        update: dict[str, Any] = {"recalled": found.recalled}
        return update if found.lore is None else {**update, "lore": found.lore}

    def recall(state: RoleState) -> dict[str, Any]:
        update = look_up(state)
        trace_recalled(prompting.persona, state["messages"][-1].text, update["recalled"])
        return update

    async def recall_async(state: RoleState) -> dict[str, Any]:
        update = await asyncio.to_thread(look_up, state) if prompting.looks_up_vectors else look_up(state)
        await trace_recalled_async(prompting.persona, state["messages"][-1].text, update["recalled"])
        return update

    def prompted(state: RoleState) -> ModelRequest:
        return ModelRequest(speaker, messages_from_dict(state["prompt"]), _call_options(), speaker)

    def in_role(_: RoleState, answer: AIMessage) -> dict[str, Any]:
        return {"messages": [answer.model_copy(update={"name": prompting.persona.id})]}

    builder = StateGraph(
        RoleState, context_schema=RoleContext, input_schema=_INPUT, output_schema=RoleOutput
    )
    builder.add_node("recall", Node(recall, recall_async))
    builder.add_node("compose", _compose_node(prompting, chat_model))
    builder.add_node("speak", ModelNode(prompted, in_role, name="speak"))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "compose")
    builder.add_edge("compose", "speak")
    builder.add_edge("speak", END)
    graph = builder.compile(checkpointer=checkpointer, name=prompting.persona.id)
    persona, strategy = prompting.persona, prompting.strategy
    return graph.with_config(
        tags=run_tags(persona, strategy),
        metadata=run_metadata(persona, strategy, describe_model(chat_model)),
    )


def _compose_node(prompting: Prompting, chat_model: BaseChatModel) -> Node:
    """The node `compose`: the prompt, without the oldest turns if it exceeds the model's context."""

    def compose(state: RoleState) -> dict[str, Any]:
        history, line = _split(state["messages"])
        context = context_of(RoleContext)
        prompt = prompting.compose(
            history,
            state["recalled"],
            line,
            note=context.note,
            scene=context.scene,
            summary=context.summary,
        )
        if context.answer_prefix:
            prompt.append(AIMessage(context.answer_prefix))
        if sum([len(message.text) for message in prompt]) > SURELY_FITS:
            prompt = fitted(chat_model, prompt)
        return {"prompt": messages_to_dict(prompt)}

    async def compose_async(state: RoleState) -> dict[str, Any]:
        if sum([len(message.text) for message in state["messages"]]) > SURELY_FITS:
            await asyncio.to_thread(ask_for_context, chat_model)
        return compose(state)

    return Node(compose, compose_async if has_server_to_ask(chat_model) else None)


def _call_options() -> dict[str, Any]:
    context = context_of(RoleContext)
    options: dict[str, Any] = {} if context.seed is None else {"seed": context.seed}
    return options | ({"stop": list(context.stop)} if context.stop else {}) | dict(context.sampling)


def _split(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], str]:
    """The history and the user's line."""
    if not messages or not isinstance(messages[-1], HumanMessage):
        raise MessageError(
            "The last message must be the user's, so that the persona can answer it; "
            'put {"messages": [("user", "…")]} in.'
        )
    # Histories of other programs may contain what a model has thought.
    return [without_reasoning(message) for message in messages[:-1]], messages[-1].text
