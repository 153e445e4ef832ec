"""What model servers state about their models beyond OpenAI's protocol: context and abilities.

Sources: Ollama's API (docs.ollama.com/api), LM Studio's REST API (lmstudio.ai/docs/developer/rest), the
README of llama.cpp's server, and KoboldCpp's API page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Ability = Literal["tools", "JSON", "logprobs", "images", "reasoning"]
Request = Callable[..., Any]
"""Asks a server: `request(path)` or `request(path, body)`. Returns the JSON of its answer, or None."""


@dataclass(frozen=True)
class ServerDetails:
    """What is known about a model of a server."""

    context: int | None = None
    """The tokens of its context; None if the server does not state it."""
    abilities: tuple[Ability, ...] = ()
    """What it is known to be able to do; an ability that is missing may only be unknown."""


_NOTHING: Final = ServerDetails()


def server_details(
    server: str, entries: Sequence[Mapping[str, Any]], request: Request
) -> dict[str, ServerDetails]:
    """The details of a server's models, by name.

    Args:
        server: the name of the program.
        entries: the models in its answer to `/v1/models`.
        request: asks the server.
    """
    names = [entry["id"] for entry in entries]
    match server:
        case "Ollama":
            return _ollama(names, request)
        case "LM Studio":
            return _lm_studio(names, request)
        case "llama-server":
            found = _llama_server(request("/props"))
            return {entry["id"]: _with_context(entry, found) for entry in entries}
        case "KoboldCpp":
            return dict.fromkeys(names, _koboldcpp(request))
        case "vLLM" | "SGLang":
            found = ServerDetails(abilities=("JSON", "logprobs"))
            return {entry["id"]: _with_context(entry, found) for entry in entries}
        case _:
            return {entry["id"]: _with_context(entry, _NOTHING) for entry in entries}


def _with_context(entry: Mapping[str, Any], found: ServerDetails) -> ServerDetails:
    """The details with the context that the list of models states, if they have none."""
    meta = _mapping(entry.get("meta"))
    context = found.context or _count(entry.get("max_model_len")) or _count(meta.get("n_ctx"))
    return ServerDetails(context, found.abilities)


def _ollama(names: Sequence[str], request: Request) -> dict[str, ServerDetails]:
    # A model has the context it was loaded with, which is often much smaller than it could be.
    loaded = {
        str(one.get("name")): _count(one.get("context_length"))
        for one in _mappings(_mapping(request("/api/ps")).get("models"))
    }
    return {
        name: ServerDetails(loaded.get(name), _ollama_abilities(request("/api/show", {"model": name})))
        for name in names
    }


def _ollama_abilities(shown: Any) -> tuple[Ability, ...]:
    stated = _mapping(shown).get("capabilities")
    stated = stated if isinstance(stated, list) else []
    words: dict[str, Ability] = {"tools": "tools", "vision": "images", "thinking": "reasoning"}
    return (*(ability for word, ability in words.items() if word in stated), "JSON")


def _lm_studio(names: Sequence[str], request: Request) -> dict[str, ServerDetails]:
    listed = {
        str(one.get("key")): one for one in _mappings(_mapping(request("/api/v1/models")).get("models"))
    }
    return {name: _lm_studio_model(listed.get(name, {})) for name in names}


def _lm_studio_model(entry: Mapping[str, Any]) -> ServerDetails:
    loaded = [_mapping(one.get("config")) for one in _mappings(entry.get("loaded_instances"))]
    context = _count(loaded[0].get("context_length")) if loaded else None
    stated = _mapping(entry.get("capabilities"))
    words: dict[str, Ability] = {"trained_for_tool_use": "tools", "vision": "images"}
    return ServerDetails(context, (*(words[word] for word in words if stated.get(word) is True), "JSON"))


def _llama_server(props: Any) -> ServerDetails:
    stated = _mapping(props)
    abilities: list[Ability] = ["JSON", "logprobs"]
    if _mapping(stated.get("chat_template_caps")).get("supports_tool_calls") is True:
        abilities.insert(0, "tools")
    if _mapping(stated.get("modalities")).get("vision") is True:
        abilities.append("images")
    context = _count(_mapping(stated.get("default_generation_settings")).get("n_ctx"))
    return ServerDetails(context, tuple(abilities))


def _koboldcpp(request: Request) -> ServerDetails:
    context = _count(_mapping(request("/api/extra/true_max_context_length")).get("value"))
    sees = _mapping(request("/api/extra/version")).get("vision") is True
    return ServerDetails(context, ("JSON", "logprobs", "images") if sees else ("JSON", "logprobs"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _count(value: Any) -> int | None:
    """A number of tokens; None if the value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
