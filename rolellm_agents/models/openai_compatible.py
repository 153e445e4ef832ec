"""Servers with the OpenAI API: OpenAI's own, vLLM, llama-server, Ollama, LM Studio and others."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from http import HTTPStatus
from typing import Any, ClassVar, get_args

import httpx2
import openai
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr, SecretStr

from rolellm_agents.errors import ModelError
from rolellm_agents.models.reasoning import (
    REASONING,
    ReasoningChunks,
    Thinking,
    opens_reasoning,
    separated_result,
)
from rolellm_agents.text.masking import masked

_CONNECT_SECONDS = 10.0
_TEMPLATE_SECONDS = 0.5
_THINKERS = re.compile(r"deepseek-r1|\bqwq|[-_]think(?:ing)?\b|[-_]r1\b", re.IGNORECASE)
"""Names of models whose prompts open the reasoning: a server without a parser sends only its end."""


class ChatCompatible(ChatOpenAI):
    """A model on a server other than OpenAI's.

    Reasoning is apart from the answer, whether the server sends it as `reasoning_content` (vLLM, SGLang,
    llama-server, DeepSeek), as `reasoning` (OpenRouter, Ollama), or within the text.

    It sends `max_tokens`, which all servers know. Ollama, for example, silently ignores OpenAI's newer
    `max_completion_tokens` (ollama#7125).
    """

    separates_reasoning: ClassVar[bool] = True

    _opens: bool | None = PrivateAttr(default=None)
    """Whether the server's prompts open the reasoning, so that it may send a closing mark alone.

    None before the first answer.
    """

    def _get_request_payload(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(*args, **kwargs)
        if "max_completion_tokens" in payload:
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        return payload

    def _find_opening(self) -> None:
        """Find out before the first answer whether the prompts open the reasoning."""
        if self._opens is None:
            key = (
                self.openai_api_key.get_secret_value() if isinstance(self.openai_api_key, SecretStr) else ""
            )
            prompt = _templated(str(self.openai_api_base or ""), key)
            self._opens = bool(_THINKERS.search(self.model_name)) or opens_reasoning(prompt)

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self._find_opening()
        separator = ReasoningChunks(opened=bool(self._opens))
        for chunk in super()._stream(*args, **kwargs):
            yield from separator.push(chunk)
        yield from separator.end()
        self._opens = self._opens if separator.opens is None else separator.opens

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        if self._opens is None:
            await asyncio.to_thread(self._find_opening)
        separator = ReasoningChunks(opened=bool(self._opens))
        async for chunk in super()._astream(*args, **kwargs):
            for part in separator.push(chunk):
                yield part
        for part in separator.end():
            yield part
        self._opens = self._opens if separator.opens is None else separator.opens

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], *args: Any, **kwargs: Any
    ) -> ChatGenerationChunk | None:
        converted = super()._convert_chunk_to_generation_chunk(chunk, *args, **kwargs)
        choices = chunk.get("choices") or [{}]
        if converted is not None and (reasoning := _reasoning_in(choices[0].get("delta"))):
            converted.message.additional_kwargs[REASONING] = reasoning
        return converted

    def _create_chat_result(self, response: Any, *args: Any, **kwargs: Any) -> ChatResult:
        result = super()._create_chat_result(response, *args, **kwargs)
        answer = response if isinstance(response, dict) else response.model_dump(warnings=False)
        for generation, choice in zip(result.generations, answer["choices"], strict=True):
            if reasoning := _reasoning_in(choice["message"]):
                generation.message.additional_kwargs[REASONING] = reasoning
        return separated_result(result)


def _templated(base_url: str, key: str) -> str:
    """The prompt that llama-server makes of a message; empty for other servers, and for hosted services.

    Hosted services, which have encrypted addresses, separate reasoning themselves.
    """
    if not base_url.startswith("http://"):
        return ""
    try:
        answer = httpx2.post(
            f"{base_url.rstrip('/').removesuffix('/v1')}/apply-template",
            json={"messages": [{"role": "user", "content": "Good day."}]},
            headers={"Authorization": f"Bearer {key}"},
            timeout=_TEMPLATE_SECONDS,
        )
        return str(answer.json()["prompt"]) if answer.status_code == HTTPStatus.OK else ""
    except (httpx2.HTTPError, ValueError, LookupError, TypeError):
        return ""


def _reasoning_in(sent: Any) -> str:
    """The reasoning in a message or a delta of a server."""
    found = (sent.get("reasoning_content") or sent.get("reasoning")) if isinstance(sent, dict) else None
    return found if isinstance(found, str) else ""


def _thinking_options(thinking: Thinking, *, own_server: bool) -> dict[str, Any]:
    """The fields of a request that switch reasoning on or off.

    OpenAI, Ollama and vLLM read `reasoning_effort`; vLLM, SGLang and llama-server pass
    `chat_template_kwargs` to the model's chat template.
    """
    effort = "none" if thinking == "off" else thinking
    switch = {"enable_thinking": thinking != "off", "thinking": thinking != "off"}
    extra = {"chat_template_kwargs": switch} if own_server else {}
    return {"reasoning_effort": effort, "extra_body": extra}


def _samplers_of_servers(given: dict[str, float | int]) -> dict[str, float | int]:
    """Samplers that OpenAI's API does not define, in the body of a request.

    llama-server, LM Studio, TabbyAPI and KoboldCpp read llama.cpp's names; vLLM and SGLang call the
    repetition penalty `repetition_penalty`. A server ignores the names that it does not know.
    """
    penalty = {"repetition_penalty": given["repeat_penalty"]} if "repeat_penalty" in given else {}
    return {**given, **penalty}


def make_openai(
    name: str,
    *,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    timeout: float = 120.0,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    thinking: Thinking | None = None,
    max_retries: int = 0,
    top_p: float | None = None,
    frequency_penalty: float | None = None,
    presence_penalty: float | None = None,
    stop: Sequence[str] | None = None,
    **samplers: Any,
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
        thinking: how much a reasoning model thinks before its answer; the server's default when None.
        max_retries: how often a refused request is sent again without a word, for programs that call the
            model directly. Graphs, sessions and runs send it again by themselves, and report each wait.
        top_p: the share of probability from which tokens are sampled; the server's default when None.
        frequency_penalty: from -2 to 2; the server's default when None.
        presence_penalty: from -2 to 2; the server's default when None.
        stop: strings at which the answer ends.
        samplers: those of `SERVER_SAMPLERS`, for servers other than OpenAI's own.

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
    if not isinstance(max_retries, int) or max_retries < 0:
        raise ModelError(f"The model 'openai:{name}' takes a whole number from 0 as max_retries.")
    if thinking is not None and thinking not in get_args(Thinking):
        raise ModelError(f"The model 'openai:{name}' takes {', '.join(get_args(Thinking))} as thinking.")
    if samplers and not endpoint:
        raise ModelError(
            f"OpenAI's own models take no {next(iter(samplers))!r}; remove it, or name your own server "
            "with --base-url (base_url in models.toml)."
        )
    for sampler, value in samplers.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ModelError(f"The model 'openai:{name}' takes a number as {sampler}.")
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
    options = _thinking_options(thinking, own_server=bool(endpoint)) if thinking else {}
    body = {**options.pop("extra_body", {}), **_samplers_of_servers(samplers)}
    return chat(
        model=name,
        base_url=endpoint,
        api_key=SecretStr(key or "none"),
        use_responses_api=False,
        stream_usage=True,
        max_retries=max_retries,
        timeout=openai.Timeout(timeout, connect=_CONNECT_SECONDS),
        temperature=temperature,
        max_completion_tokens=max_tokens,
        seed=seed,
        top_p=top_p,
        frequency_penalty=frequency_penalty,
        presence_penalty=presence_penalty,
        stop=list(stop) if stop else None,
        http_async_client=per_call,
        **({"extra_body": body} if body else {}),
        **options,
    )


def _check_url(endpoint: str | None) -> None:
    try:
        usable = endpoint is None or httpx2.URL(endpoint).scheme in {"http", "https"}
    except (httpx2.InvalidURL, TypeError):
        usable = False
    if not usable:
        shown = repr(masked(endpoint)) if isinstance(endpoint, str) else str(endpoint)
        raise ModelError(f"The base URL {shown} must begin with http:// or https://.")
