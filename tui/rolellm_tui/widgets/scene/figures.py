"""What is told of a scene in numbers."""

from collections.abc import Mapping

from rolellm_agents.cards.values import integer, mapping
from rolellm_agents.transcript import Message


def tokens_of(message: Message | None) -> str:
    """What a line cost: tokens read and written, and how many of those read were known already."""
    usage: Mapping[str, object] = (message.usage if message else None) or {}
    read, written = integer(usage.get("input_tokens")), integer(usage.get("output_tokens"))
    if read <= 0:
        return ""
    reused = integer(mapping(usage.get("input_token_details")).get("cache_read"))
    known = f", {reused / read:.0%} reused".replace("%", " %") if reused > 0 else ""
    return f"{read:,} + {written:,} tokens{known}"
