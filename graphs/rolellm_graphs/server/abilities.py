"""What is known about a model without asking it: its context and its abilities."""

from typing import Any

from langchain_core.language_models import BaseChatModel

from rolellm_agents.models.local import LocalModel
from rolellm_agents.models.server_details import Ability
from rolellm_graphs.server.tool_use import ToolUse


def context_of(model: BaseChatModel) -> int | None:
    """The tokens of a model's context; None if unknown."""
    known = getattr(model, "n_ctx", None) or _profile_of(model).get("max_input_tokens")
    return known if isinstance(known, int) else None


def abilities_of(model: BaseChatModel, tools: ToolUse) -> list[Ability]:
    """What a model is known to be able to do; an ability that is missing may only be unknown."""
    profile = _profile_of(model)
    known: list[tuple[Ability, object]] = [
        ("tools", tools != "ignore"),
        ("JSON", isinstance(model, LocalModel) or profile.get("structured_output")),
        ("reasoning", profile.get("reasoning_output")),
    ]
    return [ability for ability, has in known if has]


def _profile_of(model: BaseChatModel) -> dict[str, Any]:
    return dict(getattr(model, "profile", None) or {})
