"""The line that tells how many earlier messages the prompts hold as a summary."""

from textual.binding import Binding
from textual.message import Message as AppMessage
from textual.widgets import Static

from rolellm_graphs.chat.summary import ActiveSummary
from rolellm_tui.widgets.common.formatting import counted


class SummaryLine(Static, can_focus=True):
    """One line, `1,212 earlier messages as a summary`; hidden without a summary."""

    DEFAULT_CSS = """
    SummaryLine {
        height: 1;
        padding: 0 2;
        display: none;
        color: $text-muted;
        text-style: italic;
    }
    SummaryLine.-shown {
        display: block;
    }
    SummaryLine:focus, SummaryLine:hover {
        color: $text;
    }
    """
    BINDINGS = [
        Binding("enter", "open", "Open", id="summary.open", tooltip="Read or edit the summary."),
    ]

    class Opened(AppMessage):
        """The user wants to read the summary."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create a hidden line."""
        super().__init__(id=id, markup=False)

    def show_summary(self, summary: ActiveSummary | None) -> None:
        """Show how much a summary covers, or hide the line."""
        self.set_class(summary is not None, "-shown")
        self.update(f"{counted(summary.covers, 'earlier message')} as a summary" if summary else "")

    def action_open(self) -> None:
        """Open the summary."""
        self.post_message(self.Opened())

    def on_click(self) -> None:
        """Open the summary."""
        self.action_open()
