"""Our own format: a conversation as JSON, with all branches and swipes, without loss.

Messages have numbers from 1 instead of ids, which differ between transcripts. So the same conversation is
always the same file.
"""

from collections.abc import Mapping
from typing import Any

from rolellm_agents.chat_files.values import Json, objects_in, text_in, to_json
from rolellm_agents.errors import ChatFileError
from rolellm_agents.text import one_line
from rolellm_agents.transcript import ConversationRecord, Kind, Message
from rolellm_agents.transcript.message import is_kind_name
from rolellm_agents.transcript.times import to_iso, to_milliseconds

FORMAT = "rolellm-conversation"
_VERSION = 1


def write(record: ConversationRecord) -> str:
    """Write a conversation."""
    numbers = {message.id: number for number, message in enumerate(record.messages, 1)}
    document = {
        "format": FORMAT,
        "version": _VERSION,
        "persona": record.persona,
        "title": record.title,
        "archived": record.archived,
        "created": record.created,
        "branch": record.branch,
        "branches": {name: numbers.get(head or "") for name, head in record.branches.items()},
        "extensions": dict(record.extensions),
        "messages": [_message_as_json(message, numbers) for message in record.messages],
    }
    return to_json(document, indent=2) + "\n"


def persona_name(document: dict[str, Json]) -> str:
    """The persona's name in the document; empty when it has none."""
    found = document.get("persona")
    return found if isinstance(found, str) else ""


def read(document: dict[str, Json]) -> ConversationRecord:
    """Read a document; the record keeps the document's persona.

    Raises:
        ChatFileError: the document is of a newer version or invalid.
    """
    if document.get("version") != _VERSION:
        raise ChatFileError(
            f"The conversation is of version {document.get('version')!r}, and this rolellm reads "
            f"{_VERSION}; update rolellm."
        )
    messages: list[Message] = []
    for value in objects_in(document, "messages", "The conversation"):
        messages.append(_message_of(value, len(messages) + 1))
    branches, branch = document.get("branches"), document.get("branch")
    if not isinstance(branches, dict) or not isinstance(branch, str) or branch not in branches:
        raise ChatFileError("The conversation has no branches; export it again.")
    return ConversationRecord(
        persona=persona_name(document),
        created=_time(document.get("created"), "The conversation"),
        title=text_in(document, "title", "The conversation"),
        archived=document.get("archived") is True,
        extensions=_object(document.get("extensions") or {}, "extensions", "The conversation"),
        messages=tuple(messages),
        branches={
            name: _place(head, len(messages), f"The branch {one_line(name, 40)!r}")
            for name, head in branches.items()
        },
        branch=branch,
    )


def _message_as_json(message: Message, numbers: Mapping[str, int]) -> dict[str, Json]:
    made_by = dict(message.made_by)
    if isinstance(made_by.get("edited"), str) and made_by["edited"] in numbers:
        made_by["edited"] = numbers[made_by["edited"]]
    return {
        "number": numbers[message.id],
        "parent": numbers[message.parent] if message.parent else None,
        "speaker": message.speaker,
        "audience": list(message.audience),
        "kind": message.kind,
        "created": message.created,
        "status": message.status,
        "text": message.text,
        "made_by": made_by,
        "usage": dict(message.usage) if message.usage is not None else None,
    }


def _message_of(value: dict[str, Json], number: int) -> Message:
    what = f"Message {number}"
    if value.get("number") != number:
        raise ChatFileError(f"{what} of the conversation has a wrong number; export it again.")
    audience = value.get("audience")
    if not isinstance(audience, list) or not all(isinstance(seat, str) for seat in audience):
        raise ChatFileError(f"{what} has no audience; export it again.")
    made_by = _object(value.get("made_by") or {}, "made_by", what)
    edited = made_by.get("edited")
    if type(edited) is int and 0 < edited < number:
        made_by["edited"] = str(edited)
    usage = value.get("usage")
    return Message(
        id=str(number),
        conversation="",
        parent=_place(value.get("parent"), number - 1, what),
        speaker=text_in(value, "speaker", what),
        audience=tuple(audience),
        kind=_kind(value.get("kind"), what),
        text=text_in(value, "text", what),
        status=_one_of(value.get("status"), ("complete", "stopped", "failed", "cut"), what),
        made_by=made_by,
        usage=None if usage is None else _object(usage, "usage", what),
        created=_time(value.get("created"), what),
    )


def _place(value: Json, most: int, what: str) -> str | None:
    if value is None:
        return None
    if type(value) is not int or not 0 < value <= most:
        raise ChatFileError(f"{what} follows {value!r}, which is not an earlier message; export it again.")
    return str(value)


def _kind(value: Json, what: str) -> Kind:
    if not isinstance(value, str) or not is_kind_name(value):
        raise ChatFileError(
            f"{what} has the kind {value!r:.60}, which is no name of a kind; export it again."
        )
    return value


def _one_of(value: Json, known: tuple[Any, ...], what: str) -> Any:
    if value not in known:
        raise ChatFileError(f"{what} is {value!r}, and not one of {', '.join(known)}.")
    return value


def _object(value: Json, key: str, what: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise ChatFileError(f"{what} has no object as {key!r}; add one.")
    return value


def _time(value: Json, what: str) -> str:
    try:
        return to_iso(to_milliseconds(value))
    except (TypeError, ValueError, OverflowError):
        raise ChatFileError(f"{what} has no time in ISO 8601 for 'created'; export it again.") from None
