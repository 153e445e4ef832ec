"""The preset editor: the samplers beside the values with which the model in use samples."""

from textual.binding import Binding

from rolellm_agents.editing.form import Data, FormRow
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.models.presets.editing import preset_rows, save_preset
from rolellm_tui.screens.editor import EditorScreen
from rolellm_tui.widgets.editor.preset_trial import ModelSampling, try_preset
from rolellm_tui.widgets.editor.trial import Trial


class PresetEditorScreen(EditorScreen[YamlDocument, str]):
    """Edits a preset's file. Returns its name in the settings if it was saved, or None."""

    BINDINGS = [
        Binding("f3", "preview", "Values", id="editor.preview", tooltip="The values, and back."),
    ]
    unnamed = "New preset"
    tries_lines = False

    def __init__(self, document: YamlDocument, model: ModelSampling) -> None:
        """Create the editor.

        Args:
            document: the file to edit.
            model: the model in use.
        """
        super().__init__(document)
        self._first_document = document
        self._model = model

    def on_unmount(self) -> None:
        """Let another editor have the draft of the new preset."""
        self._first_document.let_go()

    def opening_message(self) -> str:
        """What empty fields mean."""
        return "An empty field keeps the model's own value."

    def rows_of(self, data: Data) -> list[FormRow]:
        """The rows of the form."""
        return preset_rows(data)

    def name_of(self, data: Data) -> str:
        """The preset's name."""
        return str(data.get("name") or "")

    def tried(self, data: Data, line: str) -> Trial:
        """Check the preset and list its values."""
        return try_preset(self._document, data, self._model)

    def saved(self, data: Data, warned: ChangedOnDiskError | None) -> tuple[YamlDocument, str]:
        """Save the preset."""
        document = save_preset(self._document, data, warned=warned)
        return document, document.path.stem
