"""The library: the cast, to pick from."""

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Header, Input, OptionList, Static
from textual.widgets.option_list import Option

from rolellm_agents.persona import FoundPersona, Persona, list_personas
from rolellm_agents.text import one_line, plain


class LibraryScreen(Screen[None]):
    """Type to narrow the list down, Enter to begin."""

    AUTO_FOCUS = "#search"
    BINDINGS = [
        Binding("down", "move(1)", "Next", show=False, priority=True),
        Binding("up", "move(-1)", "Previous", show=False, priority=True),
        Binding("enter", "choose", "Talk", id="talk", tooltip="Talk with this one.", priority=True),
    ]

    @dataclass
    class Chosen(Message):
        """A persona was picked."""

        persona: Persona

    def compose(self) -> ComposeResult:
        """A search line over the list of personas."""
        yield Header()
        yield Input(placeholder="Whom would you like to talk with? Type a name…", id="search")
        yield Static(id="notes", markup=False)
        yield OptionList(id="cast", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Read the cast."""
        self.sub_title = "library"
        cast = list_personas()
        self._cast = cast.found
        notes = self.query_one("#notes", Static)
        notes.update(plain("\n".join(cast.notes)))
        notes.display = bool(cast.notes)
        self._show("")

    @on(Input.Changed, "#search")
    def _narrow(self, event: Input.Changed) -> None:
        self._show(event.value)

    def action_choose(self) -> None:
        """Talk with the highlighted persona."""
        cast = self.query_one("#cast", OptionList)
        if cast.highlighted is not None:
            self._choose(cast.get_option_at_index(cast.highlighted).id)

    @on(OptionList.OptionSelected, "#cast")
    def _picked(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option.id)

    def action_move(self, steps: int) -> None:
        """Move the highlight while the search line keeps the focus."""
        cast = self.query_one("#cast", OptionList)
        if cast.option_count:
            cast.highlighted = ((cast.highlighted or 0) + steps) % cast.option_count

    def _choose(self, persona_id: str | None) -> None:
        for found in self._cast:
            if found.persona.id == persona_id:
                self.post_message(self.Chosen(found.persona))

    def _show(self, wanted: str) -> None:
        cast = self.query_one("#cast", OptionList)
        cast.clear_options()
        words = wanted.casefold().split()
        cast.add_options(
            Option(_line(found.persona), id=found.persona.id)
            for found in self._cast
            if all(word in _searchable(found) for word in words)
        )
        cast.highlighted = 0 if cast.option_count else None


def _line(persona: Persona) -> Content:
    source = f"{persona.source.work}, {persona.source.year}" if persona.source else ""
    about = " · ".join(part for part in (persona.category, source) if part)
    return Content.assemble(
        (plain(persona.name), "bold"),
        "  ",
        (plain(about), "$text-muted"),
        "\n",
        (one_line(persona.description, 160), "$text-muted"),
    )


def _searchable(found: FoundPersona) -> str:
    persona = found.persona
    source = persona.source.work if persona.source else ""
    parts = (persona.id, persona.name, persona.category, persona.language, source, *persona.tags)
    return " ".join(parts).casefold()
