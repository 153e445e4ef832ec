"""SillyTavern's notes: system messages that say whose turn it is, or that the last answer goes on.

Users may change the texts of these notes. A changed note is a system message like any other.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.prompting.suggestion import exchanged_roles

_SPEAKER: Final = re.compile(r"\[Write the next reply only as (?P<name>.+)\.\]")
_CONTINUE: Final = re.compile(r"\[Continue your last message without repeating its original content\.\]")
_USER: Final = re.compile(
    r"\[Write your next reply from the point of view of (?P<name>.+?), using the chat history so far .+\]",
    re.DOTALL,
)
_CHARACTERS_TURN: Final = re.compile(
    r"Write .+'s next reply in a fictional chat between .+ and (?P<user>.+)\."
)
_LONGEST: Final = 2000
"""Characters of a note; patterns take long on much longer texts, and clients send them."""
_LONGEST_NAME: Final = 100
_EXAMPLE_ANSWER: Final = "example_assistant"
_EXAMPLES: Final = ("example_user", _EXAMPLE_ANSWER)
"""The `name` of system messages that are a line of an example dialogue."""
_EXAMPLES_BEGIN: Final = "[Example Chat]"


class ClientNotes(NamedTuple):
    """What the notes of a conversation say."""

    speaker: str | None = None
    """The member of a group that speaks next; None if there is no group."""
    writes_for: str | None = None
    """The user's name, if the model shall write the user's next message."""
    continues: bool = False
    """Whether the last answer goes on."""


def notes_in(messages: Sequence[BaseMessage]) -> ClientNotes:
    """The notes among the system messages at the end of a conversation."""
    notes = ClientNotes()
    for message in reversed(messages):
        if not isinstance(message, SystemMessage):
            break
        if found := _read(_SPEAKER, message):
            notes = notes._replace(speaker=found["name"])
        elif found := _read(_USER, message):
            notes = notes._replace(writes_for=found["name"])
        elif _read(_CONTINUE, message):
            notes = notes._replace(continues=True)
    return notes


def user_in(messages: Sequence[BaseMessage]) -> str | None:
    """The user's name, if a note says it."""
    found = (_read(_CHARACTERS_TURN, message) for message in messages)
    return next((match["user"] for match in found if match), None)


def with_speakers(messages: Sequence[BaseMessage], speaker: str) -> list[BaseMessage]:
    """A group's conversation, in which other members' names stand in `name`.

    Args:
        messages: answers begin with their speaker, as in “Jack Sparrow: Gone, mate.” If one does not,
            SillyTavern was told not to write names, and the messages stay as they are.
        speaker: the member that speaks next, whose own answers get no name.
    """
    if not all(_speaker_of(message) for message in messages if isinstance(message, AIMessage)):
        return list(messages)
    return [_named(message, speaker) if isinstance(message, AIMessage) else message for message in messages]


def without_speaker_note(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The conversation without the note that says who speaks next."""
    return [message for message in messages if not _read(_SPEAKER, message)]


def speaker_note_first(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The conversation with the note that says who speaks next among the first system messages."""
    moved = [message for message in messages if _read(_SPEAKER, message)]
    others = without_speaker_note(messages)
    begins = _begin(others)
    return [*others[:begins], *moved, *others[begins:]]


def as_begun_answer(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The conversation with the answer that shall go on as its last message, instead of the note.

    Only for models that continue such a message. Without the note, the conversation stays as it is.
    """
    kept = [message for message in messages if not _read(_CONTINUE, message)]
    last = max(
        (at for at, message in enumerate(kept) if not isinstance(message, SystemMessage)), default=-1
    )
    if len(kept) == len(messages) or last < 0 or not isinstance(kept[last], AIMessage):
        return list(messages)
    return [*kept[:last], *kept[last + 1 :], kept[last]]


def with_examples(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The conversation with the lines of example dialogues as messages of the user and the character."""
    begins = _begin(messages)
    first = [message for message in messages[:begins] if message.text.strip() != _EXAMPLES_BEGIN]
    others = [message for message in first if message.name not in _EXAMPLES]
    examples = [
        AIMessage(message.text) if message.name == _EXAMPLE_ANSWER else HumanMessage(message.text)
        for message in first
        if message.name in _EXAMPLES
    ]
    return [*others, *examples, *messages[begins:]]


def as_the_user(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The conversation with exchanged roles, so that the model writes as the user.

    The system messages come first, without the note that it is the character's turn.
    """
    told = [message for message in messages if _is_system(message)]
    instruction = [message for message in told if not _read(_CHARACTERS_TURN, message)]
    said = [
        (isinstance(message, HumanMessage), message.text)
        for message in messages
        if isinstance(message, HumanMessage | AIMessage)
    ]
    return [*instruction, *exchanged_roles(said)]


def as_name(name: str) -> str:
    """A speaker's name as SillyTavern writes it into the field `name` of messages."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)[:64]


def _begin(messages: Sequence[BaseMessage]) -> int:
    """The place of the first message that is no system message."""
    return next((at for at, one in enumerate(messages) if not _is_system(one)), len(messages))


def _speaker_of(message: AIMessage) -> str:
    """The name with which an answer begins; empty without one."""
    name, colon, _ = message.text.partition(": ")
    return name if colon and "\n" not in name and len(name) <= _LONGEST_NAME else ""


def _named(message: AIMessage, speaker: str) -> AIMessage:
    name = _speaker_of(message)
    words = message.text.removeprefix(f"{name}: ")
    return message.model_copy(update={"content": words, "name": None if name == speaker else name})


def _is_system(message: BaseMessage) -> bool:
    return isinstance(message, SystemMessage)


def _read(note: re.Pattern[str], message: BaseMessage) -> re.Match[str] | None:
    """The note that a message is, if it is one of this form."""
    if not _is_system(message) or len(text := message.text.strip()) > _LONGEST:
        return None
    return note.fullmatch(text)
