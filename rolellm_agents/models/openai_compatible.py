"""Servers with the OpenAI API: OpenAI's own, vLLM, llama-server, Ollama, LM Studio and others."""

import os
from typing import Any

import httpx2
import openai
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from rolellm_agents.errors import ModelError

_CONNECT_SECONDS = 10.0


class ChatCompatible(ChatOpenAI):
    """A model on a server other than OpenAI's.

    It sends `max_tokens`, which all servers know. Ollama, for example, silently ignores OpenAI's newer
    `max_completion_tokens` (ollama#7125).
    """

    def _get_request_payload(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(*args, **kwargs)
        if "max_completion_tokens" in payload:
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        return payload


def make_openai(
    name: str,
    *,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    timeout: float = 120.0,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
) -> ChatOpenAI:
    """Create a model that uses an OpenAI-compatible endpoint.

    Args:
        name: the model's name as the server knows it.
        base_url: the endpoint, usually ending in `/v1`; `OPENAI_BASE_URL` or OpenAI's own when None.
        api_key_env: the environment variable that holds the key; only OpenAI's own endpoint
            requires one.
        timeout: seconds to wait for the next part of an answer.
        temperature: sampling temperature; the server's default when None.
        max_tokens: the maximum length of an answer in tokens; the server's default when None.
        seed: sampling seed, for servers that support seeds.

    Raises:
        ModelError: the key for OpenAI's own endpoint is missing, or the base URL or an option is invalid.
    """
    if not name:
        raise ModelError("“openai:” needs a model's name, as in openai:gpt-4o-mini.")
    endpoint = base_url or os.environ.get("OPENAI_BASE_URL")
    if not isinstance(api_key_env, str):
        raise ModelError(f"The model 'openai:{name}' takes the name of a variable as api_key_env.")
    if not isinstance(timeout, int | float):
        raise ModelError(f"The model 'openai:{name}' takes a number of seconds as timeout.")
    key = os.environ.get(api_key_env)
    if not key and not endpoint:
        raise ModelError(
            f"openai:{name} needs an API key: set {api_key_env}, or name your own server with "
            "--base-url (base_url in models.toml)."
        )
    _check_url(endpoint)
    # Each call opens its own connection, because a kept connection belongs to the event loop that created
    # it, and a call from another loop fails.
    per_call = openai.DefaultAsyncHttpxClient(limits=httpx2.Limits(max_keepalive_connections=0))
    chat = ChatCompatible if endpoint else ChatOpenAI
    return chat(
        model=name,
        base_url=endpoint,
        api_key=SecretStr(key or "none"),
        use_responses_api=False,
        stream_usage=True,
        max_retries=1,
        timeout=openai.Timeout(timeout, connect=_CONNECT_SECONDS),
        temperature=temperature,
        max_completion_tokens=max_tokens,
        seed=seed,
        http_async_client=per_call,
    )


def _check_url(endpoint: str | None) -> None:
    try:
        usable = endpoint is None or httpx2.URL(endpoint).scheme in {"http", "https"}
    except (httpx2.InvalidURL, TypeError):
        usable = False
    if not usable:
        raise ModelError(f"The base URL {endpoint!r} must begin with http:// or https://.")
