"""The lorebook editor: the entries of a lorebook's own file, and which of them a line activates."""

from pathlib import Path

from rolellm_agents.cards.values import text
from rolellm_agents.editing.form import Data, FormRow, value_at
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.persona import Persona
from rolellm_agents.persona.editing.lorebook_document import (
    LorebookDocument,
    lorebook_rows,
    save_lorebook,
)
from rolellm_tui.screens.editor import EditorScreen
from rolellm_tui.widgets.editor.lore_trial import try_lorebook
from rolellm_tui.widgets.editor.trial import Trial, TrialSetting


class LorebookEditorScreen(EditorScreen[LorebookDocument, Path]):
    """Edits a lorebook's file. Returns the file if it was saved, or None."""

    unnamed = "Lorebook"

    def __init__(self, document: LorebookDocument, persona: Persona, setting: TrialSetting) -> None:
        """Create the editor.

        Args:
            document: the file to edit.
            persona: for whom the entries are tried.
            setting: with what they are tried.
        """
        super().__init__(document)
        self._persona = persona
        self._setting = setting

    def opening_message(self) -> str:
        """For whom the entries are tried."""
        return f"Tried in a chat with {self._persona.name}."

    def rows_of(self, data: Data) -> list[FormRow]:
        """The rows of the form."""
        return lorebook_rows(self._document, data)

    def name_of(self, data: Data) -> str:
        """The lorebook's name."""
        return text(value_at(data, (*self._document.place, "name")))

    def tried(self, data: Data, line: str) -> Trial:
        """Activate the entries."""
        return try_lorebook(self._document, data, self._persona, self._setting, line)

    def saved(self, data: Data, warned: ChangedOnDiskError | None) -> tuple[LorebookDocument, Path]:
        """Save the lorebook."""
        document = save_lorebook(self._document, data, warned=warned)
        return document, document.path
