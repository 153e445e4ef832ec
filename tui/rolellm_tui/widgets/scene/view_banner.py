"""The banner that shows whose view is displayed."""

from textual.content import Content
from textual.widgets import Static

from rolellm_graphs.scene.stage import Stage
from rolellm_tui.widgets.common.drawn_lines import MUTED
from rolellm_tui.widgets.scene.texts import speakers_of


class ViewBanner(Static):
    """Names the seat of the current view; hidden while all lines are shown."""

    DEFAULT_CSS = """
    ViewBanner {
        height: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, stage: Stage, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create a hidden banner."""
        super().__init__(id=id, markup=False)
        self.display = False
        self._stage = stage
        self._speakers = speakers_of(stage.loaded)

    def show(self, viewer: str | None, key: str) -> None:
        """Update the banner.

        Args:
            viewer: the seat; None for all lines.
            key: the key that shows all lines.
        """
        self.display = viewer is not None
        if viewer is None:
            return
        witnessed, total = len(self._stage.witnessed(viewer)), len(self._stage.messages)
        name = self._speakers.content(viewer)
        count = f" saw it · {witnessed:,} of {total:,} lines · "
        self.update(Content.assemble("As ", name, count, (f"{key} shows all", MUTED)))
