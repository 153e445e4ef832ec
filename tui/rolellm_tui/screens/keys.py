"""The key bindings of the current screen."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Static


class KeyBinding(NamedTuple):
    """A group of keys with the same action."""

    keys: str
    """As in the footer, separated by spaces."""
    does: str
    of: DOMNode
    """Owner of the binding: a widget, a screen, or the app."""
    enabled: bool


def keys_of(screen: Screen[Any]) -> list[KeyBinding]:
    """The enabled key bindings of a screen, one per action with a tooltip."""
    bindings: dict[tuple[DOMNode, str], KeyBinding] = {}
    for node, binding, enabled, tooltip in screen.active_bindings.values():
        description = tooltip or (binding.description if binding.show else "")
        if not description:
            continue
        keys = screen.app.get_key_display(binding)
        earlier = bindings.get((node, binding.action))
        if earlier is not None and keys not in earlier.keys.split():
            keys = f"{earlier.keys} {keys}"
        bindings[node, binding.action] = KeyBinding(keys, description, node, enabled)
    return list(bindings.values())


class KeysScreen(ModalScreen[None]):
    """Lists the key bindings of the screen below and of the app."""

    CSS_PATH = "keys.tcss"
    AUTO_FOCUS = "#window"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    BINDINGS = [
        Binding("escape,f1", "leave", "Close", id="keys.close", tooltip="Back."),
    ]

    def compose(self) -> ComposeResult:
        """Compose two columns."""
        keys = keys_of(self.app.screen_stack[-2])
        with VerticalScroll(id="window"):
            yield Static("Keys", classes="title", markup=False)
            with Horizontal(id="columns"):
                yield _column("Here", (key for key in keys if key.of is not self.app))
                yield _column("Everywhere", (key for key in keys if key.of is self.app))
            yield Static("Esc close", classes="hint", markup=False)

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss()


def _column(title: str, keys: Iterable[KeyBinding]) -> Vertical:
    rows = [
        Horizontal(
            Static(key.keys, classes="key", markup=False),
            Static(key.does, classes="does", markup=False),
            classes="row" if key.enabled else "row off",
        )
        for key in keys
    ]
    return Vertical(Static(title, classes="heading", markup=False), *rows, classes="column")
