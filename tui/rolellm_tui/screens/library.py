"""The library: choose a persona."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Header, Input, OptionList, Select, Static
from textual.worker import Worker

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.errors import SettingsError
from rolellm_agents.persona import Cast, FoundPersona, Persona, list_personas
from rolellm_agents.persona.from_card.files import ImportedFile
from rolellm_agents.text import plain
from rolellm_tui.screens.import_card import ImportScreen
from rolellm_tui.screens.start_with import Start, StartScreen, models_to_offer
from rolellm_tui.widgets.common.after_typing import after_typing
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.types_into_search import TypesIntoSearch
from rolellm_tui.widgets.library.cast_filters import CastFilters, SearchLine
from rolellm_tui.widgets.library.cast_list import CastList
from rolellm_tui.widgets.library.filtering import (
    Indexed,
    PersonaQuery,
    indexed,
    matching_personas,
    ordered,
    words_of,
)
from rolellm_tui.widgets.library.persona_view import PersonaView

if TYPE_CHECKING:
    from rolellm_tui.widgets.library.portrait import PixelWidget

PAUSE = 0.08
"""Seconds without a new highlight before the card is filled."""
_ASK = "Type to search for a persona…"
_NOBODY = "No matches. Escape clears the search, F4 imports a character."
_READING = "Loading personas…"
_PATIENCE = 0.5
"""Seconds before a loading notice appears."""
_NOTES = 3
"""Maximum number of notes above the list."""


class LibraryScreen(Screen[None], TypesIntoSearch):
    """A searchable list of personas with a card. Enter opens a chat."""

    CSS_PATH = "library.tcss"
    AUTO_FOCUS = "#search"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (160, "-vast")]
    BINDINGS = [
        Binding("down", "move(1)", "Next", id="library.next", show=False, priority=True),
        Binding("up", "move(-1)", "Previous", id="library.previous", show=False, priority=True),
        Binding("pagedown", "page(1)", "Further", id="library.further", show=False),
        Binding("pageup", "page(-1)", "Back", id="library.back", show=False),
        Binding("enter", "choose", "Talk", id="talk", tooltip="Talk with this persona.", priority=True),
        Binding("f3", "card", "Card", id="library.card", tooltip="Read the full card, or go back."),
        Binding("space", "card", "Card", id="library.card-from-list", show=False),
        Binding("f4", "import", "Import", id="library.import", tooltip="Import a character card."),
        Binding(
            "f5", "filter", "Filter", id="library.filter", tooltip="Filter by language, category or tag."
        ),
        Binding(
            "f6",
            "start_with",
            "Setup",
            id="library.setup",
            tooltip="Choose strategy, model and greeting first.",
        ),
        Binding("f7", "scenes", "Scenes", id="library.scenes", tooltip="Scenes with several characters."),
        Binding("f8,f11", "edit", "Edit", id="library.edit", tooltip="Edit this persona.", show=False),
        Binding("f9", "new", "New", id="library.new", tooltip="Write a new persona.", show=False),
        Binding(
            "ctrl+o",
            "edit_lorebook",
            "Lorebook",
            id="library.lorebook",
            tooltip="Edit a lorebook's file.",
            show=False,
        ),
        Binding("escape", "clear", "Clear", id="library.clear", tooltip="Clear search and filters."),
    ]

    recent: var[Sequence[str]] = var((), init=False)
    """Ids of personas, most recent conversation first."""
    user: var[str] = var(DEFAULT_USER, init=False)
    """The text that replaces `{{user}}` in cards."""

    @dataclass
    class Chosen(Message):
        """A persona was chosen."""

        persona: Persona
        strategy: str | None = None
        """None for the one in the settings."""
        model: str | None = None
        """A name or a spec; None for the one in the settings."""
        greeting: int = 0
        """Index of the greeting, from 0; for `with_greeting`."""
        new: bool = False
        """Start a new conversation instead of resuming the latest."""

    class ScenesRequested(Message):
        """The user opens the scenes."""

    @dataclass
    class EditRequested(Message):
        """The user edits a persona, or writes a new one."""

        found: FoundPersona | None

    @dataclass
    class LorebookRequested(Message):
        """The user edits a lorebook's file."""

        persona: Persona | None
        """For whom it is tried."""

    def __init__(
        self,
        recent: Sequence[str] = (),
        *,
        user: str = DEFAULT_USER,
        pixels: "PixelWidget | None" = None,
    ) -> None:
        """Create the screen. Personas are loaded once it is shown.

        Args:
            recent: the ids of personas, ordered by their latest conversation, newest first.
            user: replaces `{{user}}` in cards.
            pixels: draws portraits in pixels, from `find_pixels`; None for half blocks.
        """
        super().__init__()
        self.set_reactive(LibraryScreen.recent, recent)
        self.set_reactive(LibraryScreen.user, user)
        self._pixels = pixels
        self._cast: tuple[Indexed, ...] = ()
        self._by_id: dict[str, FoundPersona] = {}
        self._loaded = False
        self._in_a_hurry = False
        self._offered_clear = False
        self._listed: PersonaQuery | None = None
        """Personas that match the search and the filters."""

    def compose(self) -> ComposeResult:
        """Compose the search line, filters, list and card."""
        yield Header()
        yield SearchLine(placeholder=_ASK, select_on_focus=False, id="search")
        yield CastFilters(id="filters")
        yield Static(id="notes", markup=False)
        with Horizontal(id="shelf"):
            yield CastList(id="cast")
            yield Static(_READING, id="nobody", markup=False)
            yield PersonaView(user=self.user, pixels=self._pixels, id="card")
        yield KeyFooter()

    def on_mount(self) -> None:
        """Load the personas."""
        self.sub_title = "library"
        self.query_one("#notes").display = False
        if self.recent:
            self.query_one(CastFilters).order = "recent"
        self._read_cast()
        self.set_timer(_PATIENCE, self._show_loading)

    def _show_loading(self) -> None:
        if not self._loaded:
            self.add_class("empty")

    @work(group="cast", exclusive=True, exit_on_error=False)
    async def _read_cast(self, highlight: str | None = None) -> None:
        """Load the personas and highlight one."""
        cast, self._cast = await asyncio.to_thread(_read)
        self._by_id = {found.persona.id: found for found in cast.found}
        self._loaded = True
        self.query_one("#nobody", Static).update(_NOBODY)
        self._show_notes(cast.notes)
        self.query_one(CastFilters).offer(cast.found)
        self._show(highlight)
        if self._in_a_hurry:
            self.action_choose()

    @on(Input.Changed, "#search")
    def _typed(self) -> None:
        self._catch_up()

    @on(CastFilters.Changed)
    def _filtered(self) -> None:
        self._show()
        if self._in_menu:
            # Focus the list after a filter was chosen.
            self.query_one(SearchLine).focus()

    def watch_recent(self) -> None:
        """Sort again and keep the highlighted persona."""
        self._show(self._highlighted)

    def forget_search(self) -> None:
        """Empty the search line, for the user who comes back."""
        self.query_one(SearchLine).value = ""

    def watch_user(self, user: str) -> None:
        """Refill the card."""
        self.query_one(PersonaView).user = user

    @on(OptionList.OptionHighlighted, "#cast")
    def _highlight_moved(self, event: OptionList.OptionHighlighted) -> None:
        self._show_card(event.option_id)

    @work(group="card", exclusive=True, exit_on_error=False)
    async def _show_card(self, persona_id: str | None) -> None:
        """Fill the card after a pause, because its layout is slow."""
        await asyncio.sleep(PAUSE)
        self.query_one(PersonaView).found = self._by_id.get(persona_id or "")

    @on(OptionList.OptionSelected, "#cast")
    def _persona_selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option_id)

    @on(SearchLine.CardPasted)
    def _pasted(self, event: SearchLine.CardPasted) -> None:
        self._import(event.text)

    @on(events.DescendantFocus, "#search")
    def _search_focused(self) -> None:
        self._close_card()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._show_notes([failure])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable list actions unless another widget has the focus, and Clear if there is a search."""
        match action:
            case "move":
                return isinstance(self.focused, SearchLine)
            case "choose" | "start_with":
                return not self._in_menu
            case "clear":
                return not self._in_menu and self._clearable
            case _:
                return True

    def action_move(self, steps: int) -> None:
        """Move the highlight while the search line keeps the focus."""

        def move() -> None:
            self._catch_up()
            self.query_one(CastList).move(steps)

        after_typing(self, move)

    def action_page(self, pages: int) -> None:
        """Move the highlight by one page."""
        self.query_one(CastList).page(pages)

    def action_choose(self) -> None:
        """Talk with the highlighted persona; while loading, with the first one."""

        def choose() -> None:
            self._catch_up()
            self._in_a_hurry = not self._loaded
            self._choose(self._highlighted)

        after_typing(self, choose)

    def action_card(self) -> None:
        """Move the focus to the card and back."""
        card = self.query_one(PersonaView)
        if self._card_open:
            self._close_card()
            self.query_one(SearchLine).focus()
        elif card.found is not None:
            self.add_class("card-open")
            card.focus_words()
            self._offer_clear()

    def action_filter(self) -> None:
        """Focus the filters."""
        self._close_card()
        self.query_one(CastFilters).query(Select).first().focus()

    def action_clear(self) -> None:
        """Close the card, or clear search and filters."""
        if self._card_open:
            self.action_card()
        else:
            self.query_one(SearchLine).value = ""
            self.query_one(CastFilters).clear()
            self.query_one(SearchLine).focus()

    def action_scenes(self) -> None:
        """Open the scenes."""
        self.post_message(self.ScenesRequested())

    def action_edit(self) -> None:
        """Edit the highlighted persona."""
        if found := self._by_id.get(self._highlighted or ""):
            self.post_message(self.EditRequested(found))

    def action_new(self) -> None:
        """Write a new persona."""
        self.post_message(self.EditRequested(None))

    def action_edit_lorebook(self) -> None:
        """Edit a lorebook's file."""
        found = self._by_id.get(self._highlighted or "")
        self.post_message(self.LorebookRequested(found.persona if found else None))

    def show_edited(self, persona: Persona) -> None:
        """Read the personas again, and highlight one."""
        self._close_card()
        self.action_clear()
        self._read_cast(persona.id)

    def action_import(self) -> None:
        """Import a character card."""
        self._import()

    @work(group="import", exclusive=True, exit_on_error=False)
    async def _import(self, text: str = "") -> None:
        imported = await self.app.push_screen_wait(ImportScreen(text))
        self._show_imported(imported)

    @work(group="setup", exclusive=True, exit_on_error=False)
    async def action_start_with(self) -> None:
        """Choose strategy, model, greeting and conversation, then talk."""
        found = self._by_id.get(self._highlighted or "")
        if found is None:
            return
        try:
            models = await asyncio.to_thread(models_to_offer)
        except SettingsError as error:
            self._show_notes([str(error)])
            return
        persona = found.persona
        screen = StartScreen(persona, models=models, user=self.user, met=persona.id in self.recent)
        start: Start | None = await self.app.push_screen_wait(screen)
        if start:
            self.post_message(self.Chosen(persona, start.strategy, start.model, start.greeting, start.new))

    @property
    def _highlighted(self) -> str | None:
        option = self.query_one(CastList).highlighted_option
        return option.id if option else None

    @property
    def _in_menu(self) -> bool:
        focused = self.focused
        return focused is not None and any(
            isinstance(ancestor, CastFilters) for ancestor in focused.ancestors
        )

    @property
    def _card_open(self) -> bool:
        return self.has_class("card-open")

    @property
    def _persona_query(self) -> PersonaQuery:
        filters = self.query_one(CastFilters)
        words = words_of(self.query_one(SearchLine).value)
        return PersonaQuery(words, filters.language, filters.category, filters.tag)

    def _offer_clear(self) -> None:
        """Refresh the footer only when it changes."""
        if self._clearable != self._offered_clear:
            self._offered_clear = self._clearable
            self.refresh_bindings()

    @property
    def _clearable(self) -> bool:
        return self._card_open or self._persona_query != PersonaQuery()

    def _choose(self, persona_id: str | None) -> None:
        if found := self._by_id.get(persona_id or ""):
            self.post_message(self.Chosen(found.persona))

    def _close_card(self) -> None:
        self.remove_class("card-open")
        self._offer_clear()

    def _show_imported(self, imported: Sequence[ImportedFile]) -> None:
        """Clear the search and highlight the first imported persona."""
        personas = [one for one in imported if one.kind == "persona"]
        lorebooks = [one for one in imported if one.kind == "lorebook"]
        for book in lorebooks:
            message = f"Imported the lorebook {book.id}; use it with “rolellm chat --lorebook {book.id}”."
            self.notify(plain(message), markup=False)
        if personas:
            self.action_clear()
            self._read_cast(personas[0].id)

    def _catch_up(self) -> None:
        """List the matches, if they are not listed yet."""
        if self._listed != self._persona_query:
            self._show()

    def _show(self, highlight: str | None = None) -> None:
        """List the personas that match search and filters."""
        if not self._loaded:
            return
        filters = self.query_one(CastFilters)
        self._listed = self._persona_query
        matches = matching_personas(ordered(self._cast, filters.order, self.recent), self._listed)
        self.query_one(SearchLine).border_subtitle = f"{len(matches):,} of {len(self._cast):,}"
        self.query_one(CastList).show(matches, highlight)
        self.set_class(not matches, "empty")
        if not matches:
            self._show_card(None)
        self._offer_clear()

    def _show_notes(self, notes: Sequence[str]) -> None:
        hidden = len(notes) - _NOTES
        lines = [
            *notes[:_NOTES],
            *([f"And {hidden} more; see “rolellm persona list”."] if hidden > 0 else []),
        ]
        line = self.query_one("#notes", Static)
        line.update(plain("\n".join(lines)))
        line.display = bool(notes)


def _read() -> tuple[Cast, tuple[Indexed, ...]]:
    cast = list_personas()
    return cast, indexed(cast.found)
