"""What commands need to find or to choose in a conversation."""

from collections.abc import Sequence

from rolellm_agents.errors import MessageError
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import greetings_of, with_greeting
from rolellm_agents.transcript import ConversationSummary, Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.cursor import ConversationCursor
from rolellm_graphs.chat.session import Session
from rolellm_tui.slash.commands import Command


def numbered_message(cursor: ConversationCursor, number: int) -> Message:
    """The message of a number, counted from 1.

    Raises:
        MessageError: there is no such message.
    """
    messages = cursor.messages
    if not 1 <= number <= len(messages):
        raise MessageError(f"There is no message {number}; /history prints the numbers.")
    return messages[number - 1]


NO_THOUGHTS = "The model did not think before this answer, or does not show what it thought."


def numbered_conversation(listed: Sequence[ConversationSummary], number: int) -> ConversationSummary:
    """The conversation of a number, counted from 1.

    Raises:
        MessageError: there is no such conversation.
    """
    if not 1 <= number <= len(listed):
        raise MessageError(f"There is no conversation {number}; /conversations lists them.")
    return listed[number - 1]


def with_numbered_greeting(persona: Persona, number: int) -> Persona:
    """The persona with the greeting of a number, counted from 1.

    Raises:
        MessageError: there is no such greeting.
    """
    count = len(greetings_of(persona))
    if not 1 <= number <= count:
        known = f"greetings 1 to {count}" if count > 1 else "one greeting" if count else "no greeting"
        raise MessageError(f"There is no greeting {number}; {persona.name} has {known}.")
    return with_greeting(persona, number - 1)


def last_answer(session: Session) -> Message:
    """The answer that ends the conversation.

    Raises:
        MessageError: the conversation does not end with an answer.
    """
    messages = session.messages
    if not messages or messages[-1].speaker == USER:
        raise MessageError("There is no answer yet; type a line, or /again.")
    return messages[-1]


def choose_swipe(session: Session, command: Command) -> str:
    """Go to another swipe of the last answer; a sentence that says which one it is.

    Raises:
        MessageError: there is no such answer.
    """
    return choose_beside(session, last_answer(session), command.text, command.number)


def choose_beside(cursor: ConversationCursor, message: Message, direction: str, number: int) -> str:
    """Go to another swipe of a message; a sentence that says which one it is.

    Args:
        cursor: the conversation.
        message: a message of its branch.
        direction: `left` or `right`, if no number is given.
        number: the number of the swipe; 0 for none.

    Raises:
        MessageError: there is no such swipe.
    """
    swipes = cursor.swipes(message.id)
    current = [swipe.id for swipe in swipes].index(message.id) + 1
    number = number or current + (1 if direction == "right" else -1)
    if not 1 <= number <= len(swipes):
        raise MessageError(
            f"There is no answer {number}, this is {current} of {len(swipes)}; /again generates another."
        )
    cursor.choose(swipes[number - 1].id)
    return f"Answer {number} of {len(swipes)}."


def begin_branch(cursor: ConversationCursor, number: int) -> str:
    """Start a branch after the message of a number; a sentence that names it.

    Raises:
        MessageError: there is no such message.
    """
    name = cursor.branch(numbered_message(cursor, number).id)
    return f"Continuing after message {number}, on {name}."


def branch_paths(cursor: ConversationCursor) -> list[tuple[str, Sequence[Message]]]:
    """Each branch's name and messages, oldest branch first."""
    transcript = cursor.transcript
    return [(name, transcript.path_to(head) if head else []) for name, head in cursor.branches().items()]


def choose_branch(cursor: ConversationCursor, number: int) -> str:
    """Go to the branch of a number; a sentence that names it.

    Raises:
        MessageError: there is no such branch.
    """
    names = list(cursor.branches())
    if not 1 <= number <= len(names):
        raise MessageError(f"There is no branch {number}; /branches lists them.")
    cursor.go_to_branch(names[number - 1])
    return f"Now on {names[number - 1]}."


def step_back(cursor: ConversationCursor) -> str:
    """Undo; an empty text, or a sentence that there is nothing to undo."""
    return "" if cursor.undo() else "Nothing to undo."


def step_forward(cursor: ConversationCursor) -> str:
    """Redo; an empty text, or a sentence that there is nothing to redo."""
    return "" if cursor.redo() else "Nothing to redo."
