"""What a text is like."""

import hashlib
import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage


def is_one_sentence(text: str) -> bool:
    """Whether it is a single line with one end, not counting what stands in brackets or is a question."""
    without_quoted = re.sub(r"\(.*\)", "", text)
    return text.isprintable() and text[-1:] in {".", "?"} and not re.search(r"[.!]\s+\S", without_quoted)


def number_of(messages: Sequence[BaseMessage]) -> int:
    """A number that a prompt always gives, and hardly any other prompt."""
    told = "\x1f".join(message.text for message in messages)
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big")
