"""Models with the values of a preset. What a model does not take is left out, and the model says so."""

import os
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel

from rolellm_agents.config.settings import Settings
from rolellm_agents.models.catalog import get_model, resolve_model
from rolellm_agents.models.presets.files import chosen_preset
from rolellm_agents.models.presets.preset import NEEDS, SAMPLERS, Preset
from rolellm_agents.models.server_samplers import SERVER_SAMPLERS

_LEFT_OUT = "samplers_left_out"
"""The key of a model's metadata that lists what it does not take."""
_ALL_TAKE = frozenset({"temperature", "max_tokens"})
_OPENAI = _ALL_TAKE | {"top_p", "frequency_penalty", "presence_penalty", "stop"}


def samplers_of(model: str, base_url: str | None = None) -> frozenset[str]:
    """The samplers that a model takes.

    Args:
        model: a spec, or a name from `models.toml`.
        base_url: the server of an `openai:` model, if it is given.

    Raises:
        ModelError: there is no such name.
        SettingsError: `models.toml` cannot be used.
    """
    named = None if ":" in model else resolve_model(model)
    provider = (named.spec if named else model).partition(":")[0]
    server = base_url or (named and named.options.get("base_url")) or os.environ.get("OPENAI_BASE_URL")
    match provider:
        case "llamacpp":
            return frozenset(SAMPLERS)
        case "local":
            return _OPENAI | SERVER_SAMPLERS
        case "openai":
            return _OPENAI | SERVER_SAMPLERS if server else _OPENAI
        case _:
            return _ALL_TAKE


def model_maker(
    settings: Settings,
    *,
    preset: Preset | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    base_url: str | None = None,
    thinking: str | None = None,
) -> Callable[..., BaseChatModel]:
    """A function that creates models by name with the user's sampling values, and `get_model`'s options.

    Args:
        settings: the user's settings, for values that neither an argument nor the preset sets.
        preset: the chosen preset; it overrides the settings.
        temperature: overrides the preset.
        max_tokens: overrides the preset.
        base_url: the server of `openai:` models.
        thinking: how much a reasoning model thinks.
    """
    usual = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
    given = {"temperature": temperature, "max_tokens": max_tokens}
    values = {**usual, **(preset.values if preset else {}), **_set(given)}
    more = {"base_url": base_url, "thinking": thinking}
    return partial(_model_with, _set(values), _set(more))


def _set(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _model_with(values: dict[str, Any], more: dict[str, Any], name: str, **options: Any) -> BaseChatModel:
    taken = samplers_of(name, more.get("base_url")) if set(values) - _ALL_TAKE else _ALL_TAKE
    made = get_model(
        name, **{**{one: value for one, value in values.items() if one in taken}, **more, **options}
    )
    if left_out := [one for one in values if one not in taken]:
        made.metadata = {**(made.metadata or {}), _LEFT_OUT: left_out}
    return made


def present_preset(
    settings: Settings, name: str, *, model: str | None = None, base_url: str | None = None
) -> Preset:
    """The sampling values that are in use now, as a preset.

    Args:
        settings: the user's settings.
        name: the name of the preset.
        model: the model in use; that of the settings when None.
        base_url: the server of an `openai:` model.

    Raises:
        RoleLLMError: the model or the preset of the settings cannot be used.
    """
    used = model or settings.model
    made = model_maker(settings, preset=chosen_preset(settings), base_url=base_url)(used)
    sent = getattr(made, "extra_body", None) or {}
    values = {one: getattr(made, one, sent.get(one)) for one in samplers_of(used, base_url)}
    if values.get("max_tokens") is None and settings.max_tokens is not None:
        values["max_tokens"] = settings.max_tokens
    # The model's default of a value that has no effect now would only be noise in the file.
    idle = [one for one, needed in NEEDS.items() if not values.get(needed)]
    kept = {one: value for one, value in _set(values).items() if one not in idle}
    return Preset.model_validate({"name": name, **kept})


def left_out_of(model: BaseChatModel) -> list[str]:
    """The values of the preset that a model does not take."""
    return list((model.metadata or {}).get(_LEFT_OUT, ()))


def left_out_note(model: BaseChatModel, name: str) -> str:
    """A sentence about the values of the preset that a model does not take; empty if it takes all."""
    left_out = left_out_of(model)
    return not_taken(left_out, name) if left_out else ""


def not_taken(samplers: Collection[str], model: str) -> str:
    """A sentence about samplers that a model does not take."""
    *others, last = samplers
    listed = f"{', '.join(others)} and {last}" if others else last
    stay = "they are left out" if others else "it is left out"
    return f"The model {model} does not take {listed} of the preset; {stay}."
