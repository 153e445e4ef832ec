"""The role graph: one persona, one conversation. recall → compose → speak.

Its state extends `MessagesState`, so it works alone, as a node of another graph, and with any checkpointer,
through `invoke`, `stream` and their async variants.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    messages_from_dict,
    messages_to_dict,
)
from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from rolellm_agents.cards import Lorebook
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.models.catalog import describe_model, get_model
from rolellm_agents.models.separated import separated
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import LookedUp, Prompting
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import Passage, RecalledItem, RecallOptions
from rolellm_graphs.role.call_context import context_of
from rolellm_graphs.role.conversation import conversation_of
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
    name: str | None = None,
) -> CompiledStateGraph[RoleState, RoleContext, MessagesState, RoleOutput]:
    """Build the graph in which `persona` answers the last of the `messages`, whoever said it.

    Words of other personas, agents and people (messages with another `name`) reach the persona as theirs,
    not as its own or its user's. System messages become the scene, after its description.

    Args:
        persona: a persona, or its id, name or path.
        model: any LangChain chat model, or a spec for `get_model`.
        strategy: a strategy or its name; the model's preferred strategy when None.
        checkpointer: any LangGraph checkpointer; None keeps nothing between calls.
        user: the display name of the person who talks with it, for `{{user}}` in cards.
        lorebooks: further lorebooks beside the persona's own.
        recall: how passages are looked up; the strategy's method when None.
        memories: passages of earlier conversations, as `rolellm_agents.recall.memories_of` reads them.
        name: the graph's name, under which other agents know the persona, and the `name` of its answers;
            the persona's id when None.

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
    return prompted_role_graph(prompting, chat_model, checkpointer=checkpointer, name=name)


def prompted_role_graph(
    prompting: Prompting,
    chat_model: BaseChatModel,
    *,
    checkpointer: Checkpointer = None,
    name: str | None = None,
) -> CompiledStateGraph[RoleState, RoleContext, MessagesState, RoleOutput]:
    """Build the same graph from an existing `Prompting`."""
    speaker = separated(chat_model)
    persona, strategy = prompting.persona, prompting.strategy
    provenance = run_metadata(persona, strategy)

    def recall(state: RoleState) -> dict[str, Any]:
        said = conversation_of(state["messages"], persona, user=prompting.user, agent=name)
        seed = context_of(RoleContext).seed
        found = prompting.look_up(said.history, said.line, state.get("lore", {}), seed=seed)
        trace_recalled(persona, said.line, found.recalled)
        return _recalled(found)

    async def recall_async(state: RoleState) -> dict[str, Any]:
        said = conversation_of(state["messages"], persona, user=prompting.user, agent=name)
        seed = context_of(RoleContext).seed
        found = await prompting.look_up_async(said.history, said.line, state.get("lore", {}), seed=seed)
        await trace_recalled_async(persona, said.line, found.recalled)
        return _recalled(found)

    def compose(state: RoleState) -> dict[str, Any]:
        said = conversation_of(state["messages"], persona, user=prompting.user, agent=name)
        context = context_of(RoleContext)
        scene = "\n\n".join([text for text in (context.scene, said.scene) if text])
        prompt = prompting.compose(
            said.history, state["recalled"], said.line, note=context.note, scene=scene
        )
        prefix = [AIMessage(context.answer_prefix)] if context.answer_prefix else []
        return {"prompt": messages_to_dict([*prompt, *said.since, *prefix])}

    def prompted(state: RoleState) -> ModelRequest:
        return ModelRequest(speaker, messages_from_dict(state["prompt"]), _call_options(), speaker)

    def in_role(_: RoleState, answer: AIMessage) -> dict[str, Any]:
        metadata = {**answer.response_metadata, **provenance}
        return {
            "messages": [
                answer.model_copy(update={"name": name or persona.id, "response_metadata": metadata})
            ]
        }

    builder = StateGraph(
        RoleState, context_schema=RoleContext, input_schema=_INPUT, output_schema=RoleOutput
    )
    builder.add_node("recall", Node(recall, recall_async))
    builder.add_node("compose", Node(compose))
    builder.add_node("speak", ModelNode(prompted, in_role, name="speak"))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "compose")
    builder.add_edge("compose", "speak")
    builder.add_edge("speak", END)
    graph = builder.compile(checkpointer=checkpointer, name=name or persona.id)
    return graph.with_config(
        tags=run_tags(persona, strategy),
        metadata=run_metadata(persona, strategy, describe_model(chat_model)),
    )


def _recalled(found: LookedUp) -> dict[str, Any]:
    lore = {} if found.lore is None else {"lore": found.lore}
    return {"recalled": found.recalled, **lore}


def _call_options() -> dict[str, Any]:
    context = context_of(RoleContext)
    options: dict[str, Any] = {} if context.seed is None else {"seed": context.seed}
    return options | ({"stop": list(context.stop)} if context.stop else {}) | dict(context.sampling)
