"""Export conversations of the transcript as the text of a file."""

from typing import Literal, get_args

from rolellm_agents.chat_files import own_json, scenes, sharegpt, sillytavern
from rolellm_agents.chat_files.tree import SpeakerNames, active_path, only_active_branch
from rolellm_agents.errors import ChatFileError, PersonaError
from rolellm_agents.persona import find_persona
from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import ConversationRecord

ExportFormat = Literal["markdown", "json", "sillytavern", "sharegpt"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


def export_conversation(
    record: ConversationRecord, format_: ExportFormat, *, user_name: str, everything: bool = False
) -> str:
    """Export a conversation as the text of a file.

    Markdown, which is a play's script for a scene, cannot be imported again. `everything` includes all
    swipes and branches; only our JSON can hold them.

    Raises:
        ChatFileError: the format cannot hold all branches, or a scene is exported to ShareGPT.
    """
    if everything and format_ != "json":
        raise ChatFileError(f"{format_} cannot hold every branch; leave out --all, or use --format json.")
    scene = scenes.scene_of(record.persona, record.extensions)
    if scene is not None and format_ != "json":
        if format_ == "sharegpt":
            raise ChatFileError(
                "ShareGPT supports only two speakers, and this is a scene; use --format markdown, "
                "sillytavern or json."
            )
        return scenes.write(record, scene, format_)
    names = SpeakerNames(record.persona, _name_of(record.persona), user_name)
    match format_:
        case "json":
            return own_json.write(record if everything else only_active_branch(record))
        case "markdown":
            return _markdown(record, names)
        case "sillytavern":
            return sillytavern.write(record, names)
        case "sharegpt":
            return sharegpt.write(record)


def _markdown(record: ConversationRecord, names: SpeakerNames) -> str:
    title = record.title or f"A conversation with {names.of(record.persona)}"
    parts = [f"# {one_line(title)}", f"*{names.of(record.persona)}, {record.created[:10]}*"]
    for message in active_path(record):
        ending = f" ({message.ending})" if message.ending else ""
        parts.append(f"**{names.of(message.speaker)}**{ending}:\n\n{plain(message.text).strip()}")
    return "\n\n".join(parts) + "\n"


def _name_of(persona: str) -> str:
    try:
        return find_persona(persona).persona.name
    except PersonaError:
        return persona
