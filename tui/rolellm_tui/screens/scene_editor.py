"""The scene editor: a form beside the prompt of a seat, with findings below."""

from textual import on
from textual.widgets import OptionList

from rolellm_agents.editing.form import Data, FormRow
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.scene.editing.document import save_scene
from rolellm_agents.scene.editing.form import CAST, scene_rows
from rolellm_tui.screens.editor import EditorScreen
from rolellm_tui.widgets.editor.scene_trial import try_scene
from rolellm_tui.widgets.editor.trial import Trial, TrialSetting


class SceneEditorScreen(EditorScreen[YamlDocument, str]):
    """Edits a scene's file. Returns the scene's id if it was saved, or None.

    The prompt is that of the seat whose row was selected last.
    """

    unnamed = "New scene"
    line_hint = "A line of the narrator to try; empty for the opening alone"

    def __init__(self, document: YamlDocument, setting: TrialSetting) -> None:
        """Create the editor.

        Args:
            document: the file to edit.
            setting: the model that counts tokens.
        """
        super().__init__(document)
        self._first_document = document
        self._setting = setting
        self._seat = 0

    def on_unmount(self) -> None:
        """Let another editor have the draft of the new scene."""
        self._first_document.let_go()

    def opening_message(self) -> str:
        """Where a copy is saved, or whose prompt is shown."""
        if self._document.origin is None:
            return "The prompt is that of the selected seat."
        return f"This is a copy; it is saved as {self._document.path}, the original stays."

    @on(OptionList.OptionHighlighted, "#outline")
    def _seat_selected(self) -> None:
        path = self._row.path
        if path[:1] == CAST and len(path) > 1 and path[1] != self._seat:
            self._seat = int(path[1])
            self.try_again()

    def rows_of(self, data: Data) -> list[FormRow]:
        """The rows of the form."""
        return scene_rows(data)

    def name_of(self, data: Data) -> str:
        """The scene's title."""
        return str(data.get("title") or "")

    def tried(self, data: Data, line: str) -> Trial:
        """Check the scene and compose the prompt of the selected seat."""
        return try_scene(self._document, data, self._setting, self._seat, line)

    def saved(self, data: Data, warned: ChangedOnDiskError | None) -> tuple[YamlDocument, str]:
        """Save the scene."""
        document = save_scene(self._document, data, warned=warned)
        return document, str(document.data.get("id"))
