"""The footer of a screen, which shows whole keys only, and the key of the key help at any width."""

from collections.abc import Iterable

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey


class KeyFooter(Footer):
    """A footer that hides the keys for which a narrow terminal has no room.

    The last ones, F1 and the command palette, lead to all others and are always shown.
    """

    DEFAULT_CSS = """
    KeyFooter .always {
        dock: right;
        width: auto;
        height: 1;
        background: $footer-background;
        border-left: vkey $foreground 20%;

        FooterKey.-command-palette {
            dock: none;
            border-left: none;
        }
    }
    """

    def compose(self) -> ComposeResult:
        """Compose the keys; those of the app that help to find the others stand at the right."""
        always = []
        others = []
        for part in super().compose():
            if isinstance(part, FooterKey) and (part.key == "f1" or part.has_class("-command-palette")):
                always.append(part)
            else:
                others.append(part)
        others = self._in_order(others)
        _show_whole(others, self._room(always))
        yield from others
        if always:
            yield Horizontal(*always, classes="always")

    def on_resize(self, event: events.Resize) -> None:
        """Show the keys for which there is room now."""
        always = self.query(".always FooterKey").results(FooterKey)
        _show_whole(self.children, self._room(always))

    def _in_order(self, parts: list[Widget]) -> list[Widget]:
        """The keys as they are declared, those of the focused widget first and those of the app last.

        Textual puts a key of the screen that overrides one of the focused widget, such as Ctrl+Z, first.
        """
        owners = {binding.key: node for node, binding, *_ in self.screen.active_bindings.values()}
        chain = (self.screen.focused or self.screen).ancestors_with_self
        declared = (
            key
            for node in chain
            for key in node._bindings.key_to_bindings  # noqa: SLF001 - there is no public order
            if owners.get(key) is node
        )
        places = {key: place for place, key in enumerate(declared)}
        return sorted(parts, key=lambda part: places.get(getattr(part, "key", ""), -1))

    def _room(self, always: Iterable[FooterKey]) -> int:
        """The columns that are left of the keys that are always shown, and of the line beside them."""
        return self.size.width - sum(_columns(key) for key in always) - 1


def _show_whole(parts: Iterable[Widget], room: int) -> None:
    """Show the first keys that fit, and hide those after them."""
    for part in parts:
        if isinstance(part, FooterKey):
            room -= _columns(part)
            part.display = room >= 0


def _columns(key: FooterKey) -> int:
    """The width of a key: a space on both sides of its name, and one after its description."""
    return cell_len(f" {key.key_display} {key.description} ")
