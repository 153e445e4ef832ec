"""Open the persona editor: from the library, and from a chat with its model and its last lines."""

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.config.settings import load_settings
from rolellm_agents.models.catalog import get_model
from rolellm_agents.persona import FoundPersona, find_persona
from rolellm_agents.persona.editing.document import new_document, open_document
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_tui.screens.persona_editor import PersonaEditorScreen
from rolellm_tui.widgets.editor.persona_trial import TrialSetting


def library_persona_editor(found: FoundPersona | None, user: str) -> PersonaEditorScreen:
    """An editor for a persona, or for a new one, that counts tokens with the model of the settings.

    Raises:
        RoleLLMError: the file, the settings or the model cannot be used.
    """
    settings = load_settings()
    strategy = settings.strategy or default_strategy(settings.model)
    setting = TrialSetting(strategy, user, get_model(settings.model))
    document = open_document(found) if found else new_document()
    return PersonaEditorScreen(document, setting)


def chat_persona_editor(session: Session) -> PersonaEditorScreen:
    """An editor for the persona of a chat, which is tried with the chat's last line.

    Raises:
        RoleLLMError: the persona's file cannot be found or read.
    """
    found = find_persona(session.persona.id)
    history, line = _until_last_line(session)
    return PersonaEditorScreen(
        open_document(found),
        TrialSetting(session.voice.strategy, session.voice.user, session.model, history, line),
    )


def _until_last_line(session: Session) -> tuple[list[BaseMessage], str]:
    """The messages before the user's last line, and that line; empty in a new chat."""
    messages = list(session.messages)
    while messages and messages[-1].speaker != USER:
        messages.pop()
    said: list[BaseMessage] = [
        HumanMessage(message.text) if message.speaker == USER else AIMessage(message.text)
        for message in messages
    ]
    return said[:-1], messages[-1].text if messages else ""
