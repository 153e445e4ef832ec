"""`get_model("provider:name")` returns a LangChain chat model for a model spec or a user's own name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import ValidationError

from rolellm_agents.errors import ModelError, RoleLLMError
from rolellm_agents.models.names import NamedModel, named_models
from rolellm_agents.plugins import load_plugin, plugin_names, plugin_version
from rolellm_agents.text import did_you_mean, one_line

HUB = "hf:"
"""The beginning of names of the Hugging Face Hub, as in `llamacpp:hf:ORG/REPO:QUANT`."""
_USUAL_CONVERSATIONS = 4
"""Conversations for which a model's default cache has room."""
_MIB_PER_CONVERSATION = 48
"""Cache for 2,100 tokens of the embedded model; larger models keep fewer conversations in it."""


@dataclass(frozen=True)
class Provider:
    """A source of models, such as a library or a kind of server."""

    name: str
    example: str
    help: str
    make: Callable[[str, dict[str, Any]], BaseChatModel]
    """Creates the model from the spec's name and the options."""


def get_model(
    name: str,
    *,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    conversations: int = 1,
    context: int | None = None,
    **options: Any,
) -> BaseChatModel:
    """Create a chat model.

    Args:
        name: a spec such as `llamacpp:rolesmol`, `openai:gpt-4o-mini`, `local:qwen3:4b` or
            `huggingface:org/model`, or a name from `models.toml`.
        temperature: sampling temperature; the model's default when None.
        max_tokens: the maximum length of an answer in tokens; the model's default when None.
        seed: sampling seed for repeatable answers, if the model supports seeds.
        conversations: number of parallel conversations; a model in this process sizes its cache for them.
        context: how many tokens the model reads at once, if its provider does not know; not passed on.
        options: further options of the provider, such as `base_url` or `n_ctx`.

    Raises:
        ModelError: there is no such model, it cannot be used here, or it does not accept an option.
        PluginError: the package that provides it cannot be used.
        SettingsError: `models.toml` cannot be used.
    """
    given = {
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed,
        "context": context,
        **options,
    }
    spec = name
    if ":" not in name:
        named = resolve_model(name)
        spec = named.spec
        given = {
            **named.options,
            **{key: value for key, value in given.items() if value is not None},
        }
    provider_name, _, model_name = spec.partition(":")
    chosen = {key: value for key, value in given.items() if value is not None}
    size = _checked_context(name, chosen.pop("context", None))
    if provider_name == "llamacpp" and size:
        chosen = {"n_ctx": size, **chosen}
    if provider_name == "llamacpp" and conversations > _USUAL_CONVERSATIONS:
        chosen = {"cache_mib": conversations * _MIB_PER_CONVERSATION, **chosen}
    try:
        if provider := PROVIDERS.get(provider_name):
            model = provider.make(model_name, chosen)
        elif factory := load_plugin("rolellm.providers", provider_name):
            model = _make_provided(factory, spec, chosen)
        else:
            model = _make_other(spec, chosen)
        return _with_context(model, size) if size else model
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "its options"
        raise ModelError(f"The model {name!r} does not take {where}: {first['msg']}.") from error


def _checked_context(name: str, context: Any) -> int | None:
    if context is None or (isinstance(context, int) and context > 0):
        return context
    raise ModelError(
        f"The model {name!r} takes a whole number of tokens as context, as in context = 32768."
    )


def _with_context(model: BaseChatModel, context: int) -> BaseChatModel:
    """State a model's context in its LangChain profile."""
    model.profile = {**(model.profile or {}), "max_input_tokens": context}
    return model


def describe_model(model: BaseChatModel) -> str:
    """A model's spec, as far as the model object reveals it."""
    params = model._get_ls_params()  # noqa: SLF001 - LangChain has no public method for provider and name
    return f"{params.get('ls_provider', 'model')}:{params.get('ls_model_name') or '?'}"


def describe_sampling(model: BaseChatModel) -> dict[str, Any]:
    """A model's sampling settings, as far as it has attributes for them."""
    sent = getattr(model, "extra_body", None) or {}
    settings = {name: getattr(model, name, sent.get(name)) for name in (*_SAMPLING, *_RARE)}
    return {
        name: value
        for name, value in settings.items()
        if value is not None and value != _RARE.get(name, None)
    }


_SAMPLING = (
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "dry_multiplier",
    "max_tokens",
)


