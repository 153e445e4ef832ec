"""What goes when a conversation outgrows the context: the oldest turns, never the persona."""

from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.strategies import DEMONSTRATION_MARK


def fit_messages(
    messages: Sequence[BaseMessage], room: int, count: Callable[[Sequence[BaseMessage]], int]
) -> tuple[list[BaseMessage], int]:
    """Drop the oldest turns until the prompt fits.

    System messages and the last message always stay; demonstrations go only after the conversation's
    own turns are gone. What follows a dropped line up to the user's next one goes with it, so that
    the rest begins with a question and not with an answer to nothing.

    Args:
        messages: the whole prompt.
        room: how many tokens it may have.
        count: the tokens of a prompt made of some messages.

    Returns:
        The messages that stay, and how many were dropped.

    Raises:
        ModelError: the instruction and the last message alone are too long.
    """
    kept = list(messages)
    while (size := count(kept)) > room:
        excess = size - room
        victims = _oldest_turns(kept, excess, count)
        if not victims:
            raise ModelError(
                f"The message is too long: with the persona it takes {size:,} tokens and the "
                f"model has room for {room:,}; shorten it, or use a model with a longer context."
            )
        kept = [message for place, message in enumerate(kept) if place not in victims]
    return kept, len(messages) - len(kept)


def _oldest_turns(
    messages: Sequence[BaseMessage], excess: int, count: Callable[[Sequence[BaseMessage]], int]
) -> set[int]:
    """The places of the oldest droppable messages that free about `excess` tokens."""
    droppable = [place for place, message in enumerate(messages[:-1]) if message.type != "system"]
    own = [place for place in droppable if not _is_demonstration(messages[place])]
    victims: set[int] = set()
    freed = 0
    for place in own or droppable:
        if freed >= excess and messages[place].type == "human":
            break
        freed += count([messages[place]])
        victims.add(place)
    return victims


def _is_demonstration(message: BaseMessage) -> bool:
    return bool(message.additional_kwargs.get(DEMONSTRATION_MARK))
