"""How many tokens a model reads at once, and how a prompt is made to fit.

The size is stated by a model in this process (`n_ctx`), by the user (`context` in `models.toml`), by a
server on this machine, by LangChain's model profile, or by a server's refusal of a longer prompt. What
servers say is remembered for the process.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents.models.catalog import describe_model
from rolellm_agents.models.fitting import fit_messages
from rolellm_agents.models.local import LocalModel, count_tokens
from rolellm_agents.models.refused_length import refused_length
from rolellm_agents.models.separated import SeparatedChatModel
from rolellm_agents.models.servers import is_on_loopback, stated_context
from rolellm_agents.text import estimated_tokens

SURELY_FITS: Final = 4_096
"""Characters of a prompt that fits into every model's context; nothing is looked up for it."""
_ANSWER: Final = 1_024
"""Tokens reserved for an answer if the model has no `max_tokens`."""
_MESSAGE: Final = 4
"""Tokens that a chat template adds to each message."""
_MARGIN: Final = 1.15
"""Tokens per estimated token, for models whose tokenizer is unknown."""
_DENSEST, _SPARSEST = 0.5, 6.0
"""Bounds of the tokens per estimated token that a server's numbers are believed to show."""
_GUESS: Final = 8_192
"""The most tokens that are sent after a refusal without any number."""


@dataclass(frozen=True)
class _Learned:
    """What a server has shown of a model."""

    size: int
    ratio: float = _MARGIN
    """Its tokens per estimated token."""
    refusals: int = 0


_learned: dict[tuple[str, str], _Learned] = {}
_lock = threading.Lock()


def context_size(model: BaseChatModel) -> int | None:
    """A model's context in tokens; None if it is not known."""
    if found := _learned.get(_key(model)):
        return found.size
    inside = _inside(model)
    profile: Any = getattr(inside, "profile", None) or {}
    stated = (getattr(inside, "n_ctx", None), profile.get("max_input_tokens"))
    return next((size for size in stated if isinstance(size, int) and size > 0), None)


def has_server_to_ask(model: BaseChatModel) -> bool:
    """Whether a server on this machine runs the model, and may state its context."""
    return is_on_loopback(_base_url(model))


def ask_for_context(model: BaseChatModel) -> None:
    """Ask the server on this machine for the context, unless it is known; may take a tenth of a second."""
    if not has_server_to_ask(model) or context_size(model):
        return
    size = stated_context(_base_url(model), str(getattr(_inside(model), "model_name", "")))
    if size:
        with _lock:
            _learned.setdefault(_key(model), _Learned(size))


def prompt_room(model: BaseChatModel) -> int | None:
    """The tokens that a prompt may take beside the answer; None if the model's context is not known."""
    size = context_size(model)
    if size is None:
        return None
    answer = getattr(_inside(model), "max_tokens", None)
    return size - min(answer if isinstance(answer, int) and answer > 0 else _ANSWER, size // 4)


def prompt_tokens(model: BaseChatModel, messages: Sequence[BaseMessage]) -> int:
    """The tokens of messages for a model whose tokenizer is unknown, with a margin."""
    found = _learned.get(_key(model))
    return int(_estimate(messages) * (found.ratio if found else _MARGIN))


def text_tokens(model: BaseChatModel, text: str) -> int:
    """The tokens of a message with this text: exact for a model in this process, else with a margin.

    Raises:
        ModelError: the model's file cannot be loaded.
    """
    if isinstance(model, LocalModel):
        return count_tokens(model, text)[0] + _MESSAGE
    return prompt_tokens(model, [HumanMessage(text)])


def fitted(model: BaseChatModel, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The prompt without the oldest turns that exceed the model's context, as far as that is known.

    A model that shortens its prompts itself, with its own tokenizer, gets the whole prompt.

    Raises:
        ContextLengthError: the instruction and the last message alone are too long.
    """
    room = None if isinstance(model, LocalModel) else prompt_room(model)
    if room is None:
        return list(messages)
    return fit_messages(messages, room, lambda part: prompt_tokens(model, part))[0]


def learn_from_refusal(model: BaseChatModel, refusal: str, messages: Sequence[BaseMessage]) -> None:
    """Remember what a server's refusal of a prompt shows of the model's context.

    A refusal without numbers halves what is tried next, down from the size of the prompt.
    """
    key, said, sent = _key(model), refused_length(refusal), max(1, _estimate(messages))
    with _lock:
        before = _learned.get(key) or _Learned(context_size(model) or 0)
        ratio = before.ratio
        limit, size = said.limit, said.size
        if limit and said.excess:
            size = limit + said.excess
        if size:
            ratio = max(_DENSEST, min(_SPARSEST, size / sent * 1.02))
        elif limit and before.refusals:
            ratio = min(_SPARSEST, ratio * 1.5)
        if limit is None:
            limit = min(before.size or _GUESS, int(sent * ratio)) // (2 if before.refusals else 1)
            limit = min(limit, int(sent * ratio) * 3 // 4)
        _learned[key] = replace(before, size=max(1, limit), ratio=ratio, refusals=before.refusals + 1)


def forget_context(model: BaseChatModel) -> None:
    """Forget what the model's server has shown of its context."""
    with _lock:
        _learned.pop(_key(model), None)


def _estimate(messages: Sequence[BaseMessage]) -> int:
    return sum([estimated_tokens(message.text) + _MESSAGE for message in messages])


def _key(model: BaseChatModel) -> tuple[str, str]:
    return describe_model(model), _base_url(model)


def _base_url(model: BaseChatModel) -> str:
    return str(getattr(_inside(model), "openai_api_base", None) or "")


def _inside(model: BaseChatModel) -> BaseChatModel:
    return model.model if isinstance(model, SeparatedChatModel) else model
