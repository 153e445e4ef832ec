"""What is known about a model: its context and its abilities."""

from typing import Any

from langchain_core.language_models import BaseChatModel

from rolellm_agents.models.catalog import resolve_model
from rolellm_agents.models.local import LocalModel
from rolellm_agents.models.server_details import Ability, ServerDetails
from rolellm_agents.models.servers import served_models
from rolellm_graphs.server.tool_use import ToolUse

_LOCAL = "local"
_PROBE: dict[str, Any] = {"title": "probe", "description": "A probe.", "type": "object", "properties": {}}


def details_of(spec: str) -> ServerDetails | None:
    """What a server on this machine states about its model; None for other models.

    Args:
        spec: a model spec, or a name from `models.toml`. The servers are asked, which takes about 150 ms.

    Raises:
        ModelError: there is no such name.
        SettingsError: `models.toml` cannot be used.
    """
    resolved = spec if ":" in spec else resolve_model(spec).spec
    provider, _, name = resolved.partition(":")
    if provider != _LOCAL:
        return None
    stated = (model.details for model in served_models() if model.name == name)
    return next(stated, ServerDetails())


def context_of(model: BaseChatModel, details: ServerDetails | None) -> int | None:
    """The tokens of a model's context; None if unknown."""
    stated = details.context if details else None
    known = stated or getattr(model, "n_ctx", None) or _profile_of(model).get("max_input_tokens")
    return known if isinstance(known, int) else None


def abilities_of(model: BaseChatModel, tools: ToolUse, details: ServerDetails | None) -> list[Ability]:
    """What a model is known to be able to do; an ability that is missing may only be unknown."""
    profile = _profile_of(model)
    stated = details.abilities if details else ()
    known: list[tuple[Ability, object]] = [
        ("tools", tools != "ignore"),
        ("JSON", isinstance(model, LocalModel) or profile.get("structured_output") or "JSON" in stated),
        ("reasoning", profile.get("reasoning_output") or "reasoning" in stated),
    ]
    return [ability for ability, has in known if has]


def can_prescribe(model: BaseChatModel) -> bool:
    """Whether the form of a model's answers can be prescribed."""
    if isinstance(model, LocalModel):
        return True
    try:
        model.with_structured_output(_PROBE)
    except NotImplementedError:
        return False
    return True


def _profile_of(model: BaseChatModel) -> dict[str, Any]:
    return dict(getattr(model, "profile", None) or {})
