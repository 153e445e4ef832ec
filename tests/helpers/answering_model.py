"""A scripted model whose answers depend on what it is asked, and on nothing that was before."""

import hashlib
from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage

from rolellm_agents.models.scripted import ScriptedChatModel


class AnsweringModel(ScriptedChatModel):
    """Answers with what a function makes of a prompt; `calls` holds every prompt."""

    answer: Callable[[Sequence[BaseMessage]], str]
    n_ctx: int | None = None
    """Tokens it says that it can have before it."""
    max_tokens: int | None = None

    def _reply_to(self, messages: list[BaseMessage]) -> str:
        return self.answer(messages)


def number_of(messages: Sequence[BaseMessage]) -> int:
    """A number that a prompt always gives, and hardly any other prompt."""
    told = "\x1f".join(message.text for message in messages)
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big")
