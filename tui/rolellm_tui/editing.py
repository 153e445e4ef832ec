"""Open editors of personas, lorebooks and scenes, with the model and the chat that they are tried with."""

from pathlib import Path

from rolellm_agents.config.settings import load_settings
from rolellm_agents.models.catalog import get_model
from rolellm_agents.persona import FoundPersona, Persona, find_persona
from rolellm_agents.persona.editing.document import new_document, open_document
from rolellm_agents.persona.editing.lorebook_document import LorebookDocument
from rolellm_agents.persona.user_persona import current_user_persona
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.scene.editing.document import new_scene, open_scene
from rolellm_agents.scene.loading import FoundScene
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.answer import as_langchain, lore_so_far
from rolellm_graphs.chat.session import Session
from rolellm_graphs.chat.summary import covered_exchanges
from rolellm_tui.screens.lorebook_editor import LorebookEditorScreen
from rolellm_tui.screens.persona_editor import PersonaEditorScreen
from rolellm_tui.screens.scene_editor import SceneEditorScreen
from rolellm_tui.widgets.editor.trial import TrialSetting


def library_persona_editor(found: FoundPersona | None, user: str) -> PersonaEditorScreen:
    """An editor for a persona, or for a new one, that counts tokens with the model of the settings.

    Raises:
        RoleLLMError: the file, the settings or the model cannot be used.
    """
    settings = load_settings()
    strategy = settings.strategy or default_strategy(settings.model)
    about = current_user_persona(settings).about
    setting = TrialSetting(strategy, user, get_model(settings.model), about_user=about)
    document = open_document(found) if found else new_document()
    return PersonaEditorScreen(document, setting)


def lorebook_editor(document: LorebookDocument, persona: Persona | None, user: str) -> LorebookEditorScreen:
    """An editor for a lorebook's file, which is tried in a new chat with a persona.

    Raises:
        RoleLLMError: the settings cannot be used.
    """
    about = current_user_persona(load_settings()).about
    tried_for = persona or Persona(id="someone", name="Someone", description="Someone.")
    return LorebookEditorScreen(document, tried_for, TrialSetting("", user, about_user=about))


def scene_editor(found: FoundScene | None) -> SceneEditorScreen:
    """An editor for a scene, or for a new one, that counts tokens with the model of the settings.

    Raises:
        RoleLLMError: the file, the settings or the model cannot be used.
    """
    setting = TrialSetting("", "", get_model(load_settings().model))
    return SceneEditorScreen(open_scene(found) if found else new_scene(), setting)


def chat_persona_editor(session: Session, path: Path | None) -> PersonaEditorScreen:
    """An editor for the persona of a chat, which is tried with the chat's last line.

    Args:
        session: the chat.
        path: the persona's file if the chat was opened with one; None to find it by the persona's id.

    Raises:
        RoleLLMError: the persona's file cannot be found or read.
    """
    found = find_persona(path or session.persona.id)
    return PersonaEditorScreen(open_document(found), _setting_of(session))


def _setting_of(session: Session) -> TrialSetting:
    """The chat up to the user's last line, with all that enters its prompts."""
    path = list(session.messages)
    while path and path[-1].speaker != USER:
        path.pop()
    summary = session.summary
    if summary is not None and summary.covers >= len(path):
        summary = None
    options = session.voice_options
    return TrialSetting(
        session.voice.prompting.strategy_function,
        session.voice.user,
        session.model,
        history=[as_langchain(message) for message in path[summary.covers if summary else 0 : -1]],
        line=path[-1].text if path else "",
        about_user=options["about_user"],
        lorebooks=options["lorebooks"],
        recall=options["recall"],
        memories=options["memories"],
        lore=lore_so_far(path),
        note=session.note,
        summary=summary.text if summary else "",
        earlier=covered_exchanges(session.voice, path, summary) if summary else (),
    )