_RARE: Mapping[str, float] = {
    "typical_p": 1,
    "top_n_sigma": 0,
    "xtc_probability": 0,
    "dynatemp_range": 0,
}
"""Samplers that are described when they are on, with the value that is off."""


def resolve_model(name: str) -> NamedModel:
    """The entry of a name in `models.toml`.

    Raises:
        ModelError: there is no such name.
        SettingsError: `models.toml` cannot be used.
    """
    from rolellm_agents.models.recommended import recommended_models

    names = named_models()
    if name in names:
        return names[name]
    if name.endswith(".gguf"):
        raise ModelError(f"There is no model {name!r}; a file is named llamacpp:{name}.")
    if name in (recommended := {one.name for one in recommended_models()}):
        raise ModelError(f"{name} is not on this machine; “rolellm models pull {name}” downloads it.")
    known = [
        *names,
        *recommended,
        *(provider.example for provider in PROVIDERS.values()),
        "llamacpp:smollm2",
    ]
    raise ModelError(
        f"There is no model {name!r}{did_you_mean(name, known)}; a model is named "
        "provider:name, as in llamacpp:rolesmol; “rolellm models list” shows what there is."
    )


def _make_llamacpp(name: str, options: dict[str, Any]) -> BaseChatModel:
    from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
    from rolellm_agents.models.llamacpp.files.bundled import BUNDLED
    from rolellm_agents.models.llamacpp.files.gguf import known_gguf

    _refuse_unknown(
        "llamacpp",
        options,
        set(ChatLlamaCpp.model_fields) - set(BaseChatModel.model_fields) - {"model_path", "adapter_path"},
    )
    if not name:
        raise ModelError("“llamacpp:” needs a file, as in llamacpp:/path/model.gguf.")
    bundled = BUNDLED.get(name)
    base, adapter = (bundled.base, bundled.adapter) if bundled else _split_adapter(name)
    if base.startswith(HUB):
        base = str(_downloaded(base))
    if adapter is not None:
        options = {**options, "adapter_path": adapter}
    if (known := known_gguf(base)) is not None:
        # Models this small lose the thread in long answers (docs/experiments.md), and prefilling more
        # than half of SmolLM2's context is slow.
        temperature = bundled.temperature if bundled else 0.5
        calm = {"temperature": temperature, "min_p": 0.1, "max_tokens": 160, "n_ctx": 4096}
        return ChatLlamaCpp(model_path=known, **{**calm, **options})
    path = Path(base).expanduser()
    if not base.endswith(".gguf") and not path.exists():
        raise ModelError(
            f"There is no model llamacpp:{base}{did_you_mean(base, BUNDLED)}; "
            "name the embedded llamacpp:rolesmol or a file, as in llamacpp:/path/model.gguf."
        )
    return ChatLlamaCpp(model_path=path, **options)


def _split_adapter(name: str) -> tuple[str, Path | None]:
    """Split `base+adapter`; an existing file with a plus in its name is not split."""
    base, plus, adapter = name.rpartition("+")
    if not plus or Path(name).expanduser().exists():
        return name, None
    if not adapter:
        raise ModelError(f"llamacpp:{name} names no adapter; put its file after the plus.")
    return base, _downloaded(adapter) if adapter.startswith(HUB) else Path(adapter).expanduser()


def _downloaded(name: str) -> Path:
    """The file of a model of the hub, which a command has downloaded."""
    from rolellm_agents.models.llamacpp.files.hub_models import downloaded, hub_model

    files = downloaded(hub_model(name))
    if not files:
        raise ModelError(f"{name} is not on this machine; “rolellm models pull {name}” downloads it.")
    return files[0]


def _make_local(name: str, options: dict[str, Any]) -> BaseChatModel:
    from rolellm_agents.models.servers import served_models

    found = served_models()
    for model in found:
        if model.name == name:
            # OpenAI's key is not for whatever listens here.
            own = {"base_url": model.base_url, "api_key_env": "LOCAL_API_KEY"}
            made = _make_openai(name, {**own, **options})
            return _with_context(made, model.details.context) if model.details.context else made
    if not found:
        raise ModelError(
            f"No server on this machine offers {name!r}: nothing answers on the usual ports; start Ollama, "
            "LM Studio or llama-server, or name its address with --base-url and openai:NAME."
        )
    known = [model.name for model in found]
    raise ModelError(
        f"No server on this machine offers {name!r}{did_you_mean(name, known)}; there are "
        f"{', '.join(known)}."
    )


