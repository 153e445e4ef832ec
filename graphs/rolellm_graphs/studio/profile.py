"""The profile graph for `langgraph dev`, which builds a persona from a script."""

from dataclasses import dataclass
from typing import Annotated

from langchain_core.runnables import RunnableConfig
from pydantic import Field

from rolellm_graphs.profile import ProfileGraph, profile_graph
from rolellm_graphs.studio.choosing import MaxTokens, Temperature, build, cached_model_for_many


@dataclass(frozen=True, kw_only=True)
class ProfileChoice:
    """The model that reads the script."""

    model: Annotated[
        str | None,
        Field(
            description="A model spec, or a name from models.toml; it writes knowledge and a description. "
            "When empty, the profile is extracted from the script without a model."
        ),
    ] = None
    temperature: Temperature = 0.3
    max_tokens: MaxTokens = 600


async def profile(config: RunnableConfig) -> ProfileGraph:
    """The profile graph of a run's configuration; its input `request` has the script and the role."""
    return await build(config, ProfileChoice, _graph)


def _graph(choice: ProfileChoice) -> ProfileGraph:
    model = choice.model and cached_model_for_many(
        choice.model, temperature=choice.temperature, max_tokens=choice.max_tokens
    )
    return profile_graph(model=model or None).copy({"context_schema": ProfileChoice})
