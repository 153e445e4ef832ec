"""The Context-Instruct graph for `langgraph dev`; its input is the index of a character's request."""

from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field
from typing_extensions import TypedDict

from rolellm_agents.config.settings import DEFAULT_USER, load_settings
from rolellm_agents.errors import SettingsError
from rolellm_agents.generation.characters import read_character
from rolellm_agents.persona import load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_graphs.generate.context_instruct import QUESTIONS, PassState, character_graph, pass_state
from rolellm_graphs.runs.items import PlannedItem, Unrecorded, is_embedded_model
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
class ContextChoice:
    """The character, and the model that writes and answers the questions."""

    persona: PersonaName = "sherlock-holmes"
    model: ModelSpec = None
    temperature: Temperature = None
    max_tokens: MaxTokens = 160
    questions: Annotated[
        int, Field(ge=1, description="The maximum number of questions of one request.")
    ] = QUESTIONS
    segment_tokens: Annotated[
        int, Field(ge=50, description="The maximum length of a segment of the profile in tokens.")
    ] = 800
    guided: Annotated[
        bool | None,
        Field(
            description="Prescribe how questions begin, for small models; "
            "when empty, only for the embedded model."
        ),
    ] = None
    seed: Seed = 0


class PassInput(TypedDict, total=False):
    """The graph's input."""

    place: int
    """The index of the request among the character's requests; defaults to 0."""


class PassOutput(TypedDict):
    """The graph's output."""

    questions: list[dict[str, Any]]
    answers: list[dict[str, Any]]


class PassByPlace(TypedDict):
    """The graph's state: a `PassState` that is not kept between calls."""

    place: int
    wanted: PlannedItem
    wanted_answers: list[PlannedItem]
    questions: list[dict[str, Any]]
    answers: list[dict[str, Any]]


PassGraph = CompiledStateGraph[PassByPlace, ContextChoice, PassInput, PassOutput]


async def context_instruct(config: RunnableConfig) -> PassGraph:
    """The Context-Instruct graph of a run's configuration, after a node that plans one request."""
    return await build(config, ContextChoice, _graph)


def _graph(choice: ContextChoice) -> PassGraph:
    spec = choice.model or load_settings().model
    model = cached_model_for_many(spec, temperature=choice.temperature, max_tokens=choice.max_tokens)
    persona = with_macros(load_persona(choice.persona), DEFAULT_USER)
    character = read_character(persona, script=None, most=choice.segment_tokens)
    talk = character_graph(
        character,
        Unrecorded(model),
        questions=choice.questions,
        guided=is_embedded_model(model) if choice.guided is None else choice.guided,
        model_name=spec,
        seed=choice.seed,
    )

    def plan(state: PassInput) -> PassState:
        place = state.get("place") or 0
        if not 0 <= place < len(character.passes):
            raise SettingsError(
                f"{persona.name} has no request {place}; give a “place” from 0 to "
                f"{len(character.passes) - 1}."
            )
        return pass_state(character, place, first=0, most=choice.questions)

    builder = StateGraph(
        PassByPlace, context_schema=ContextChoice, input_schema=PassInput, output_schema=PassOutput
    )
    builder.add_node("plan", plan, input_schema=PassInput)
    builder.add_node("interview", talk)
    return builder.set_entry_point("plan").add_edge("plan", "interview").compile(name="context_instruct")