def _make_openai(name: str, options: dict[str, Any]) -> BaseChatModel:
    from rolellm_agents.models.openai_compatible import make_openai
    from rolellm_agents.models.server_samplers import SERVER_SAMPLERS

    own = set(signature(make_openai).parameters) - {"name", "samplers"}
    _refuse_unknown("openai", options, own | SERVER_SAMPLERS)
    return make_openai(name, **options)


def _make_huggingface(name: str, options: dict[str, Any]) -> BaseChatModel:
    try:
        from rolellm_agents.models.huggingface import load_transformers
    except ImportError as error:
        raise ModelError(
            f"huggingface:{name} needs the extra “hf” ({error.name} is missing); "
            "“pip install 'rolellm-agents[hf]'” installs it."
        ) from error
    _refuse_unknown("huggingface", options, set(signature(load_transformers).parameters) - {"name"})
    return load_transformers(name, **options)


def _make_scripted(name: str, options: dict[str, Any]) -> BaseChatModel:
    from rolellm_agents.models.scripted import ScriptedChatModel

    own = {"seconds_per_word", "once"}
    _refuse_unknown("scripted", options, own | {"temperature", "max_tokens", "seed"})
    settings = {key: options[key] for key in own if key in options}
    # A long-running server must not keep every call.
    return ScriptedChatModel(replies=name.split("|") if name else [], kept=64, **settings)


def _make_provided(factory: Callable[..., Any], spec: str, options: dict[str, Any]) -> BaseChatModel:
    """Create a model of another package's provider, and explain its errors."""
    provider, _, name = spec.partition(":")
    package = plugin_version("rolellm.providers", provider)
    try:
        model = factory(name, **options)
    except (RoleLLMError, ValidationError):
        raise
    except Exception as error:  # the package's code may raise anything
        raise ModelError(
            f"The model {spec!r} cannot be used ({one_line(f'{type(error).__name__}: {error}', 300)}); "
            f"its provider comes from {package}."
        ) from error
    if not isinstance(model, BaseChatModel):
        raise ModelError(
            f"The provider {provider!r} of {package} made a {type(model).__name__} and no chat model; "
            "update or uninstall the package."
        )
    return model


def _make_other(spec: str, options: dict[str, Any]) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    provider = spec.partition(":")[0]
    try:
        model = init_chat_model(spec, **{**_CACHING.get(provider, {}), **options})
    except Exception as error:  # each provider's package raises its own
        if "Unable to infer" in str(error) or "Unsupported provider" in str(error):
            known = [*PROVIDERS, *plugin_names("rolellm.providers")]
            raise ModelError(
                f"There is no provider {provider!r}{did_you_mean(provider, known)}; known are "
                f"{', '.join(known)} and those of LangChain's init_chat_model."
            ) from error
        raise ModelError(
            f"The model {spec!r} cannot be used ({one_line(str(error), 300)}); "
            "do what its package asks for, or use another model."
        ) from error
    if not isinstance(model, BaseChatModel):
        raise ModelError(f"The spec {spec!r} names no single model.")
    return model


_CACHING: dict[str, dict[str, Any]] = {
    "anthropic": {"model_kwargs": {"cache_control": {"type": "ephemeral"}}},
}
"""Options for servers that cache only marked prompts. Anthropic puts this mark at the end of each request,
so the next request of a conversation finds everything before its last line in the cache."""


def _refuse_unknown(provider: str, options: dict[str, Any], known: set[str]) -> None:
    for key in options:
        if key not in known:
            raise ModelError(
                f"Models of {provider} take no {key!r}{did_you_mean(key, known)}; "
                f"they know {', '.join(sorted(known))}."
            )


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider("llamacpp", "llamacpp:rolesmol", "GGUF files through llama.cpp", _make_llamacpp),
        Provider("openai", "openai:gpt-4o-mini", "any OpenAI-compatible server", _make_openai),
        Provider("local", "local:qwen3:4b", "a model of a server on this machine", _make_local),
        Provider(
            "huggingface",
            "huggingface:org/model",
            "transformers, in this process",
            _make_huggingface,
        ),
        Provider("scripted", "scripted:Hello.|Goodbye.", "fixed replies, for tests", _make_scripted),
    )
}
