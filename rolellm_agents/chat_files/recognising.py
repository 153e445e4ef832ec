"""Recognise the format of a conversation file by its content."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rolellm_agents.chat_files import own_json, sharegpt, sillytavern
from rolellm_agents.chat_files.tree import with_persona
from rolellm_agents.chat_files.values import MOST_CONVERSATIONS, Json, parse
from rolellm_agents.errors import ChatFileError
from rolellm_agents.transcript import ConversationRecord

_UNKNOWN = (
    "{} is not a conversation in the format of rolellm, SillyTavern or ShareGPT; export it in one of these."
)


@dataclass(frozen=True)
class FoundConversation:
    """A conversation in a file, before its persona is looked up."""

    format: Literal["json", "sillytavern", "sharegpt"]
    persona: str
    """The persona's id or name in the file; empty when it has none."""
    read: Callable[[str], ConversationRecord]
    """Reads the conversation with the persona of the given id; may raise a `ChatFileError`."""


def conversations_in(text: str, what: str) -> list[FoundConversation]:
    """The conversations of a file.

    Raises:
        ChatFileError: the file has no conversation of a known format.
    """
    values = _values_in(text, what)
    if values and (sillytavern.is_header(values[0]) or sillytavern.is_message(values[0])):
        return [_chat(values)]
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    if not 0 < len(values) <= MOST_CONVERSATIONS:
        raise ChatFileError(
            f"{what} holds {len(values):,} conversations; 1 to {MOST_CONVERSATIONS:,} are read."
        )
    return [_document(value, what) for value in values]


def _values_in(text: str, what: str) -> list[Json]:
    """The JSON value of a file, or those of its lines."""
    if text.lstrip()[:1] not in ("{", "["):
        raise ChatFileError(_UNKNOWN.format(what))
    # Not `splitlines`: JSON may contain other line separators.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2 or not _is_json(lines[0][1]):
        return [parse(text, what)]
    return [parse(line, f"Line {number} of {what}") for number, line in lines]


def _is_json(line: str) -> bool:
    try:
        parse(line, "")
    except ChatFileError:
        return False
    return True


def _chat(lines: Sequence[Json]) -> FoundConversation:
    return FoundConversation(
        "sillytavern", sillytavern.persona_name(lines), lambda persona: sillytavern.read(lines, persona)
    )


def _document(value: Json, what: str) -> FoundConversation:
    if isinstance(value, dict) and value.get("format") == own_json.FORMAT:
        return FoundConversation(
            "json",
            own_json.persona_name(value),
            lambda persona: with_persona(own_json.read(value), persona),
        )
    if isinstance(value, dict) and "conversations" in value:
        return FoundConversation(
            "sharegpt", sharegpt.persona_name(value), lambda persona: sharegpt.read(value, persona)
        )
    raise ChatFileError(_UNKNOWN.format(what))
