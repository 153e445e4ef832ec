"""The configuration of a Studio run, and the models that are kept between runs."""

import asyncio
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Annotated, Final, TypeAlias, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from pydantic import Field

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.prompting.prompts import load_prompts
from rolellm_agents.text.language import Language
from rolellm_agents.text.words import weight
from rolellm_graphs.role.call_context import configured
from rolellm_graphs.runs.items import AT_ONCE, prepared

PersonaName: TypeAlias = Annotated[
    str, Field(description="A persona's id, name or path; “rolellm persona list” shows them.")
]
ModelSpec: TypeAlias = Annotated[
    str | None,
    Field(
        description="A model spec such as llamacpp:smollm2, or a name from models.toml; "
        "that of your settings when empty."
    ),
]
Temperature: TypeAlias = Annotated[
    float | None, Field(ge=0, le=5, description="The sampling temperature; the model's own when empty.")
]
MaxTokens: TypeAlias = Annotated[
    int | None,
    Field(ge=1, description="The maximum length of an answer in tokens; the model's own when empty."),
]
Seed: TypeAlias = Annotated[int, Field(description="The sampling seed; another seed gives other answers.")]

_KEPT: Final = 4
"""The most cached models of each kind; each may hold weights and a KV cache."""
_LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
_Choice = TypeVar("_Choice")
_Graph = TypeVar("_Graph")


async def build(config: RunnableConfig, choice: type[_Choice], make: Callable[[_Choice], _Graph]) -> _Graph:
    """Build a run's graph in a thread.

    The fields of the dataclass `choice` are read from the configurable values of the run's config.

    Raises:
        ValueError: a persona, scene or model does not exist, or a value has the wrong type.
    """

    def made() -> _Graph:
        _read_texts()
        return make(chosen(config, choice))

    try:
        return await asyncio.to_thread(made)
    except RoleLLMError as error:
        # For other error types the server reports only the type's name.
        raise ValueError(str(error)) from error


def chosen(config: RunnableConfig, choice: type[_Choice]) -> _Choice:
    """A run's configurable values as a dataclass; empty values are ignored.

    Raises:
        SettingsError: a value has the wrong type for its field.
    """
    return configured(choice, config.get("configurable", {}))


@lru_cache(maxsize=_KEPT)
def cached_model(
    spec: str,
    *,
    temperature: float | None = None,
    max_tokens: int | None = None,
    conversations: int = 1,
) -> BaseChatModel:
    """A model that stays loaded for later runs, with its KV cache; see `get_model`.

    Raises:
        ModelError: there is no such model.
    """
    return get_model(spec, temperature=temperature, max_tokens=max_tokens, conversations=conversations)


@lru_cache(maxsize=_KEPT)
def cached_model_for_many(
    spec: str, *, temperature: float | None = None, max_tokens: int | None = None
) -> BaseChatModel:
    """The same with enough sequences for the concurrent requests of generators and judges.

    Raises:
        ModelError: there is no such model.
    """
    return prepared(get_model(spec, temperature=temperature, max_tokens=max_tokens), AT_ONCE)


@cache
def _read_texts() -> None:
    """Read the files that nodes would otherwise read in the server's event loop."""
    for language in _LANGUAGES:
        load_prompts(language)
        weight("", language)
