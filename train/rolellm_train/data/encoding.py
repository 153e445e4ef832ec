"""Encode rows as the token ids that inference uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.messages import BaseMessage

from rolellm_agents.models.llamacpp.template import ChatTemplate, turns_of


class Tokenizer(Protocol):
    """The methods of a transformers tokenizer that are used here."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Convert a text to token ids."""
        ...


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded conversation."""

    group: str
    """Group of the conversation; rows of one group share a prefix."""
    ids: tuple[int, ...]
    """Prompt, answers, and the tokens that end them."""
    answers: tuple[range, ...]
    """Spans of the answers with their end tokens; only these are learned."""


class Encoder:
    """Encodes rows for one base model."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate, end: int, *, bos: int | None) -> None:
        """Create the encoder.

        Args:
            tokenizer: the base model's tokenizer.
            template: the chat template that renders prompts in conversations.
            end: the token that ends an answer.
            bos: the token that llama.cpp puts before every prompt of this base model, if any.
        """
        self._tokenizer = tokenizer
        self._template = template
        self._end = end
        self._bos = bos

    def encode(self, group: str, turns: Sequence[tuple[Sequence[BaseMessage], str]]) -> Encoded:
        """Encode a conversation.

        Each answer is tokenized separately, because the model also generates it after the last token of
        the prompt. If the next prompt contains an answer with other tokens (some templates shorten earlier
        answers), those tokens are used and the answer is not learned.

        Args:
            group: the persona's id; rows of a group share a prefix.
            turns: at least one turn. Each has the prompt that a strategy composes from the turns before
                it, and a non-empty answer.
        """
        ids: list[int] = []
        answers: list[range] = []
        for messages, answer in turns:
            prompt = self._prompt(messages)
            answers = answers if prompt[: len(ids)] == ids else []
            answer_ids = self._tokenizer.encode(answer, add_special_tokens=False)
            ids = [*prompt, *answer_ids, self._end]
            answers.append(range(len(prompt), len(ids)))
        return Encoded(group, tuple(ids), tuple(answers))

    def _prompt(self, messages: Sequence[BaseMessage]) -> list[int]:
        ids = self._tokenizer.encode(self._template.render(turns_of(messages)), add_special_tokens=False)
        return ids if self._bos is None or ids[:1] == [self._bos] else [self._bos, *ids]
