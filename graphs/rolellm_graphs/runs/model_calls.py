"""Calls of one model by many at once: counted, within a budget, waiting where a server asks for it."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from rolellm_agents.runs.backoff import Backoff, seconds_to_wait
from rolellm_agents.runs.budget import Budget, Tokens
from rolellm_agents.text import estimated_tokens, whole

_CUT: Final = frozenset({"length", "max_tokens", "MAX_TOKENS"})
"""How models call it that an answer reached its limit."""
_NO_FORMS: Final = frozenset({400, 415, 422, 501})
"""How servers refuse a request whose form they do not know."""
_USUAL_ANSWER = 512
"""Tokens that an answer may have when the model does not say."""
_PER_MESSAGE = 5
"""Tokens of a template's marks, about."""


class BudgetSpentError(Exception):
    """There is not enough left for another request; not a failure."""


class ClosedError(Exception):
    """Nothing more is to be asked; not a failure."""


@dataclass(frozen=True)
class ModelReply:
    """What a model said."""

    text: str
    unfinished: bool
    """It reached its limit."""
    tokens: Tokens
    seconds: float
    """Waiting for a server's leave not counted."""
    reused: int = 0
    """Tokens of the prompt that the model had read before, as far as it says so."""


class ModelCalls:
    """One model, and what is asked of it."""

    def __init__(self, model: BaseChatModel, *, at_once: int, budget: Budget, backoff: Backoff) -> None:
        """Nothing is asked yet.

        Args:
            model: loaded, if it is one that can be.
            at_once: requests at most at the same time.
            budget: what they may take.
            backoff: what holds all of them up when the server refuses one.
        """
        # LangChain describes each copy of a model anew, unless the copied one is described already.
        model._serialized  # noqa: B018, SLF001
        self._model = model
        self._room = asyncio.Semaphore(at_once)
        self._budget = budget
        self._backoff = backoff
        self._takes_forms = True
        self._closed = False
        self._longest = getattr(model, "max_tokens", None) or _USUAL_ANSWER

    def close(self) -> None:
        """Ask nothing more: whoever waits for room gets `ClosedError`; what was sent is waited for."""
        self._closed = True

    async def say(self, messages: Sequence[BaseMessage], *, seed: int) -> ModelReply:
        """An answer in words.

        Raises:
            BudgetSpentError: there is not enough left.
            Exception: whatever the model raises, when waiting does not help.
        """
        model = with_settings(self._model, seed=seed)
        return await self._counted(messages, lambda: model.ainvoke(list(messages)), self._longest)

    async def fill(
        self, messages: Sequence[BaseMessage], form: dict[str, Any], *, seed: int, at_least: int
    ) -> ModelReply:
        """An answer in a form: prescribed where the model takes forms, else as its words have it.

        Args:
            messages: the prompt, which should tell the form, too.
            form: a JSON Schema.
            seed: of the answer.
            at_least: tokens that the answer may have, even if the model's own limit is lower.

        Raises:
            BudgetSpentError: there is not enough left.
            Exception: whatever the model raises, when waiting does not help.
        """
        longest = max(self._longest, at_least)
        model = with_settings(self._model, seed=seed, max_tokens=longest)
        return await self._counted(messages, lambda: self._in_form(model, list(messages), form), longest)

    async def _in_form(
        self, model: BaseChatModel, messages: list[BaseMessage], form: dict[str, Any]
    ) -> AIMessage:
        if self._takes_forms:
            try:
                structured = model.with_structured_output(form, include_raw=True)
            except NotImplementedError:
                self._takes_forms = False
        if not self._takes_forms:
            return await model.ainvoke(messages)
        try:
            answer: Any = await structured.ainvoke(messages)
        except Exception as error:
            if cut := _cut_answer(error):
                return cut
            if getattr(error, "status_code", None) not in _NO_FORMS:
                raise
            # Only a request that is taken without the form shows that the form was the matter.
            plain = await model.ainvoke(messages)
            self._takes_forms = False
            return plain
        message: AIMessage = answer["raw"]
        return message

    async def _counted(
        self, messages: Sequence[BaseMessage], call: Callable[[], Awaitable[AIMessage]], longest: int
    ) -> ModelReply:
        expected = Tokens(_estimated(messages), longest)
        async with self._room:
            if self._closed:
                raise ClosedError
            if not self._budget.reserve(expected):
                raise BudgetSpentError
            used = Tokens()
            try:
                message, seconds = await self._patiently(call)
                used = _tokens_of(message, expected)
            finally:
                self._budget.settle(expected, used)
        metadata = message.response_metadata
        reason = metadata.get("finish_reason") or metadata.get("stop_reason")
        text, unfinished = _words_of(message), reason in _CUT
        return ModelReply(text, unfinished, used, round(seconds, 3), _reused(message))

    async def _patiently(self, call: Callable[[], Awaitable[AIMessage]]) -> tuple[AIMessage, float]:
        tries = 0
        while True:
            await self._backoff.passed()
            tries += 1
            began = time.perf_counter()
            try:
                return await call(), time.perf_counter() - began
            except Exception as error:
                wait = seconds_to_wait(error, tries)
                if wait is None:
                    raise
                self._backoff.shut(wait)


def with_settings(model: BaseChatModel, **settings: int) -> BaseChatModel:
    """The model with those settings that it knows; what it has loaded is shared."""
    known = {name: value for name, value in settings.items() if name in type(model).model_fields}
    return model.model_copy(update=known) if known else model


def _words_of(message: AIMessage) -> str:
    """What was said, or, where the form was taken for a tool, what the tool was to be given."""
    if not message.text.strip() and message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    return whole(message.text)


def _tokens_of(message: AIMessage, expected: Tokens) -> Tokens:
    """As the model counts, else by an estimate."""
    if usage := message.usage_metadata:
        return Tokens(usage["input_tokens"], usage["output_tokens"])
    return Tokens(expected.read, estimated_tokens(_words_of(message)))


def _reused(message: AIMessage) -> int:
    usage = message.usage_metadata
    return (usage.get("input_token_details", {}).get("cache_read") or 0) if usage else 0


def _estimated(messages: Sequence[BaseMessage]) -> int:
    return sum(estimated_tokens(message.text) + _PER_MESSAGE for message in messages)


def _cut_answer(error: Exception) -> AIMessage | None:
    """What the model had said, where a library makes an error of an answer that reached its limit."""
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
