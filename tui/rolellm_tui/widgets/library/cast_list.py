"""The cast as a list: two lines for each, fast for a thousand."""

from collections.abc import Sequence

from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rolellm_agents.persona import FoundPersona, Persona
from rolellm_agents.text import one_line
from rolellm_tui.widgets.library.persona_texts import work_and_year

_BROAD = 64
"""Columns from which name and work share a line, and the description has the second."""
_MUTED = "$foreground-muted"
"""$text-muted has a meaning in style sheets alone: its colour depends on what lies behind it."""
_DESCRIPTION = 240
"""Characters of a description that a row can ever show."""


class CastList(OptionList):
    """Personas to move through; `OptionSelected` and `OptionHighlighted` carry a persona's id."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """An empty list, to be filled with `show`."""
        super().__init__(id=id, markup=False)
        self._shown: tuple[FoundPersona, ...] = ()

    def show(self, cast: Sequence[FoundPersona], highlight: str | None = None) -> None:
        """List these personas and highlight one; the list stays as it is when it is the same.

        Args:
            cast: who is listed, in this order.
            highlight: an id; the first when it is None or nobody has it.
        """
        ids = [found.persona.id for found in cast]
        if tuple(cast) != self._shown:
            self._shown = tuple(cast)
            self.set_options(Option(_PersonaRow(found.persona), id=found.persona.id) for found in cast)
            # Without options the list does not hear that there are fewer lines.
            self.refresh(layout=not ids)
        place = ids.index(highlight) if highlight in ids else 0
        self.highlighted = place if ids else None

    def move(self, steps: int) -> None:
        """Move the highlight, around the ends."""
        if self.option_count:
            self.highlighted = ((self.highlighted or 0) + steps) % self.option_count

    def page(self, pages: int) -> None:
        """Move the highlight by what is shown at once, forward or back."""
        if pages > 0:
            self.action_page_down()  # type: ignore[no-untyped-call]
        else:
            self.action_page_up()  # type: ignore[no-untyped-call]


class _PersonaRow(Visual):
    """One persona in two lines, cut where the list ends; its height is known without laying it out."""

    def __init__(self, persona: Persona) -> None:
        self._persona = persona

    def get_height(self, rules: RulesMap, width: int) -> int:
        return 2

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        drawn: list[Strip] = []
        for line in _lines(self._persona, broad=width >= _BROAD):
            drawn += line.truncate(width, ellipsis=True).render_strips(width, 1, style, options)
        return drawn


def _lines(persona: Persona, *, broad: bool) -> tuple[Content, Content]:
    name = Content.styled(one_line(persona.name), "bold")
    about = Content.styled(_about(persona), _MUTED)
    description = Content.styled(one_line(persona.description[:_DESCRIPTION]), _MUTED)
    if broad:
        return Content.assemble(name, "  ", about), description
    return name, about or description


def _about(persona: Persona) -> str:
    work = work_and_year(persona)
    parts = (persona.category, work) if persona.category or work else persona.tags
    return " · ".join(one_line(part) for part in parts if part)
