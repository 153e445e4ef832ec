"""Writes a conversation to a file."""

from pathlib import Path

from rolellm_agents.chat_files import ExportFormat, export_conversation
from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import ChatFileError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.pages import refuse_page
from rolellm_agents.persona.user_persona import current_user_persona
from rolellm_agents.transcript import Transcript

_BY_SUFFIX: dict[str, ExportFormat] = {".json": "json", ".jsonl": "sillytavern"}


def export_to(transcript: Transcript, conversation: str, path: Path, format_: ExportFormat) -> None:
    """Write a conversation to a file, which is replaced if it exists.

    Raises:
        ChatFileError: the file cannot be written.
        RoleLLMError: the conversation or the settings cannot be read.
    """
    refuse_page(path, "A conversation", ChatFileError)
    record = transcript.record(conversation)
    name = current_user_persona(load_settings()).name
    text = export_conversation(record, format_, user_name=name, everything=format_ == "json")
    write_atomically(path, text, ChatFileError)


def export_by_name(transcript: Transcript, conversation: str | None, file: str) -> Path:
    """Write a conversation to a new file, in the format of its suffix: Markdown, JSON or SillyTavern's.

    Args:
        transcript: stores the conversation.
        conversation: its id; None if it has no messages yet.
        file: the name of the file; empty for one with the id of the conversation.

    Raises:
        ChatFileError: there is nothing to write, the file exists already, or it cannot be written.
        RoleLLMError: the conversation or the settings cannot be read.
    """
    if conversation is None:
        raise ChatFileError("There is nothing to export yet; say something first.")
    try:
        path = Path(file or f"conversation-{conversation}.md").expanduser().absolute()
        exists = path.exists()
    except (OSError, RuntimeError) as error:  # a name that is too long, or an unknown user in `~user`
        raise ChatFileError(f"{file} cannot be the name of a file; choose another.") from error
    if exists:
        raise ChatFileError(f"{path} already exists; name another file.")
    export_to(transcript, conversation, path, _BY_SUFFIX.get(path.suffix.lower(), "markdown"))
    return path
