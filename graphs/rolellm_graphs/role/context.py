"""The options of one call of a role graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import InstanceOf
from pydantic.json_schema import SkipJsonSchema

from rolellm_agents.cards import Lorebook
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import Passage


@dataclass(frozen=True, kw_only=True)
class RoleContext:
    """Options of one call that are not part of the conversation.

    `persona`, `user`, `model`, `strategy`, `lorebooks` and `memories` replace what `role_graph` was given;
    None keeps it.
    """

    persona: str | SkipJsonSchema[InstanceOf[Persona]] | None = None
    """Who answers: a persona, or its id, name or path."""
    user: str | None = None
    """The display name of the person who talks with it."""
    model: str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None = None
    """A LangChain chat model, or a model spec."""
    strategy: str | SkipJsonSchema[Strategy] | None = None
    """A strategy or its name."""
    lorebooks: SkipJsonSchema[Sequence[InstanceOf[Lorebook]] | None] = None
    """Further lorebooks beside the persona's own."""
    memories: Sequence[Passage] | None = None
    """Passages of earlier conversations."""

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
