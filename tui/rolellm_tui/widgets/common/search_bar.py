"""The search bar at the bottom of a screen."""

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message as Event
from textual.widgets import Input, Static

from rolellm_tui.widgets.common.writing_line import WritingLine


class SearchBar(Horizontal):
    """Searches while typing; Enter and the arrow keys move between matches."""

    DEFAULT_CSS = """
    SearchBar { height: 1; display: none; }
    SearchBar.open { display: block; }
    SearchBar Input { width: 1fr; }
    SearchBar Static { width: auto; }
    """
    BINDINGS = [
        Binding("up", "hit(-1)", "Previous", id="search.up", tooltip="Previous match.", priority=True),
        Binding("down", "hit(1)", "Next", id="search.down", tooltip="Next match.", priority=True),
        Binding("enter", "hit(1)", "Next", id="search.next", tooltip="Next match.", priority=True),
        Binding("escape", "close", "Back", id="search.close", tooltip="Close the search.", priority=True),
    ]

    @dataclass
    class Changed(Event):
        """The search text changed."""

        text: str

    @dataclass
    class MoveRequested(Event):
        """The user moves to another match."""

        step: int

    class Closed(Event):
        """The user closed the search."""

    def compose(self) -> ComposeResult:
        """Compose the input and the count of matches."""
        yield Static("/", classes="slash", markup=False)
        yield WritingLine(placeholder="search text", compact=True)
        yield Static("", classes="count", markup=False)

    def open(self) -> None:
        """Open the search bar. Letters that are typed from now on go to it."""
        self.add_class("open")
        # At once: `focus` would let letters that are in the queue already go elsewhere.
        self.screen.set_focus(self.query_one(Input))

    @property
    def is_open(self) -> bool:
        """Whether the user searches."""
        return self.has_class("open")

    @property
    def text(self) -> str:
        """The search text with normalized spaces."""
        return " ".join(self.query_one(Input).value.split())

    def show_position(self, text: str) -> None:
        """Show the position among the matches and their number."""
        self.query_one(".count", Static).update(text)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(self.text))

    def action_hit(self, step: int) -> None:
        """Request the action."""
        self.post_message(self.MoveRequested(step))

    def action_close(self) -> None:
        """Close the search bar."""
        self.remove_class("open")
        self.post_message(self.Closed())
