"""The card of a persona in the library."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Static

from rolellm_agents.persona import Demonstration, FoundPersona, Origin, Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.text import one_line, plain
from rolellm_tui.widgets.common.direction import aligned
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.common.types_into_search import TypesIntoSearch
from rolellm_tui.widgets.library.persona_texts import LANGUAGES, work_and_year
from rolellm_tui.widgets.library.portrait import Portrait

if TYPE_CHECKING:
    from rolellm_tui.widgets.library.portrait import PixelWidget

SAMPLES = 3
"""Maximum number of displayed demonstrations."""
_ROOM = 4_000
"""Maximum length of a displayed text, in characters."""
_ORIGINS: dict[Origin, str] = {
    "bundled": "bundled",
    "user": "yours",
    "pack": "from a pack",
    "path": "from a file",
}


class _Words(VerticalScroll, TypesIntoSearch):
    """The text of the card."""


class PersonaView(Vertical):
    """Shows the persona `found`."""

    DEFAULT_CSS = """
    PersonaView > .head { height: auto; }
    PersonaView .facts, PersonaView .body { width: 1fr; }
    PersonaView .facts { height: auto; }
    PersonaView .body { height: 1fr; }
    PersonaView Static { height: auto; }
    """

    found: var[FoundPersona | None] = var(None, init=False)
    user: var[str] = var("", init=False)
    """The text that replaces `{{user}}` in a card."""

    def __init__(
        self,
        *,
        user: str,
        pixels: "PixelWidget | None" = None,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        """Create an empty card.

        Args:
            user: replaces `{{user}}` in cards.
            pixels: draws portraits in pixels, from `find_pixels`.
            id: the id of the widget.
        """
        super().__init__(id=id)
        self.set_reactive(PersonaView.user, user)
        self._pixels = pixels

    def compose(self) -> ComposeResult:
        """Compose the portrait and facts, and the scrolling text below."""
        with Horizontal(classes="head"):
            yield Portrait(self._pixels)
            with Vertical(classes="facts"):
                for part in ("name", "work", "labels", "counts"):
                    yield Static(classes=part, markup=False)
        yield Static(classes="note", markup=False)
        with _Words(classes="body"):
            for part in ("description", "greeting", "samples", "phrases"):
                yield Static(classes=part, markup=False)

    def watch_found(self, found: FoundPersona | None) -> None:
        """Fill the card."""
        self.query_one(Portrait).found = found
        self._show_note("")
        self._fill()
        self.query_one(".body").scroll_home(animate=False)
        self.set_class(found is None, "nobody")

    def watch_user(self) -> None:
        """Update the name of the user."""
        self._fill()

    def _fill(self) -> None:
        for part, content in (_contents(self.found, self.user) if self.found else {}).items():
            static = self.query_one(f".{part}", Static)
            static.update(aligned(content))
            static.display = bool(content)

    def focus_words(self) -> None:
        """Focus the text."""
        self.query_one(".body").focus()

    def on_resize(self, event: events.Resize) -> None:
        """Resize the portrait."""
        rows = max(4, min(16, event.size.height // 3, event.size.width // 5))
        self.query_one(Portrait).box = (2 * rows, rows)

    @on(Portrait.Failed)
    def _portrait_failed(self, event: Portrait.Failed) -> None:
        event.stop()
        if event.found is self.found:
            self._show_note(event.sentence)

    def _show_note(self, sentence: str) -> None:
        note = self.query_one(".note", Static)
        note.update(plain(sentence))
        note.display = bool(sentence)


def _contents(found: FoundPersona, user: str) -> dict[str, Content]:
    """Content of the parts, by class; empty parts are hidden."""
    persona = with_macros(found.persona, user)
    language = LANGUAGES.get(persona.language, persona.language)
    return {
        "name": Content(one_line(persona.name)),
        "work": Content(work_and_year(persona)),
        "labels": _joined((persona.category, language, *persona.tags)),
        "counts": _joined((*_counts(persona), _ORIGINS[found.origin])),
        "description": Content(
            _shortened("\n\n".join(filter(None, (persona.description, persona.moment))))
        ),
        "greeting": Content(_shortened(persona.greeting)),
        "samples": Content("\n\n").join(_sample(pair) for pair in persona.demonstrations[:SAMPLES]),
        "phrases": Content("\n").join(Content(f"“{one_line(phrase)}”") for phrase in persona.catchphrases),
    }


def _shortened(text: str) -> str:
    """A text, cut to the size of the card."""
    return plain(text if len(text) <= _ROOM else f"{text[:_ROOM].rstrip()}…").strip()


def _joined(parts: tuple[str, ...]) -> Content:
    return Content(" · ".join(one_line(part) for part in parts if part))


def _counts(persona: Persona) -> Iterator[str]:
    entries = (persona.lorebook or {}).get("entries")
    lore = len(entries) if isinstance(entries, list | dict) else 0
    for count, singular, plural in (
        (len(persona.demonstrations), "demonstration", "demonstrations"),
        (len(persona.knowledge), "piece of knowledge", "pieces of knowledge"),
        (lore, "lore entry", "lore entries"),
    ):
        if count:
            yield counted(count, singular, plural)


def _sample(pair: Demonstration) -> Content:
    return Content.assemble((_shortened(pair.user), "$foreground-muted"), "\n", _shortened(pair.reply))
