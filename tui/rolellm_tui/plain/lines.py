"""Output lines of plain mode, written to be read aloud."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rolellm_agents.models.reasoning import REASONING
from rolellm_agents.persona import Persona
from rolellm_agents.text import one_line
from rolellm_agents.transcript import ConversationSummary, Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.events import Prompted

YOU = "You"
NO_MESSAGES = "No messages yet; type a line and press Enter."
NO_CONVERSATIONS = "There are no conversations yet."
_SHORT = 60
_LAST = 2
"""Number of messages that are repeated on resuming."""


def message_line(message: Message, persona: str) -> str:
    """Format a message with its speaker, and with a note if it was cut off."""
    name = YOU if message.speaker == USER else persona
    ending = f" ({message.ending})" if message.ending else ""
    return f"{name}: {message.text}{ending}"


def numbered(messages: Sequence[Message], persona: str, first: int = 1) -> list[str]:
    """Format messages with numbers, starting with `first`."""
    return [f"{number}. {message_line(message, persona)}" for number, message in enumerate(messages, first)]


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the singular or plural."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def opening(persona: Persona, model: str, messages: Sequence[Message]) -> list[str]:
    """Format the start of a conversation: the persona, and the last messages or the greeting."""
    lines = [
        f"You are talking with {persona.name}; {model} answers. /help lists the commands, Ctrl-D leaves."
    ]
    if len(messages) > _LAST:
        lines.append(f"There are {len(messages):,} messages so far; /history prints them.")
    if not messages and persona.greeting:
        lines.append(f"{persona.name}: {persona.greeting}")
    return [*lines, *(message_line(message, persona.name) for message in messages[-_LAST:])]


def branches(paths: Sequence[tuple[str, Sequence[Message]]], here: str) -> list[str]:
    """Format the list of branches, with their lengths and last messages.

    Args:
        paths: each branch's name and messages.
        here: the name of the current branch.
    """
    return [
        f"{number}. {name}, {counted(len(path), 'message')}"
        + (f", ends with “{one_line(path[-1].text, _SHORT)}”" if path else "")
        + (" (you are here)" if name == here else "")
        for number, (name, path) in enumerate(paths, 1)
    ]


def conversations(listed: Sequence[ConversationSummary], here: str | None) -> list[str]:
    """Format the list of conversations.

    Args:
        listed: the conversations, the latest first.
        here: the id of the current one.
    """
    return [
        f"{number}. {one.persona}: {one_line(one.title or one.last, _SHORT)}, "
        f"{counted(one.messages, 'message')}{' (you are here)' if one.id == here else ''}"
        for number, one in enumerate(listed, 1)
    ]


def why(number: int, answer: Message) -> list[str]:
    """Format the provenance of an answer."""
    made_by = answer.made_by
    if made_by.get("greeting"):
        return [f"Message {number} is the greeting, not a model's answer."]
    if "edited" in made_by:
        return [f"Message {number} was edited by hand."]
    lines = [
        f"Message {number} comes from {made_by.get('model')} with the strategy {made_by.get('strategy')}."
    ]
    if figures := _figures(made_by):
        lines.append(f"Provenance: {', '.join(figures)}.")
    recalled = [*_recalled(made_by), *_lore(made_by)]
    thoughts = made_by.get(REASONING)
    thought = [f"The model thought before it answered: {thoughts}"] if thoughts else []
    return [*lines, *(recalled or ["Nothing was recalled."]), *thought]


def prompt(prompted: Prompted) -> list[str]:
    """Format a summary of a prompt: its messages by kind, and the sampling settings."""
    letters = sum(len(part.text) for part in prompted.parts)
    kinds = Counter(part.part for part in prompted.parts)
    listed = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
    settings = [f"{name} {value}" for name, value in prompted.sampling.items() if value is not None]
    lines = [
        f"The prompt had {counted(len(prompted.parts), 'message')} with {letters:,} characters: {listed}."
    ]
    return [*lines, f"Sampling: {', '.join(settings)}."] if settings else lines


def full_prompt(prompted: Prompted) -> list[str]:
    """Format all messages of a prompt."""
    return [
        f"{number}. {part.title}, as {part.role}: {part.text}"
        for number, part in enumerate(prompted.parts, 1)
    ]


def _recalled(made_by: Mapping[str, Any]) -> Iterator[str]:
    for item in made_by.get("recalled") or ():
        if item.get("kind") == "demonstration":
            source = f"example {item.get('index', 0) + 1}"
        else:
            source = f"{item.get('of')}, {item.get('source')}"
        yield f"Recalled: {source} ({item.get('why')})."


def _lore(made_by: Mapping[str, Any]) -> Iterator[str]:
    for entry in made_by.get("lore_fired") or ():
        yield f"Lore: {entry.get('name') or entry.get('uid')} of {entry.get('book')} ({entry.get('why')})."


def _figures(made_by: Mapping[str, Any]) -> list[str]:
    templates = {
        "seed": "seed {}",
        "seconds": "{} seconds",
        "first_token_s": "the first word after {}",
        "dropped_messages": "{} earlier messages did not fit",
    }
    values = {key: made_by.get(key) for key in templates}
    if not values["dropped_messages"]:
        values["dropped_messages"] = None
    figures = [templates[key].format(value) for key, value in values.items() if value is not None]
    threads = made_by.get("threads")
    if isinstance(threads, Mapping) and threads.get("threads") != threads.get("most"):
        figures.append(
            f"{threads.get('threads')} of {threads.get('most')} threads, since the machine is busy"
        )
    return figures
