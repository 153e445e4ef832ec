"""The role graph: one persona, one conversation. recall → compose → speak.

Its state extends `MessagesState`, so it works alone, as a node of another graph, and with any checkpointer,
through `invoke`, `stream` and their async variants.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    MessageLikeRepresentation,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from typing_extensions import ReadOnly, TypedDict

from rolellm_agents.cards import Lorebook
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.context_size import SURELY_FITS, ask_for_context, fitted, has_server_to_ask
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.composer import LookedUp, Prompting
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import Passage, RecalledItem, RecallOptions
from rolellm_graphs.role.call_context import context_of
from rolellm_graphs.role.choosing import Chooser, ChoosingCalls, RoleCall, RoleVoice, role_voice
from rolellm_graphs.role.context import RoleContext
from rolellm_graphs.role.conversation import conversation_of
from rolellm_graphs.role.model_node import ModelNode, ModelRequest, Node
from rolellm_graphs.role.stored_memories import StoredMemories
from rolellm_graphs.tracing.tags import trace_recalled, trace_recalled_async

Checkpointer = bool | BaseCheckpointSaver[Any] | None
"""What `langgraph.types.Checkpointer` means, with the type argument that strict type checkers ask for."""


class RoleInput(MessagesState, total=False):
    """The graph's input."""

    lore: dict[str, Any]
    """Timed effects of the lorebook so far, for callers that keep their own state."""


class SaidMessages(TypedDict):
    """What type checkers require of the input: messages in any form that `add_messages` reads."""

    messages: ReadOnly[Sequence[MessageLikeRepresentation]]


_INPUT = cast("type[SaidMessages]", RoleInput)
"""`RoleInput` describes the input to Studio; most callers pass only messages, often as pairs."""


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


RoleGraph = CompiledStateGraph[RoleState, RoleContext, SaidMessages, RoleOutput]


def role_graph(
    persona: Persona | str,
    *,
    model: BaseChatModel | str = DEFAULT_MODEL,
    strategy: str | Strategy | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    user: str = DEFAULT_USER,
    lorebooks: Sequence[Lorebook] = (),
    recall: RecallOptions | None = None,
    memories: Sequence[Passage] = (),
    name: str | None = None,
    make: Callable[[str], BaseChatModel] = get_model,
    context_schema: type[RoleContext] = RoleContext,
) -> RoleGraph:
    """Build the graph in which `persona` answers the last of the `messages`, whoever said it.

    Words of other personas, agents and people (messages with another `name`) reach the persona as theirs,
    not as its own or its user's. System messages become the scene, after its description.

    A call may choose another `persona`, `user`, `model`, `strategy`, `lorebooks` and `memories`, in its
    `context` or, if the graph is called by itself, as `configurable` values.

    Args:
        persona: a persona, or its id, name or path.
        model: any LangChain chat model, or a spec for `get_model`.
        strategy: a strategy or its name; the model's preferred strategy when None.
        checkpointer: any LangGraph checkpointer; None keeps nothing between calls.
        store: any LangGraph store, in which the persona keeps what it and each user say to each other, and
            from which it remembers other conversations. Users are told apart by the configurable value
            `user_id`, or by the user's name.
        user: the display name of the person who talks with it, for `{{user}}` in cards.
        lorebooks: further lorebooks beside the persona's own.
        recall: how passages are looked up; the strategy's method when None.
        memories: passages of earlier conversations, as `rolellm_agents.recall.memories_of` reads them.
        name: the graph's name, under which other agents know the persona, and the `name` of its answers;
            the persona's id when None.
        make: creates a model from a spec.
        context_schema: `RoleContext`, or a subclass with further values of your own.

    Raises:
        PersonaError: there is no such persona.
        ModelError: there is no such model.
        SettingsError: there is no such strategy.
    """
    given = {
        "persona": persona,
        "user": user,
        "model": model,
        "strategy": strategy,
        "lorebooks": lorebooks,
        "memories": memories,
    }
    chooser = ChoosingCalls(given, recall=recall, make=make, schema=context_schema)
    nodes = _RoleNodes(chooser, chooser.voice, name, store)
    return _compiled(nodes, chooser.voice, name, context_schema, checkpointer, store)


def prompted_role_graph(prompting: Prompting, chat_model: BaseChatModel) -> RoleGraph:
    """Build the same graph from an existing `Prompting`, which its calls cannot replace."""
    voice = role_voice(prompting, chat_model)
    return _compiled(_RoleNodes(_AsBuilt(voice), voice), voice)


class _AsBuilt:
    """Calls that are all answered by the same voice."""

    def __init__(self, voice: RoleVoice) -> None:
        self._voice = voice

    def call(self) -> RoleCall:
        return RoleCall(self._voice, context_of(RoleContext))

    async def call_async(self) -> RoleCall:
        return RoleCall(self._voice, context_of(RoleContext))


