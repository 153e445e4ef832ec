"""Marks in a message's `additional_kwargs`: which part of the prompt a message is.

Providers put keys of their own into `additional_kwargs` (langchain-openai sets `refusal` on every answer),
so only these marks count.
"""

from collections.abc import Mapping
from typing import Any, Final

DEMONSTRATION_MARK: Final = "demonstration"
"""On turns that are examples and not part of the conversation."""
INSERT_MARK: Final = "insert"
"""On messages that hold inserts; the value lists their kinds, such as `["lore", "author-note"]`."""
LORE_MARK: Final = "lore"
"""On messages with inserts in prompts of older versions, which did not record the kinds."""
RECALL_MARK: Final = "recalled"
"""On the message that holds the recalled passages."""

_MARKS = (DEMONSTRATION_MARK, INSERT_MARK, LORE_MARK, RECALL_MARK)


def is_spoken(additional_kwargs: Mapping[str, Any]) -> bool:
    """Whether a message with these `additional_kwargs` was said in the conversation."""
    return not any(additional_kwargs.get(mark) for mark in _MARKS)
