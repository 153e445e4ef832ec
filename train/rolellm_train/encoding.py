"""From a row to token ids, the same that the model will be sent when it speaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.messages import BaseMessage

from rolellm_agents.models.llamacpp.template import ChatTemplate, turns_of


class Tokenizer(Protocol):
    """What is needed of a tokenizer of transformers."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Token ids of a text."""
        ...


@dataclass(frozen=True, slots=True)
class Encoded:
    """One answer in its conversation, as the model reads it."""

    group: str
    """Whose it is: rows of one group begin alike."""
    ids: tuple[int, ...]
    """Prompt, answer, and the token that ends it."""
    answer: int
    """Where the answer begins; what stands from here on is learned, nothing else."""


class Encoder:
    """Encodes rows for one base model."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate, end: int, *, bos: int | None) -> None:
        """Hold what all rows need.

        Args:
            tokenizer: of the base.
            template: of the base; the one that renders prompts in conversations.
            end: the token that ends an answer.
            bos: a token that llama.cpp puts before every prompt, if it does for this base.
        """
        self._tokenizer = tokenizer
        self._template = template
        self._end = end
        self._bos = bos

    def encode(self, group: str, messages: Sequence[BaseMessage], answer: str) -> Encoded:
        """A prompt and its answer.

        The answer is tokenized by itself, since the model, too, begins it after the prompt's last token.

        Args:
            group: whose row it is.
            messages: the prompt, as a strategy composes it.
            answer: what is to be learned; not empty.
        """
        prompt = self._tokenizer.encode(self._template.render(turns_of(messages)), add_special_tokens=False)
        if self._bos is not None and prompt[:1] != [self._bos]:
            prompt = [self._bos, *prompt]
        said = self._tokenizer.encode(answer, add_special_tokens=False)
        return Encoded(group, (*prompt, *said, self._end), len(prompt))