class _RoleNodes:
    """The nodes of a role graph."""

    def __init__(
        self, chooser: Chooser, built: RoleVoice, name: str | None = None, store: BaseStore | None = None
    ) -> None:
        self._chooser = chooser
        self._built = built
        self._name = name
        self._memories = None if store is None else StoredMemories(store)

    def recall(self, state: RoleState) -> dict[str, Any]:
        voice, context = self._chooser.call()
        prompting = voice.prompting
        said = conversation_of(state["messages"], prompting.persona, user=prompting.user, agent=self._name)
        lore = state.get("lore", {})
        found = prompting.look_up(said.history, said.line, lore, seed=context.seed, earlier=context.earlier)
        if self._memories:
            found.recalled.extend(self._memories.near(prompting.persona, prompting.user, said.line))
        if found.recalled:
            trace_recalled(prompting.persona, said.line, found.recalled)
        return _recalled(found)

    async def recall_async(self, state: RoleState) -> dict[str, Any]:
        voice, context = await self._chooser.call_async()
        prompting, persona = voice.prompting, voice.prompting.persona
        said = conversation_of(state["messages"], persona, user=prompting.user, agent=self._name)
        lore = state.get("lore", {})
        found = await prompting.look_up_async(
            said.history, said.line, lore, seed=context.seed, earlier=context.earlier
        )
        if self._memories:
            found.recalled.extend(await self._memories.near_async(persona, prompting.user, said.line))
        if found.recalled:
            await trace_recalled_async(persona, said.line, found.recalled)
        return _recalled(found)

    def compose(self, state: RoleState) -> dict[str, Any]:
        voice, context = self._chooser.call()
        prompting = voice.prompting
        said = conversation_of(state["messages"], prompting.persona, user=prompting.user, agent=self._name)
        scene = "\n\n".join([text for text in (context.scene, said.scene) if text])
        prompt = prompting.compose(
            said.history,
            state["recalled"],
            said.line,
            note=context.note,
            scene=scene,
            summary=context.summary,
        )
        prompt += said.since
        if context.answer_prefix:
            prompt.append(AIMessage(context.answer_prefix))
        if sum([len(message.text) for message in prompt]) > SURELY_FITS:
            prompt = fitted(voice.speaker, prompt)
        return {"prompt": messages_to_dict(prompt)}

    async def compose_async(self, state: RoleState) -> dict[str, Any]:
        if sum([len(message.text) for message in state["messages"]]) > SURELY_FITS:
            await asyncio.to_thread(ask_for_context, self._built.speaker)
        return self.compose(state)

    def prompted(self, state: RoleState) -> ModelRequest:
        voice, context = self._chooser.call()
        options: dict[str, Any] = {} if context.seed is None else {"seed": context.seed}
        if context.stop:
            options["stop"] = list(context.stop)
        if voice is not self._built:  # whose tags and metadata the whole graph has
            options["config"] = RunnableConfig(tags=voice.tags, metadata=dict(voice.metadata))
        options |= context.sampling
        return ModelRequest(voice.speaker, messages_from_dict(state["prompt"]), options, voice.speaker)

    def in_role(self, _: RoleState, answer: AIMessage) -> dict[str, Any]:
        voice, _context = self._chooser.call()
        update = {
            "name": self._name or voice.prompting.persona.id,
            "response_metadata": {**answer.response_metadata, **voice.signature},
        }
        return {"messages": [answer.model_copy(update=update)]}

    def remember(self, state: RoleState) -> dict[str, Any]:
        if self._memories:
            self._memories.keep(*self._exchange(state))
        return {}

    async def remember_async(self, state: RoleState) -> dict[str, Any]:
        if self._memories:
            await self._memories.keep_async(*self._exchange(state))
        return {}

    def _exchange(self, state: RoleState) -> tuple[Persona, str, str, str]:
        """The persona, its user, what was said to the persona and by whom, and its answer."""
        prompting = self._chooser.call().voice.prompting
        persona, messages = prompting.persona, state["messages"]
        said = conversation_of(messages[:-1], persona, user=prompting.user, agent=self._name)
        is_users = any(one.text == said.line for one in messages if isinstance(one, HumanMessage))
        heard = f"{prompting.user}: {said.line}" if is_users else said.line
        return persona, prompting.user, heard, messages[-1].text


def _compiled(
    nodes: _RoleNodes,
    voice: RoleVoice,
    name: str | None = None,
    schema: type[RoleContext] = RoleContext,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
) -> RoleGraph:
    builder = StateGraph(RoleState, context_schema=schema, input_schema=_INPUT, output_schema=RoleOutput)
    builder.add_node("recall", Node(nodes.recall, nodes.recall_async))
    may_ask = has_server_to_ask(voice.speaker)
    builder.add_node("compose", Node(nodes.compose, nodes.compose_async if may_ask else None))
    builder.add_node("speak", ModelNode(nodes.prompted, nodes.in_role, name="speak"))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "compose")
    builder.add_edge("compose", "speak")
    if store is None:
        builder.add_edge("speak", END)
    else:
        builder.add_node("remember", Node(nodes.remember, nodes.remember_async))
        builder.add_edge("speak", "remember")
        builder.add_edge("remember", END)
    graph = builder.compile(checkpointer=checkpointer, store=store, name=name or voice.prompting.persona.id)
    return graph.with_config(tags=voice.tags, metadata=voice.metadata)


def _recalled(found: LookedUp) -> dict[str, Any]:
    lore = {} if found.lore is None else {"lore": found.lore}
    return {"recalled": found.recalled, **lore}
