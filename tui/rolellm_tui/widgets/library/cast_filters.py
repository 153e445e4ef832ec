"""The search line of the library, its filters and its order."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Select

from rolellm_agents.persona import FoundPersona
from rolellm_agents.text import one_line
from rolellm_tui.widgets.common.types_into_search import TypesIntoSearch
from rolellm_tui.widgets.common.writing_line import WritingLine
from rolellm_tui.widgets.library.filtering import Order
from rolellm_tui.widgets.library.incoming import is_card
from rolellm_tui.widgets.library.persona_texts import LANGUAGES

_ORDERS: dict[Order, str] = {"name": "by name", "recent": "most recent"}


class SearchLine(WritingLine):
    """An input that passes pasted or dropped cards on."""

    @dataclass
    class CardPasted(Message):
        """A card's JSON, or the path of a file that may hold one."""

        text: str

    def _on_paste(self, event: events.Paste) -> None:
        if is_card(event.text):
            event.stop()
            event.prevent_default()
            self.post_message(self.CardPasted(event.text))


class _FilterMenu(Select[str], TypesIntoSearch):
    """A menu of options."""


class CastFilters(Horizontal):
    """Menus for language, category, tag and order."""

    DEFAULT_CSS = """
    CastFilters { height: 1; }
    """

    @dataclass
    class Changed(Message):
        """A filter changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create empty menus; `offer` fills them."""
        super().__init__(id=id)

    def compose(self) -> ComposeResult:
        """Compose the four menus."""
        no_options: list[tuple[Text, str]] = []
        yield _FilterMenu(no_options, prompt="any language", id="language", compact=True)
        yield _FilterMenu(no_options, prompt="any category", id="category", compact=True)
        yield _FilterMenu(no_options, prompt="any tag", id="tag", compact=True)
        orders = [(Text(label), order) for order, label in _ORDERS.items()]
        yield _FilterMenu(orders, value="name", allow_blank=False, id="order", compact=True)

    @property
    def language(self) -> str | None:
        """The language's code; None for any."""
        return self._menu("language").selection

    @property
    def category(self) -> str | None:
        """The category; None for any."""
        return self._menu("category").selection

    @property
    def tag(self) -> str | None:
        """The tag; None for any."""
        return self._menu("tag").selection

    @property
    def order(self) -> Order:
        """The order in which the cast is listed."""
        return "recent" if self._menu("order").selection == "recent" else "name"

    @order.setter
    def order(self, order: Order) -> None:
        self._menu("order").value = order

    def offer(self, cast: Sequence[FoundPersona]) -> None:
        """Fill the menus from the cast and keep valid choices."""
        personas = [found.persona for found in cast]
        languages = Counter(persona.language for persona in personas)
        categories = Counter(persona.category for persona in personas if persona.category)
        tags = Counter(tag for persona in personas for tag in persona.tags)
        self._fill(
            "language", [(code, LANGUAGES[code], count) for code, count in sorted(languages.items())]
        )
        self._fill("category", [(name, name, count) for name, count in sorted(categories.items())])
        self._fill("tag", [(tag, tag, count) for tag, count in sorted(tags.items(), key=_often_first)])

    def clear(self) -> None:
        """Reset the filters and keep the order."""
        for name in ("language", "category", "tag"):
            self._menu(name).clear()

    @on(Select.Changed)
    def _changed(self, event: Select.Changed) -> None:
        event.stop()
        event.select.set_class(event.select.id != "order" and not event.select.is_blank(), "set")
        self.post_message(self.Changed())

    def _fill(self, name: str, options: Iterable[tuple[str, str, int]]) -> None:
        menu = self._menu(name)
        selected = menu.selection
        offered = {value: Text(f"{one_line(label)}  {count}") for value, label, count in options}
        menu.set_options((label, value) for value, label in offered.items())
        if selected in offered:
            menu.value = selected

    def _menu(self, name: str) -> Select[str]:
        return self.query_one(f"#{name}", Select)


def _often_first(tag: tuple[str, int]) -> tuple[int, str]:
    return -tag[1], tag[0].casefold()
