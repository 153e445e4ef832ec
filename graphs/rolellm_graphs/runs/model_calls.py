"""Concurrent calls of one model, with token counts, a budget, a concurrency limit and backoff."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from rolellm_agents.models.reasoning import split_reasoning
from rolellm_agents.runs.backoff import Backoff, seconds_to_wait
from rolellm_agents.runs.budget import Budget, Tokens
from rolellm_agents.text import estimated_tokens, replace_surrogates

_CUT: Final = frozenset({"length", "max_tokens", "MAX_TOKENS"})
"""Finish reasons of answers that reached their limit."""
_NO_SCHEMA: Final = frozenset({400, 415, 422, 501})
"""Status codes of servers that do not support a request's schema."""
_USUAL_ANSWER = 512
"""Limit of an answer in tokens when the model has none."""
_PER_MESSAGE = 5
"""Approximate number of a chat template's tokens for each message."""


class BudgetSpentError(Exception):
    """The remaining budget is too small for another request; not a failure."""


class ClosedError(Exception):
    """No more requests are sent; not a failure."""


@dataclass(frozen=True)
class ModelReply:
    """The answer to one call."""

    text: str
    unfinished: bool
    """Whether the answer reached its limit."""
    tokens: Tokens
    seconds: float
    """Duration of the call without backoff."""
    reused: int = 0
    """Cached prompt tokens, if the model reports them."""


class ModelCalls:
    """Calls of one model."""

    def __init__(self, model: BaseChatModel, *, at_once: int, budget: Budget, backoff: Backoff) -> None:
        """Set the limits. The backoff delays all calls when the server refuses one."""
        # LangChain serializes each copy of a model again, unless the original is serialized already.
        model._serialized  # noqa: B018, SLF001
        self._model = model
        self._slots = asyncio.Semaphore(at_once)
        self._budget = budget
        self._backoff = backoff
        self._supports_schema = True
        self._closed = False
        self._longest = getattr(model, "max_tokens", None) or _USUAL_ANSWER

    def close(self) -> None:
        """Send no more requests: pending calls raise `ClosedError`, running ones end."""
        self._closed = True

    async def say(self, messages: Sequence[BaseMessage], *, seed: int) -> ModelReply:
        """Request an answer as text.

        Raises:
            BudgetSpentError: the remaining budget is too small.
            Exception: the model's error, if it persists after backoff.
        """
        model = with_settings(self._model, seed=seed)
        return await self._counted(messages, lambda: model.ainvoke(list(messages)), self._longest)

    async def fill(
        self, messages: Sequence[BaseMessage], form: dict[str, Any], *, seed: int, at_least: int
    ) -> ModelReply:
        """Request an answer as JSON text, constrained by a schema if the model supports structured output.

        The prompt should describe the form, a JSON Schema, too. `at_least` is the answer's limit in tokens,
        if the model's own limit is lower.

        Raises:
            BudgetSpentError: the remaining budget is too small.
            Exception: the model's error, if it persists after backoff.
        """
        longest = max(self._longest, at_least)
        model = with_settings(self._model, seed=seed, max_tokens=longest)
        return await self._counted(messages, lambda: self._structured(model, list(messages), form), longest)

    async def _structured(
        self, model: BaseChatModel, messages: list[BaseMessage], form: dict[str, Any]
    ) -> AIMessage:
        if self._supports_schema:
            try:
                structured = model.with_structured_output(form, include_raw=True)
            except NotImplementedError:
                self._supports_schema = False
        if not self._supports_schema:
            return await model.ainvoke(messages)
        try:
            answer: Any = await structured.ainvoke(messages)
        except Exception as error:
            if cut := _cut_answer(error):
                return cut
            if getattr(error, "status_code", None) not in _NO_SCHEMA:
                raise
            # The schema caused the error only if the same request succeeds without it.
            plain = await model.ainvoke(messages)
            self._supports_schema = False
            return plain
        message: AIMessage = answer["raw"]
        return message

    async def _counted(
        self, messages: Sequence[BaseMessage], call: Callable[[], Awaitable[AIMessage]], longest: int
    ) -> ModelReply:
        expected = Tokens(_estimated(messages), longest)
        async with self._slots:
            if self._closed:
                raise ClosedError
            if not self._budget.reserve(expected):
                raise BudgetSpentError
            used = Tokens()
            try:
                message, seconds = await self._with_backoff(call)
                used = _tokens_of(message, expected)
            finally:
                self._budget.settle(expected, used)
        metadata = message.response_metadata
        reason = metadata.get("finish_reason") or metadata.get("stop_reason")
        text, unfinished = _text_of(message), reason in _CUT
        return ModelReply(text, unfinished, used, round(seconds, 3), _reused(message))

    async def _with_backoff(self, call: Callable[[], Awaitable[AIMessage]]) -> tuple[AIMessage, float]:
        tries = 0
        while True:
            await self._backoff.passed()
            tries += 1
            started = time.perf_counter()
            try:
                return await call(), time.perf_counter() - started
            except Exception as error:
                wait = seconds_to_wait(error, tries)
                if wait is None:
                    raise
                self._backoff.shut(wait)


def with_settings(model: BaseChatModel, **settings: int) -> BaseChatModel:
    """A copy of the model with those of the settings that it supports; loaded weights are shared."""
    known = {name: value for name, value in settings.items() if name in type(model).model_fields}
    return model.model_copy(update=known) if known else model


def _text_of(message: AIMessage) -> str:
    """The text, or the tool call's arguments if the schema was passed as a tool."""
    if not message.text.strip() and message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    return replace_surrogates(split_reasoning(message.text)[0])


def _tokens_of(message: AIMessage, expected: Tokens) -> Tokens:
    """The reported token counts, or an estimate."""
    if usage := message.usage_metadata:
        return Tokens(usage["input_tokens"], usage["output_tokens"])
    return Tokens(expected.read, estimated_tokens(_text_of(message)))


def _reused(message: AIMessage) -> int:
    usage = message.usage_metadata
    return (usage.get("input_token_details", {}).get("cache_read") or 0) if usage else 0


def _estimated(messages: Sequence[BaseMessage]) -> int:
    return sum(estimated_tokens(message.text) + _PER_MESSAGE for message in messages)


def _cut_answer(error: Exception) -> AIMessage | None:
    """The text of an answer that reached its limit, for libraries that raise an error in this case."""
    completion = getattr(error, "completion", None)
    choices = getattr(completion, "choices", None)
    if not choices or not choices[0].message.content:
        return None
    usage = getattr(completion, "usage", None)
    return AIMessage(
        choices[0].message.content,
        response_metadata={"finish_reason": "length"},
        usage_metadata={
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
        }
        if usage
        else None,
    )
