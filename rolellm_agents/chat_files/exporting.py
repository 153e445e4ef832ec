"""Conversations out of the transcript, as the text of a file."""

from typing import Literal, get_args

from rolellm_agents.chat_files import markdown, own_json, scenes, sharegpt, sillytavern
from rolellm_agents.chat_files.names import SpeakerNames
from rolellm_agents.chat_files.tree import as_it_stands
from rolellm_agents.errors import ChatFileError, PersonaError
from rolellm_agents.persona import find_persona
from rolellm_agents.transcript import ConversationRecord

ExportFormat = Literal["markdown", "json", "sillytavern", "sharegpt"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


def export_conversation(
    record: ConversationRecord, format_: ExportFormat, *, user_name: str, everything: bool = False
) -> str:
    """A conversation as the text of a file.

    Args:
        record: the conversation.
        format_: Markdown is for reading, and a scene's is a play's script; the others can be imported
            again.
        user_name: what the person is called.
        everything: with every swipe and branch; only our JSON can hold them all.

    Raises:
        ChatFileError: another format is to hold everything, or ShareGPT a scene.
    """
    if everything and format_ != "json":
        raise ChatFileError(f"{format_} cannot hold every branch; leave out --all, or use --format json.")
    scene = scenes.scene_of(record.persona, record.extensions)
    if scene is not None and format_ != "json":
        if format_ == "sharegpt":
            raise scenes.not_for_two()
        return scenes.write(record, scene, format_)
    names = SpeakerNames(record.persona, _name_of(record.persona), user_name)
    match format_:
        case "json":
            return own_json.write(record if everything else as_it_stands(record))
        case "markdown":
            return markdown.write(record, names)
        case "sillytavern":
            return sillytavern.write(record, names)
        case "sharegpt":
            return sharegpt.write(record)


def _name_of(persona: str) -> str:
    try:
        return find_persona(persona).persona.name
    except PersonaError:
        return persona
