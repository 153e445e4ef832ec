"""Shortens a conversation that exceeds the context: the oldest turns are dropped, never the persona."""

from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents.errors import ContextLengthError
from rolellm_agents.models.message_marks import DEMONSTRATION_MARK

_STEPS = 4
"""The room for turns is freed in this many steps."""

_NOTHING = HumanMessage("")
"""Precedes a message whose length is measured, because a template may add text to the first one."""


def fit_messages(
    messages: Sequence[BaseMessage], room: int, count: Callable[[Sequence[BaseMessage]], int]
) -> tuple[list[BaseMessage], int]:
    """Drop the oldest turns until the prompt fits.

    System messages and everything from the user's last line on always stay. Demonstrations are dropped only
    after all of the conversation's own turns. The answers to a dropped line are dropped with it, so that
    the rest begins with a user line. Turns are dropped in large steps: if each new message dropped one
    turn, consecutive prompts would share no prefix, and each prompt would be computed from its beginning.

    Args:
        messages: the prompt.
        room: the maximum number of tokens of the prompt.
        count: counts the tokens of a prompt made of the given messages.

    Returns:
        The remaining messages, and how many were dropped.

    Raises:
        ContextLengthError: the instruction and the last message alone are too long.
    """
    kept = list(messages)
    while (size := count(kept)) > room:
        victims = _oldest_turns(kept, size, room, count)
        if not victims:
            raise ContextLengthError(
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
    """The indices of the oldest droppable messages, enough of them to fit into `room`."""
    user_lines = [place for place, message in enumerate(messages) if message.type == "human"]
    last = user_lines[-1] if user_lines else len(messages) - 1
    droppable = [place for place, message in enumerate(messages[:last]) if message.type != "system"]
    own = [place for place in droppable if not _is_demonstration(messages[place])]
    # The last line and what was recalled for it change from turn to turn; a step that depended on them
    # would move the beginning of a long conversation with each turn.
    fixed = count(_beginning(messages[:last]))
    step = max(1, (room - fixed) // _STEPS)
    excess = -((room - size) // step) * step  # rounded up to whole steps
    victims: set[int] = set()
    freed = 0
    for place in own or droppable:
        if freed >= excess and messages[place].type == "human":
            break
        freed += count([_NOTHING, messages[place]]) - count([_NOTHING])
        victims.add(place)
    return victims


def _beginning(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The instruction and the demonstrations."""
    return [
        message
        for place, message in enumerate(messages)
        if (place == 0 and message.type == "system") or _is_demonstration(message)
    ]


def _is_demonstration(message: BaseMessage) -> bool:
    return bool(message.additional_kwargs.get(DEMONSTRATION_MARK))
