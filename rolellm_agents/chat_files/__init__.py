"""Import and export of conversations: our own JSON, Markdown, SillyTavern chats and ShareGPT."""

from rolellm_agents.chat_files.exporting import EXPORT_FORMATS, ExportFormat, export_conversation
from rolellm_agents.chat_files.importing import ImportedConversation, import_chat_file

__all__ = [
    "EXPORT_FORMATS",
    "ExportFormat",
    "ImportedConversation",
    "export_conversation",
    "import_chat_file",
]
