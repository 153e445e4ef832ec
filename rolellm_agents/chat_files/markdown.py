"""A conversation for reading."""

from rolellm_agents.chat_files.names import SpeakerNames
from rolellm_agents.chat_files.tree import path_of
from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import ConversationRecord


def write(record: ConversationRecord, names: SpeakerNames) -> str:
    """The conversation as it stands, in Markdown."""
    path = path_of(record)
    title = record.title or f"A conversation with {names.of(record.persona)}"
    parts = [f"# {one_line(title)}", f"*{names.of(record.persona)}, {record.created[:10]}*"]
    for message in path:
        ending = f" ({message.ending})" if message.ending else ""
        parts.append(f"**{names.of(message.speaker)}**{ending}:\n\n{plain(message.text).strip()}")
    return "\n\n".join(parts) + "\n"
