"""The judge graph for `langgraph dev`, which judges the last message of a conversation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from rolellm_agents.config.settings import DEFAULT_USER, load_settings
from rolellm_agents.judging import ConversationTurn, Judged
from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.json_form import judged_to_json
from rolellm_agents.judging.rubrics import choose_rubrics
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_graphs.judge.graph import JudgeOutput, judge_graph
from rolellm_graphs.judge.judges import default_reply_judge, reply_judge_named
from rolellm_graphs.role.model_node import Node
from rolellm_graphs.studio.choosing import (
    MaxTokens,
    ModelSpec,
    Seed,
    Temperature,
    build,
    cached_model_for_many,
)

_KEY: Final = "reply"
"""The key of the judged item, from which the answers' seeds are derived."""


@dataclass(frozen=True, kw_only=True)
class JudgeChoice:
    """The persona, the judge and the judging model."""

    persona: Annotated[
        str, Field(description="The persona that gave the reply: an id, a name or a path.")
    ] = "sherlock-holmes"
    judge: Annotated[
        Literal["rubric", "likelihood"] | None,
        Field(description="When empty, likelihood where the model gives probabilities, else rubric."),
    ] = None
    rubrics: Annotated[
        tuple[str, ...],
        Field(description="Names of rubrics, or paths of your own; all bundled ones when empty."),
    ] = ()
    model: ModelSpec = None
    temperature: Temperature = 0.0
    max_tokens: MaxTokens = None
    seed: Seed = 0


class JudgedChatInput(MessagesState, total=False):
    """The graph's input."""

    references: list[str]
    """Reference answers, if there are any."""


class JudgedChat(MessagesState):
    """The graph's state."""

    references: list[str]
    judged: dict[str, Any]
    verdicts: list[dict[str, Any]]
    """The verdicts on the last message."""


JudgedChatGraph = CompiledStateGraph[JudgedChat, JudgeChoice, MessagesState, JudgeOutput]
_INPUT: type[MessagesState] = JudgedChatInput


async def judge(config: RunnableConfig) -> JudgedChatGraph:
    """The judge graph of a run's configuration, after a node that reads a conversation."""
    return await build(config, JudgeChoice, _graph)


def _graph(choice: JudgeChoice) -> JudgedChatGraph:
    model = cached_model_for_many(
        choice.model or load_settings().model,
        temperature=choice.temperature,
        max_tokens=choice.max_tokens,
    )
    persona = with_macros(load_persona(choice.persona), DEFAULT_USER)
    rubrics = choose_rubrics(choice.rubrics)
    rubrics.in_language(persona.language)  # read here, not in the event loop
    judging = reply_judge_named(
        choice.judge or default_reply_judge(model), model, rubrics=rubrics, seed=choice.seed
    )
    builder = StateGraph(
        JudgedChat, context_schema=JudgeChoice, input_schema=_INPUT, output_schema=JudgeOutput
    )
    builder.add_sequence([("read", Node(_reader(persona))), ("judge", judge_graph([judging]))])
    return builder.set_entry_point("read").compile(name="judge")


def _reader(persona: Persona) -> Callable[[JudgedChat], dict[str, Any]]:
    def read(state: JudgedChat) -> dict[str, Any]:
        turns = _turns(state)
        if len(turns) < 2 or turns[-1].speaker != "persona":
            raise JudgingError(
                "The last message must be the persona's answer to somebody; "
                'put {"messages": [{"role": "user", …}, {"role": "assistant", …}]} in.'
            )
        judged = Judged(
            key=_KEY,
            persona=persona,
            turns=tuple(turns[:-1]),
            reply=turns[-1].text,
            references=tuple(state.get("references") or ()),
        )
        return {"judged": judged_to_json(judged)}

    return read


def _turns(state: JudgedChat) -> list[ConversationTurn]:
    """The turns of user and persona, without system messages."""
    return [
        ConversationTurn("persona" if isinstance(message, AIMessage) else "user", message.text)
        for message in state["messages"]
        if isinstance(message, AIMessage | HumanMessage)
    ]
