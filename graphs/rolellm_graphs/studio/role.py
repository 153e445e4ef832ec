"""The role graph for `langgraph dev`: one persona, one conversation."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from langchain_core.runnables import RunnableConfig
from pydantic import Field

from rolellm_agents.config.settings import DEFAULT_USER, load_settings
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_graphs.role.context import RoleContext
from rolellm_graphs.role.graph import RoleGraph, role_graph
from rolellm_graphs.studio.choosing import (
    MaxTokens,
    ModelSpec,
    PersonaName,
    Temperature,
    build,
    cached_model,
)


@dataclass(frozen=True, kw_only=True)
class RoleChoice(RoleContext):
    """The persona, the model and the options of the answer."""

    persona: PersonaName = "sherlock-holmes"
    model: ModelSpec = None
    temperature: Temperature = None
    max_tokens: MaxTokens = None
    strategy: Annotated[
        str | None,
        Field(
            description="zero-shot, few-shot-prompt, few-shot-dialogue, system or retrieval; "
            "when empty, that of your settings, or the model's preferred strategy."
        ),
    ] = None
    user: Annotated[str, Field(description="The user's name for the persona.")] = DEFAULT_USER


async def role(config: RunnableConfig) -> RoleGraph:
    """The role graph of a run's configuration."""
    return await build(config, RoleChoice, _graph)


def _graph(choice: RoleChoice) -> RoleGraph:
    settings = load_settings()
    spec = choice.model or settings.model
    return role_graph(
        choice.persona,
        model=spec,
        strategy=choice.strategy or settings.strategy or default_strategy(spec),
        user=choice.user,
        make=partial(cached_model, temperature=choice.temperature, max_tokens=choice.max_tokens),
        context_schema=RoleChoice,
    )
