"""Answers of personas."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata

from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.local import LocalModel
from rolellm_agents.models.reasoning import REASONING
from rolellm_agents.persona import Persona
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.server.answers import AnswerChunk, AnswerEnd, AnswerPart
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.wire import ChatMessage, ChatRequest, CompletionDetails, PromptDetails, Usage

_OPENAI = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "response_format")
"""Sampling fields that every model supports."""
_LLAMA = ("top_k", "min_p", "repeat_penalty")
"""Further sampling fields of models in this process."""


class PersonaAgent:
    """A persona with a model and a strategy."""

    def __init__(
        self, persona: Persona, model: BaseChatModel, *, strategy: str, user: str, max_tokens: int
    ) -> None:
        """Create the agent; nothing is loaded yet.

        Args:
            persona: the persona that answers.
            model: the model that generates the answers.
            strategy: the name of the strategy.
            user: the user's name.
            max_tokens: the maximum length of an answer in tokens.

        Raises:
            SettingsError: the strategy is unknown.
            PersonaError: the persona's lorebook cannot be used.
        """
        self.name = f"{persona.id}@{strategy}"
        self.persona: str | None = persona.id
        self._model = model
        self._max_tokens = max_tokens
        self._chat = RoleChatModel(persona=persona, model=model, strategy=strategy, user=user)

    async def answer(self, request: ChatRequest, seed: int | None) -> AsyncGenerator[AnswerPart, None]:
        """Answer the last message; see `Agent`.

        Raises:
            ApiError: there is no user message.
            RoleLLMError: the model cannot answer.
        """
        messages = [_as_langchain(message) for message in request.messages]
        _check_line(messages)
        metadata = AIMessageChunk(content="")
        try:
            stream = self._chat.astream(messages, stop=request.stop_strings, **self._options(request, seed))
            async with aclosing(stream) as chunks:  # type: ignore[type-var]  # a generator, typed as less
                async for chunk in chunks:
                    metadata = _with_metadata(metadata, chunk)
                    if thought := chunk.additional_kwargs.get(REASONING):
                        yield AnswerChunk(thought, is_reasoning=True)
                    if chunk.text:
                        yield AnswerChunk(chunk.text)
        except Exception as error:
            explained = explain_failure(error, self._model)
            if explained is None or explained is error:
                raise
            raise explained from error
        reason = metadata.response_metadata.get("finish_reason")
        yield AnswerEnd("length" if reason == "length" else "stop", usage_of(metadata.usage_metadata))

    def _options(self, request: ChatRequest, seed: int | None) -> dict[str, Any]:
        names = (*_OPENAI, *_LLAMA) if isinstance(self._model, LocalModel) else _OPENAI
        options = {name: getattr(request, name) for name in names}
        limit = getattr(self._model, "max_tokens", None) or self._max_tokens
        options |= {"max_tokens": min(request.longest or limit, self._max_tokens)}
        options |= {"seed": seed}
        return {name: value for name, value in options.items() if value is not None}


def usage_of(metadata: UsageMetadata | None) -> Usage:
    """Token counts in OpenAI's format; zero if unknown."""
    if metadata is None:
        return Usage()
    details = PromptDetails(cached_tokens=metadata.get("input_token_details", {}).get("cache_read", 0))
    thought = metadata.get("output_token_details", {}).get("reasoning", 0)
    return Usage(
        prompt_tokens=metadata["input_tokens"],
        completion_tokens=metadata["output_tokens"],
        total_tokens=metadata["total_tokens"],
        prompt_tokens_details=details,
        completion_tokens_details=CompletionDetails(reasoning_tokens=thought),
    )


def _check_line(messages: Sequence[BaseMessage]) -> None:
    lines = [message.text.strip() for message in messages if isinstance(message, HumanMessage)]
    if not lines or not lines[-1]:
        empty = "The last message of the role user is empty; write something in it."
        missing = "There is no message of the role user that the persona could answer; add one."
        raise ApiError(HTTPStatus.BAD_REQUEST, empty if lines else missing, param="messages")


def _with_metadata(metadata: AIMessageChunk, chunk: AIMessageChunk) -> AIMessageChunk:
    """The last chunk without its text, for metadata."""
    if not chunk.usage_metadata and not chunk.response_metadata:
        return metadata
    return metadata + chunk.model_copy(update={"content": ""})


def _as_langchain(message: ChatMessage) -> BaseMessage:
    match message.role:
        case "user":
            return HumanMessage(message.text)
        case "assistant":
            return AIMessage(message.text)
        case _:
            return SystemMessage(message.text)
