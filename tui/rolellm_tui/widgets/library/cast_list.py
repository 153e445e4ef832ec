"""The list of personas, with two lines for each."""

from collections.abc import Sequence
from functools import partial

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rolellm_agents.persona import FoundPersona, Persona
from rolellm_agents.text import one_line
from rolellm_tui.widgets.common.drawn_lines import MUTED, DrawnLines
from rolellm_tui.widgets.common.types_into_search import TypesIntoSearch
from rolellm_tui.widgets.library.persona_texts import work_and_year

_BROAD = 64
"""Width from which name and work share a line, above the description."""
_DESCRIPTION = 240
"""Maximum length of a description in a row, in characters."""


class CastList(OptionList, TypesIntoSearch):
    """Lists personas; `OptionSelected` and `OptionHighlighted` carry a persona's id."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create an empty list; `show` fills it."""
        super().__init__(id=id, markup=False)
        self._shown: tuple[FoundPersona, ...] = ()

    def show(self, cast: Sequence[FoundPersona], highlight: str | None = None) -> None:
        """List personas and highlight one. An unchanged list is not rebuilt.

        Args:
            cast: the personas in order.
            highlight: an id; the first persona if None or unknown.
        """
        ids = [found.persona.id for found in cast]
        if tuple(cast) != self._shown:
            self._shown = tuple(cast)
            self.set_options(
                Option(DrawnLines(2, partial(_lines, found.persona)), id=found.persona.id) for found in cast
            )
            # Without options the list does not notice that it has fewer lines.
            self.refresh(layout=not ids)
        index = ids.index(highlight) if highlight in ids else 0
        self.highlighted = index if ids else None

    def move(self, steps: int) -> None:
        """Move the highlight; it wraps around."""
        if self.option_count:
            self.highlighted = ((self.highlighted or 0) + steps) % self.option_count

    def page(self, pages: int) -> None:
        """Move the highlight by pages, forward or back."""
        if pages > 0:
            self.action_page_down()  # type: ignore[no-untyped-call]
        else:
            self.action_page_up()  # type: ignore[no-untyped-call]


def _lines(persona: Persona, width: int) -> tuple[Content, Content]:
    name = Content.styled(one_line(persona.name), "bold")
    facts = Content.styled(_facts(persona), MUTED)
    description = Content.styled(one_line(persona.description[:_DESCRIPTION]), MUTED)
    if width >= _BROAD:
        return Content.assemble(name, "  ", facts), description
    return name, facts or description


def _facts(persona: Persona) -> str:
    work = work_and_year(persona)
    parts = (persona.category, work) if persona.category or work else persona.tags
    return " · ".join(one_line(part) for part in parts if part)
