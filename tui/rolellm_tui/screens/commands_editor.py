"""The editor of the user's own commands and quick replies, beside what they would send."""

from textual.binding import Binding

from rolellm_agents.cards.macros import MacroScope
from rolellm_agents.editing.form import Data, FormRow
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_tui.screens.editor import EditorScreen
from rolellm_tui.slash.editing import command_rows, save_commands
from rolellm_tui.widgets.editor.commands_trial import try_commands
from rolellm_tui.widgets.editor.trial import Trial

_SOMEBODY = "Sherlock Holmes"
"""The character in whose chat the commands are tried."""


class CommandsEditorScreen(EditorScreen[YamlDocument, bool]):
    """Edits `commands.yaml`. Returns True if it was saved, or None."""

    BINDINGS = [
        Binding("f3", "preview", "Result", id="editor.preview", tooltip="What is sent, and back."),
    ]
    line_hint = "A text after the command, for {{input}}"

    def __init__(self, document: YamlDocument, user: str) -> None:
        """Create the editor.

        Args:
            document: the file to edit.
            user: the user's name, for `{{user}}`.
        """
        super().__init__(document)
        self._scope = MacroScope(char=_SOMEBODY, user=user)

    def opening_message(self) -> str:
        """How a command is added, and for whom macros are filled."""
        return f"F7 adds a command. Macros are filled as in a chat with {_SOMEBODY}."

    def rows_of(self, data: Data) -> list[FormRow]:
        """The rows of the form."""
        return command_rows(data)

    def name_of(self, data: Data) -> str:
        """The title of the editor."""
        return "Your commands and quick replies"

    def tried(self, data: Data, line: str) -> Trial:
        """Check the commands and fill their macros."""
        return try_commands(self._document, data, self._scope, line)

    def saved(self, data: Data, warned: ChangedOnDiskError | None) -> tuple[YamlDocument, bool]:
        """Save the commands."""
        return save_commands(self._document, data, warned=warned), True
