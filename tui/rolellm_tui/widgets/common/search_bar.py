"""Words to look for, at the bottom of a screen."""

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message as Event
from textual.widgets import Input, Static


class SearchBar(Horizontal):
    """Typed words are looked for at once; Enter and the arrow keys go from hit to hit."""

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
    class Sought(Event):
        """The person looks for other words."""

        text: str

    @dataclass
    class Wished(Event):
        """The person wants to go to another hit."""

        step: int

    class Closed(Event):
        """The person has found it, or given up."""

    def compose(self) -> ComposeResult:
        """A slash, the words, and how many hits there are."""
        yield Static("/", classes="slash", markup=False)
        yield Input(placeholder="search text", compact=True)
        yield Static("", classes="count", markup=False)

    def open(self) -> None:
        """Let the person type."""
        self.add_class("open")
        self.query_one(Input).focus()

    @property
    def text(self) -> str:
        """What is sought, without needless spaces."""
        return " ".join(self.query_one(Input).value.split())

    def tell(self, text: str) -> None:
        """Say how it goes."""
        self.query_one(".count", Static).update(text)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Sought(self.text))

    def action_hit(self, step: int) -> None:
        """Pass it on."""
        self.post_message(self.Wished(step))

    def action_close(self) -> None:
        """Give the keys back."""
        self.remove_class("open")
        self.post_message(self.Closed())
