"""The persona beside the conversation, on screens that are wide enough."""

import asyncio
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from rolellm_agents.config.settings import TextWidth
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import FoundPersona, Persona, find_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.text import one_line, plain
from rolellm_tui.widgets.common.direction import aligned
from rolellm_tui.widgets.library.persona_texts import work_and_year
from rolellm_tui.widgets.library.portrait import Portrait

if TYPE_CHECKING:
    from rolellm_tui.widgets.library.portrait import PixelWidget

_ROOM = 40
"""Columns that must be free beside the text."""
_ROWS = 26
"""The most rows of a portrait."""
_LONGEST = 4_000
"""The longest text that is shown, in characters."""


def has_room_beside(columns: int, text_width: TextWidth) -> bool:
    """Whether a screen has room for the panel beside a text as wide as the user wants it."""
    return text_width != "full" and columns >= text_width + _ROOM


class PersonaPanel(VerticalScroll, can_focus=False):
    """Shows portrait, name and description of a persona."""

    DEFAULT_CSS = """
    PersonaPanel { split: right; }
    PersonaPanel Static { height: auto; }
    """

    def __init__(self, persona: Persona, *, user: str, pixels: "PixelWidget | None" = None) -> None:
        """Show a persona.

        Args:
            persona: the persona.
            user: replaces `{{user}}` in its texts.
            pixels: draws portraits in pixels, from `find_pixels`.
        """
        super().__init__()
        self._persona = with_macros(persona, user)
        self._pixels = pixels

    def compose(self) -> ComposeResult:
        """Compose the portrait and the texts."""
        persona = self._persona
        yield Portrait(self._pixels)
        yield Static(one_line(persona.name), classes="name", markup=False)
        yield Static(work_and_year(persona), classes="work", markup=False)
        yield Static(aligned(Content(plain(persona.description[:_LONGEST]))), classes="description")

    def on_mount(self) -> None:
        """Look for the portrait."""
        self._find()

    @work(group="find", exit_on_error=False)
    async def _find(self) -> None:
        portrait = self.query_one(Portrait)
        portrait.display = False
        found = await asyncio.to_thread(_found, self._persona) if self._persona.portrait else None
        if found is not None:
            portrait.display = True
            portrait.found = found

    @on(Portrait.Failed)
    def _portrait_failed(self, event: Portrait.Failed) -> None:
        """Show no picture; the library says what is wrong with it."""
        event.stop()
        self.query_one(Portrait).display = False

    def on_resize(self, event: events.Resize) -> None:
        """Resize the portrait."""
        rows = max(4, min(_ROWS, event.size.height // 2, event.size.width // 2))
        self.query_one(Portrait).box = (2 * rows, rows)


def _found(persona: Persona) -> FoundPersona | None:
    """The file of a persona; None if it was opened from elsewhere, or is another one by now."""
    try:
        found = find_persona(persona.id)
    except PersonaError:
        return None
    return found if found.persona.name == persona.name else None
