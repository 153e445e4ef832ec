"""The RoleGPT graph for `langgraph dev`, in which a persona answers one instruction."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field
from typing_extensions import TypedDict

from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import MessageError
from rolellm_agents.persona import load_persona
from rolellm_graphs.generate.rolegpt import STRATEGY, RowState, persona_answer_graph
from rolellm_graphs.runs.items import PlannedItem, Unrecorded
from rolellm_graphs.studio.choosing import (
    MaxTokens,
    ModelSpec,
    PersonaName,
    Seed,
    Temperature,
    build,
    cached_model_for_many,
)


@dataclass(frozen=True, kw_only=True)
class RoleGPTChoice:
    """The persona, the model, the strategy and the number of answers."""

    persona: PersonaName = "sherlock-holmes"
    model: ModelSpec = None
    temperature: Temperature = None
    max_tokens: MaxTokens = 160
    strategy: Literal["zero-shot", "few-shot-prompt", "few-shot-dialogue"] = STRATEGY
    samples: Annotated[int, Field(ge=1, description="Answers to the instruction.")] = 2
    seed: Seed = 0


class RowInput(TypedDict):
    """The graph's input."""

    instruction: str


class RowOutput(TypedDict):
    """The graph's output."""

    answers: list[dict[str, Any]]


class InstructionState(TypedDict):
    """The graph's state: a `RowState` that is not kept between calls."""

    instruction: str
    wanted: list[PlannedItem]
    answers: list[dict[str, Any]]


InstructionGraph = CompiledStateGraph[InstructionState, RoleGPTChoice, RowInput, RowOutput]


async def rolegpt(config: RunnableConfig) -> InstructionGraph:
    """The RoleGPT graph of a run's configuration, after a node that plans one row."""
    return await build(config, RoleGPTChoice, _graph)


def _graph(choice: RoleGPTChoice) -> InstructionGraph:
    spec = choice.model or load_settings().model
    model = cached_model_for_many(spec, temperature=choice.temperature, max_tokens=choice.max_tokens)
    persona = load_persona(choice.persona)
    voice = persona_answer_graph(
        persona, choice.strategy, Unrecorded(model), model_name=spec, seed=choice.seed
    )

    def plan(state: RowInput) -> RowState:
        if not state.get("instruction", "").strip():
            raise MessageError('There is no instruction to answer; put {"instruction": "…"} in.')
        key = f"{persona.id}/{choice.strategy}"
        wanted = [PlannedItem(number=number, key=f"{key}/{number}") for number in range(choice.samples)]
        return RowState(wanted=wanted, answers=[])

    builder = StateGraph(
        InstructionState, context_schema=RoleGPTChoice, input_schema=RowInput, output_schema=RowOutput
    )
    builder.add_node("plan", plan, input_schema=RowInput)
    builder.add_node("answer", voice)
    return builder.set_entry_point("plan").add_edge("plan", "answer").compile(name="rolegpt")
