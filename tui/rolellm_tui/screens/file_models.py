"""A dialog that asks whether the models of a scene from elsewhere count."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from rolellm_agents.config.foreign_files import ForeignFile
from rolellm_agents.scene.file_models import FileModel
from rolellm_agents.text import one_line, plain
from rolellm_tui.widgets.common.drawn_lines import MUTED


class FileModelsScreen(ModalScreen[bool | None]):
    """Asks for agreement. Returns it, or None when cancelled."""

    CSS_PATH = "file_models.tcss"
    BINDINGS = [
        Binding("y", "answer(True)", "Use", id="file-models.use", tooltip="Use the file's models."),
        Binding("n", "answer(False)", "Own", id="file-models.own", tooltip="Use your own model."),
        Binding("escape", "leave", "Leave", id="file-models.leave", tooltip="Do not play the scene."),
    ]

    def __init__(self, file: ForeignFile, models: Sequence[FileModel], own: str) -> None:
        """Create the dialog.

        Args:
            file: the scene's file.
            models: the models that it names.
            own: the model of the user's settings.
        """
        super().__init__()
        self._file = file
        self._models = models
        self._own = own

    def compose(self) -> ComposeResult:
        """Compose the dialog."""
        with Vertical(id="file-models"):
            yield Static("This scene comes from elsewhere and names models", classes="title", markup=False)
            yield Static(plain(str(self._file.path)), markup=False)
            with VerticalScroll():
                yield Static(Content("\n").join(map(_about, self._models)), id="named", markup=False)
            yield Static(
                f"Y use these models · N play with {one_line(self._own, 60)} · Esc cancel",
                classes="keys",
                markup=False,
            )

    def action_answer(self, agrees: bool) -> None:
        """Return the answer."""
        self.dismiss(agrees)

    def action_leave(self) -> None:
        """Cancel."""
        self.dismiss(None)


def _about(model: FileModel) -> Content:
    return Content.assemble(
        (f"{one_line(model.place)}: {one_line(model.spec)} ", "bold"), (f"{one_line(model.reach)}.", MUTED)
    )
