"""What goes when a conversation outgrows the context: the oldest turns, never the persona."""

from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.message_marks import DEMONSTRATION_MARK

_STEPS = 4
"""In so many steps the room for turns is freed."""

_NOTHING = HumanMessage("")
"""What a message adds to others is less than its own prompt: that may bring an instruction along."""


def fit_messages(
    messages: Sequence[BaseMessage], room: int, count: Callable[[Sequence[BaseMessage]], int]
) -> tuple[list[BaseMessage], int]:
    """Drop the oldest turns until the prompt fits.

    System messages and what stands from the user's last line on always stay; demonstrations go only after
    the conversation's own turns are gone. What follows a dropped line up to the user's next one goes with
    it, so that the rest begins with a question and not with an answer to nothing. Turns go in large steps:
    if each message pushed the one oldest turn out, no prompt would begin like the one before, and
    everything would be read anew each time.

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
        victims = _oldest_turns(kept, size, room, count)
        if not victims:
            raise ModelError(
                f"The message is too long: with the persona it takes {size:,} tokens and the "
                f"model has room for {room:,}; shorten it, or use a model with a longer context."
            )
        kept = [message for place, message in enumerate(kept) if place not in victims]
    return kept, len(messages) - len(kept)


def _oldest_turns(
    messages: Sequence[BaseMessage],
    size: int,
    room: int,
    count: Callable[[Sequence[BaseMessage]], int],
) -> set[int]:
    """The places of the oldest droppable messages, enough of them to leave `room`."""
    asked = [place for place, message in enumerate(messages) if message.type == "human"]
    last = asked[-1] if asked else len(messages) - 1
    droppable = [place for place, message in enumerate(messages[:last]) if message.type != "system"]
    own = [place for place in droppable if not _is_demonstration(messages[place])]
    stays = count([message for place, message in enumerate(messages) if place not in own])
    step = max(1, (room - stays) // _STEPS)
    wanted = -((room - size) // step) * step  # what is too much, rounded up to whole steps
    victims: set[int] = set()
    freed = 0
    for place in own or droppable:
        if freed >= wanted and messages[place].type == "human":
            break
        freed += count([_NOTHING, messages[place]]) - count([_NOTHING])
        victims.add(place)
    return victims


def _is_demonstration(message: BaseMessage) -> bool:
    return bool(message.additional_kwargs.get(DEMONSTRATION_MARK))
