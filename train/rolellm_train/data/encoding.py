"""Encode rows as the token ids that inference uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.messages import BaseMessage

from rolellm_agents.models.llamacpp.template import ChatTemplate, turns_of


class Tokenizer(Protocol):
    """The used part of a tokenizer of transformers."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Token ids of a text."""
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

        The tokenizer is the base's; its template renders prompts in conversations. `end` is the token that
        ends an answer, `bos` a token that llama.cpp puts before every prompt, if it does for this base.
        """
        self._tokenizer = tokenizer
        self._template = template
        self._end = end
        self._bos = bos

    def encode(self, group: str, turns: Sequence[tuple[Sequence[BaseMessage], str]]) -> Encoded:
        """A conversation.

        An answer is tokenized by itself, since the model, too, begins it after the prompt's last token.
        Where the next prompt has other tokens for it (a template may shorten what was said), it is read
        as that prompt has it, and not learned.

        Args:
            group: whose conversation it is.
            turns: the prompt of each, as a strategy composes it with the turns before, and its answer,
                which is not empty; at least one.
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
