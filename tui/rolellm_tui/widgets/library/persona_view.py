"""Everything about one persona that helps to decide whether to talk with them."""

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
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.library.persona_texts import LANGUAGES, work_and_year
from rolellm_tui.widgets.library.portrait import Portrait

if TYPE_CHECKING:
    from rolellm_tui.widgets.library.portrait import PixelWidget

SAMPLES = 3
"""Demonstrations that are shown."""
_ROOM = 4_000
"""Characters of one text that are shown."""
_ORIGINS: dict[Origin, str] = {
    "bundled": "bundled",
    "user": "yours",
    "pack": "from a pack",
    "path": "from a file",
}


class PersonaView(Vertical):
    """The card of whom `found` is; words from outside stay plain text."""

    DEFAULT_CSS = """
    PersonaView > .head { height: auto; }
    PersonaView .facts, PersonaView .body { width: 1fr; }
    PersonaView .facts { height: auto; }
    PersonaView .body { height: 1fr; }
    PersonaView Static { height: auto; }
    """

    found: var[FoundPersona | None] = var(None, init=False)
    user: var[str] = var("", init=False)
    """What stands for `{{user}}` in a card's words."""

    def __init__(
        self,
        *,
        user: str,
        pixels: "PixelWidget | None" = None,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        """An empty card.

        Args:
            user: what stands for `{{user}}` in a card's words.
            pixels: what draws portraits in real pixels, from `find_pixels`.
            id: the widget's.
        """
        super().__init__(id=id)
        self.set_reactive(PersonaView.user, user)
        self._pixels = pixels

    def compose(self) -> ComposeResult:
        """Face and facts, which stay; below them the words, which scroll."""
        with Horizontal(classes="head"):
            yield Portrait(self._pixels)
            with Vertical(classes="facts"):
                for part in ("name", "work", "labels", "counts"):
                    yield Static(classes=part, markup=False)
        yield Static(classes="note", markup=False)
        with VerticalScroll(classes="body"):
            for part in ("description", "greeting", "samples", "phrases"):
                yield Static(classes=part, markup=False)

    def watch_found(self, found: FoundPersona | None) -> None:
        """Fill the card."""
        self.query_one(Portrait).found = found
        self._tell("")
        self._fill()
        self.query_one(".body").scroll_home(animate=False)
        self.set_class(found is None, "nobody")

    def watch_user(self) -> None:
        """Call the person by their new name."""
        self._fill()

    def _fill(self) -> None:
        for part, words in (_words(self.found, self.user) if self.found else {}).items():
            static = self.query_one(f".{part}", Static)
            static.update(words)
            static.display = bool(words)

    def focus_words(self) -> None:
        """Let the keys scroll the words."""
        self.query_one(".body").focus()

    def on_resize(self, event: events.Resize) -> None:
        """Give the face its share."""
        rows = max(4, min(16, event.size.height // 3, event.size.width // 5))
        self.query_one(Portrait).box = (2 * rows, rows)

    @on(Portrait.Failed)
    def _portrait_failed(self, event: Portrait.Failed) -> None:
        event.stop()
        if event.found is self.found:
            self._tell(event.sentence)

    def _tell(self, sentence: str) -> None:
        note = self.query_one(".note", Static)
        note.update(plain(sentence))
        note.display = bool(sentence)


def _words(found: FoundPersona, user: str) -> dict[str, Content]:
    """What stands in each part, by its class; empty parts are not shown."""
    persona = with_macros(found.persona, user)
    language = LANGUAGES.get(persona.language, persona.language)
    return {
        "name": Content(one_line(persona.name)),
        "work": Content(work_and_year(persona)),
        "labels": _joined((persona.category, language, *persona.tags)),
        "counts": _joined((*_counts(persona), _ORIGINS[found.origin])),
        "description": Content(_begun(persona.description)),
        "greeting": Content(_begun(persona.greeting)),
        "samples": Content("\n\n").join(_sample(pair) for pair in persona.demonstrations[:SAMPLES]),
        "phrases": Content("\n").join(Content(f"“{one_line(one)}”") for one in persona.catchphrases),
    }


def _begun(text: str) -> str:
    """A text that may be a whole book, as far as a card has room for it."""
    return plain(text if len(text) <= _ROOM else f"{text[:_ROOM].rstrip()}…").strip()


def _joined(parts: tuple[str, ...]) -> Content:
    return Content(" · ".join(one_line(part) for part in parts if part))


def _counts(persona: Persona) -> Iterator[str]:
    entries = (persona.lorebook or {}).get("entries")
    lore = len(entries) if isinstance(entries, list | dict) else 0
    for count, one, many in (
        (len(persona.demonstrations), "demonstration", "demonstrations"),
        (len(persona.knowledge), "piece of knowledge", "pieces of knowledge"),
        (lore, "lore entry", "lore entries"),
    ):
        if count:
            yield counted(count, one, many)


def _sample(pair: Demonstration) -> Content:
    return Content.assemble((_begun(pair.user), "$foreground-muted"), "\n", _begun(pair.reply))
