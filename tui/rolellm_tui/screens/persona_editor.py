"""The persona editor: a form beside the prompt that it makes, with findings below."""

from rolellm_agents.editing.form import Data, FormRow
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.persona import Persona
from rolellm_agents.persona.editing.document import edited_persona, save_document
from rolellm_agents.persona.editing.persona_form import persona_rows
from rolellm_tui.screens.editor import EditorScreen
from rolellm_tui.widgets.editor.persona_trial import try_persona
from rolellm_tui.widgets.editor.trial import Trial, TrialSetting


class PersonaEditorScreen(EditorScreen[YamlDocument, Persona]):
    """Edits a persona's file. Returns the persona as it was saved last, or None."""

    unnamed = "New persona"

    def __init__(self, document: YamlDocument, setting: TrialSetting) -> None:
        """Create the editor.

        Args:
            document: the file to edit.
            setting: with what the persona is tried.
        """
        super().__init__(document)
        self._setting = setting
        self._first_document = document

    def on_unmount(self) -> None:
        """Let another editor have the draft of the new persona."""
        self._first_document.let_go()

    def opening_message(self) -> str:
        """Where a copy is saved."""
        if self._document.origin is None:
            return ""
        return f"The original stays: a save writes a copy, {self._document.path}."

    def rows_of(self, data: Data) -> list[FormRow]:
        """The rows of the form."""
        return persona_rows(data)

    def name_of(self, data: Data) -> str:
        """The persona's name."""
        return str(data.get("name") or "")

    def tried(self, data: Data, line: str) -> Trial:
        """Check the persona and compose its prompt."""
        return try_persona(self._document, data, self._setting, line)

    def saved(self, data: Data, warned: ChangedOnDiskError | None) -> tuple[YamlDocument, Persona]:
        """Save the persona."""
        document = save_document(self._document, data, warned=warned)
        return document, edited_persona(document, document.data).persona
