"""The footer of a screen, which shows the key of the key help at any width."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Footer
from textual.widgets._footer import FooterKey


class KeyFooter(Footer):
    """A footer whose last keys, F1 and the command palette, are not cut off in a narrow terminal."""

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
        for part in super().compose():
            if isinstance(part, FooterKey) and (part.key == "f1" or part.has_class("-command-palette")):
                always.append(part)
            else:
                yield part
        if always:
            yield Horizontal(*always, classes="always")
