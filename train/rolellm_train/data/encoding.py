"""Encode rows as the token ids that inference uses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage

from rolellm_agents.models.llamacpp.template import ChatTemplate, turns_of
from rolellm_train.base.chat_form import answer_end, bos_of, separators_of


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

    def __init__(
        self,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        end: int,
        *,
        bos: int | None,
        separators: Sequence[str] = (),
    ) -> None:
        """Create the encoder.

        Args:
            tokenizer: the base model's tokenizer.
            template: the chat template that renders prompts in conversations.
            end: the token that ends an answer.
            bos: the token that llama.cpp puts before every prompt of this base model, if any.
            separators: special tokens; the texts between them are tokenized separately.
        """
        self._tokenizer = tokenizer
        self._template = template
        self.end = end
        self._bos = bos
        alternatives = "|".join(map(re.escape, separators))
        self._separators = re.compile(f"({alternatives})") if separators else None

    def encode(self, group: str, turns: Sequence[tuple[Sequence[BaseMessage], str]]) -> Encoded:
        """Encode a conversation.

        Each answer has the tokens that the rendered conversation gives it, or those that it has by itself
        if the template renders a last answer in another way than prompts do. If the next prompt contains
        an answer with other tokens (some templates shorten earlier answers), those tokens are used and
        the answer is not learned.

        Args:
            group: the persona's id; rows of a group share a prefix.
            turns: at least one turn. Each has the prompt that a strategy composes from the turns before
                it, and a non-empty answer.
        """
        ids: list[int] = []
        answers: list[range] = []
        for messages, answer in turns:
            prompt = self.prompt(messages)
            answers = answers if prompt[: len(ids)] == ids else []
            ids = [*prompt, *self._answer(messages, prompt, answer)]
            answers.append(range(len(prompt), len(ids)))
        return Encoded(group, tuple(ids), tuple(answers))

    def text(self, messages: Sequence[BaseMessage]) -> str:
        """The rendered prompt, up to the place where the answer begins."""
        return self._template.render(turns_of(messages))

    def prompt(self, messages: Sequence[BaseMessage]) -> list[int]:
        """The token ids of a prompt, up to the place where the answer begins."""
        return self._ids(self.text(messages))

    def _answer(self, messages: Sequence[BaseMessage], prompt: Sequence[int], answer: str) -> list[int]:
        """The tokens of an answer and the one that ends it.

        SentencePiece gives a text at its beginning other tokens than after a line, so an answer is
        tokenized where it stands.
        """
        before = self.text(messages)
        complete = self._template.render(turns_of([*messages, AIMessage(answer)]), answer_follows=False)
        if complete.removeprefix(before).lstrip().startswith(answer):
            ids = self._ids(complete)
            rest = ids[len(prompt) :]
            if ids[: len(prompt)] == prompt and self.end in rest:
                return rest[: len(rest) - rest[::-1].index(self.end)]
        return [*self._tokenizer.encode(answer, add_special_tokens=False), self.end]

    def _ids(self, text: str) -> list[int]:
        texts = self._separators.split(text) if self._separators else [text]
        ids = [
            token for one in texts if one for token in self._tokenizer.encode(one, add_special_tokens=False)
        ]
        return ids if self._bos is None or ids[:1] == [self._bos] else [self._bos, *ids]


def encoder_of(tokenizer: Any, template: str) -> Encoder:
    """Create the encoder for a base model.

    Args:
        tokenizer: the base model's tokenizer, from transformers.
        template: the chat template, in Jinja.

    Raises:
        ModelError: the template is not a Jinja template.
        TrainingError: the template ends answers with something that is no token of the base model.
    """
    compiled = ChatTemplate(template, bos=tokenizer.bos_token or "", eos=tokenizer.eos_token or "")
    return Encoder(
        tokenizer,
        compiled,
        answer_end(tokenizer, compiled),
        bos=bos_of(tokenizer),
        separators=separators_of(tokenizer),
    )
