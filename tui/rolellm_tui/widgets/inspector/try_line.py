"""An input that shows which items a line would recall."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from rolellm_agents.persona import Persona
from rolellm_agents.recall import RecalledItem
from rolellm_agents.text import plain
from rolellm_tui.widgets.inspector.recalled_view import RecalledView
from rolellm_tui.widgets.inspector.silent_lore import SilentLore

_HINT = "Type a line to see what it would recall. It is not sent."


class TryLine(Vertical):
    """An input for a line, with the items that the line would recall."""

    DEFAULT_CSS = """
    TryLine > .hint { height: auto; }
    TryLine > #tried { height: 1fr; }
    """

    BINDINGS = [
        Binding("down", "scroll(1)", "Down", id="try.down", tooltip="Scroll down.", show=False),
        Binding("up", "scroll(-1)", "Up", id="try.up", tooltip="Scroll up.", show=False),
    ]

    @dataclass
    class Typed(Message):
        """The line changed."""

        text: str

    def compose(self) -> ComposeResult:
        """Compose the input and the items below it."""
        yield Input(placeholder="What is that lamp for?", id="try", compact=True)
        yield Static(_HINT, classes="hint", markup=False)
        yield Vertical(id="tried")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(event.value.strip()))

    async def show(
        self,
        recalled: Sequence[RecalledItem],
        silent: SilentLore | None,
        persona: Persona,
        user: str,
    ) -> None:
        """Show the recalled items of the line.

        Args:
            recalled: the recalled items.
            silent: the inactive lorebook entries; None if they are unknown.
            persona: the persona to which the items belong.
            user: the user's name.
        """
        view = RecalledView(recalled, persona, user)
        await self._replace(view)
        if silent:
            await view.show_silent(silent)

    async def show_message(self, sentence: str = _HINT) -> None:
        """Show a message in place of the items."""
        await self._replace(None)
        self.query_one(".hint", Static).update(plain(sentence))

    def action_scroll(self, step: int) -> None:
        """Scroll the items while typing."""
        for view in self.query(RecalledView):
            view.scroll_relative(y=step, animate=False)

    async def _replace(self, view: RecalledView | None) -> None:
        container = self.query_one("#tried")
        with self.app.batch_update():
            await container.remove_children()
            if view:
                await container.mount(view)
        self.query_one(".hint").display = view is None
