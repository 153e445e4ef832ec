"""What using a model does outside this program, in words for a question to the user."""

import os
from urllib.parse import urlsplit

from rolellm_agents.models.names import named_models

_OPENAI = "https://api.openai.com/v1"


def reach_of(spec: str, *, base_url: str | None = None) -> str:
    """What a model reads and where it sends prompts; empty if it does neither.

    Args:
        spec: a model spec, or a name from `models.toml`.
        base_url: the server that the command line names for `openai:` models.

    Raises:
        SettingsError: `models.toml` cannot be used.
    """
    provider, colon, name = spec.partition(":")
    if not colon:
        return _reach_of_own_name(spec, base_url)
    match provider:
        case "scripted":
            return ""
        case "llamacpp":
            return _reach_of_gguf(name)
        case "openai":
            return _reach_of_server(base_url, "OPENAI_API_KEY")
        case "local":
            return "sends the prompts to a server on this machine"
        case "huggingface":
            return f"loads {name}, and downloads it from the Hugging Face Hub if it is not here"
        case _:
            return f"may send the prompts, and your key, to wherever the provider {provider!r} sends them"


def _reach_of_own_name(name: str, base_url: str | None) -> str:
    named = named_models().get(name)
    if named is None:
        return f"is the name {name!r}, which your models.toml does not have"
    given = base_url or named.options.get("base_url")
    if named.spec.startswith("openai:"):
        variable = named.options.get("api_key_env", "OPENAI_API_KEY")
        what = _reach_of_server(given if isinstance(given, str) else None, str(variable))
    else:
        what = reach_of(named.spec)
    return f"is your own {named.spec}" + (f", which {what}" if what else "")


def _reach_of_gguf(name: str) -> str:
    from rolellm_agents.models.llamacpp.files.bundled import BUNDLED

    if name in BUNDLED:
        return ""
    base, _, adapter = name.partition("+")
    files = [file for file in (base, adapter) if file and file not in BUNDLED]
    return f"loads {' and '.join(files) or 'a file'}"


def _reach_of_server(base_url: str | None, variable: str) -> str:
    endpoint = _without_credentials(base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI)
    key = f", with the key in {variable}," if os.environ.get(variable) else ""
    return f"sends the prompts{key} to {endpoint}"


def _without_credentials(url: str) -> str:
    try:
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    except ValueError:
        return url
