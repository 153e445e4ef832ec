"""Import conversation files into the transcript."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rolellm_agents.chat_files.recognising import FoundConversation, conversations_in
from rolellm_agents.chat_files.scenes import is_scene, stored_here
from rolellm_agents.chat_files.values import FILE_BYTES
from rolellm_agents.errors import ChatFileError, PersonaError
from rolellm_agents.persona import find_persona
from rolellm_agents.text import one_line
from rolellm_agents.transcript import ConversationRecord, Transcript


@dataclass(frozen=True)
class ImportedConversation:
    """A conversation that was imported."""

    id: str
    persona: str
    """The persona's id; for a scene, `scene:` and the scene's id."""
    title: str
    messages: int
    """Number of messages in the tree."""
    format: str


def import_chat_file(
    source: Path, transcript: Transcript, persona: str | None = None
) -> list[ImportedConversation]:
    """Import all conversations of a file, or none if one of them is invalid.

    The file is our JSON, a SillyTavern chat or ShareGPT; the content decides. Each conversation is added in
    its own transaction. The persona, an id, name or file, is looked up by the name in the file when None.
    Scenes in our JSON have their own cast; the models that they name are left out, since a file from
    elsewhere does not choose models.

    Raises:
        ChatFileError: the file cannot be read, or names no persona.
        PersonaError: the given persona does not exist.
        StorageError: the transcript cannot be written.
    """
    given = find_persona(persona).persona.id if persona else None
    found = conversations_in(_text_of(source), str(source))
    records = [
        _read(conversation, given, str(source) if len(found) == 1 else f"{source}, conversation {number}")
        for number, conversation in enumerate(found, 1)
    ]
    records = [stored_here(record, source) if is_scene(record.persona) else record for record in records]
    return [
        ImportedConversation(
            transcript.add_record(record),
            record.persona,
            record.title,
            len(record.messages),
            conversation.format,
        )
        for conversation, record in zip(found, records, strict=True)
    ]


def _text_of(source: Path) -> str:
    try:
        with source.open("rb") as file:
            content = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise ChatFileError(f"{source} cannot be read ({error.strerror}); name another file.") from error
    if len(content) > FILE_BYTES:
        raise ChatFileError(f"{source} is larger than {FILE_BYTES >> 20} MiB; split it.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ChatFileError(f"{source} is not UTF-8 text; name a conversation file.") from None


def _read(found: FoundConversation, given: str | None, what: str) -> ConversationRecord:
    if found.format == "json" and is_scene(found.persona):
        if given:
            raise ChatFileError(f"{what} is a scene, which has its own cast; leave out --persona.")
        persona = found.persona
    else:
        persona = given or _persona_named(found.persona, what)
    try:
        record = found.read(persona)
    except ChatFileError as error:
        raise ChatFileError(f"{what}: {error}") from error
    return replace(record, extensions=_without_models(record.extensions))


def _without_models(extensions: Mapping[str, Any]) -> Mapping[str, Any]:
    """The extensions without the models of a scene: a file from elsewhere does not choose them."""
    scene = extensions.get("scene")
    if not isinstance(scene, dict):
        return extensions
    kept = {key: value for key, value in scene.items() if key != "model"}
    for part in ("director", "narrator"):
        if part in kept:
            kept[part] = _without_model(kept[part])
    if isinstance(kept.get("cast"), list):
        kept["cast"] = [_without_model(seat) for seat in kept["cast"]]
    return {**extensions, "scene": kept}


def _without_model(part: Any) -> Any:
    return {key: value for key, value in part.items() if key != "model"} if isinstance(part, dict) else part


def _persona_named(name: str, what: str) -> str:
    if not name:
        raise ChatFileError(f"{what} does not name its persona; name it with --persona.")
    with contextlib.suppress(PersonaError):
        # A name in a file is never used as a path.
        if not name.endswith((".yaml", ".yml")):
            return find_persona(name).persona.id
    raise ChatFileError(
        f"{what} is with {one_line(name, 60)!r}, which is not among your personas; name a persona "
        "with --persona."
    )
