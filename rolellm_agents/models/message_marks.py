"""Marks in a message's `additional_kwargs`: what of a prompt was not said in the conversation.

Providers put keys of their own into `additional_kwargs` (langchain-openai sets `refusal` on every answer),
so only these marks count.
"""

from collections.abc import Mapping
from typing import Any, Final

DEMONSTRATION_MARK: Final = "demonstration"
"""On turns that are examples and not part of the conversation."""
LORE_MARK: Final = "lore"
"""On messages that hold lore, a note or a scene."""
RECALL_MARK: Final = "recalled"
"""On the message that holds what came to the persona's mind."""


def was_said(additional_kwargs: Mapping[str, Any]) -> bool:
    """Whether a message with these `additional_kwargs` was said in the conversation."""
    return not any(additional_kwargs.get(mark) for mark in (DEMONSTRATION_MARK, LORE_MARK, RECALL_MARK))
