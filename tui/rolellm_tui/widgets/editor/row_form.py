"""The fields of one row of a form."""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textual import on
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Select, Static, TextArea

from rolellm_agents.editing.form import FormField, FormRow, Path
from rolellm_agents.text import plain
from rolellm_tui.widgets.editor.flag_box import FlagBox


class RowForm(VerticalScroll, can_focus=False):
    """Shows the fields of a row."""

    @dataclass
    class Changed(Message):
        """A value was typed or chosen."""

        field: FormField
        value: Any

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create an empty form."""
        super().__init__(id=id)
        self._fields: Mapping[Widget, FormField] = {}
        self._shown: dict[Widget, Any] = {}
        self._path: Path | None = None
        """The row whose fields are there; None while they are replaced."""
        self._filling = asyncio.Lock()

    async def show(self, row: FormRow) -> None:
        """Show a row's fields with their values."""
        async with self._filling:
            await self._fill(row)

    async def move_to(self, row: FormRow) -> None:
        """Show a row's fields unless they are there already, with the focus that they have."""
        async with self._filling:
            if self._path != row.path:
                await self._fill(row)

    async def _fill(self, row: FormRow) -> None:
        self._path = None
        await self.remove_children()
        self._fields, self._shown = {}, {}
        children: list[Widget] = []
        fields: dict[Widget, FormField] = {}
        for field in row.fields:
            widget = _widget(field)
            fields[widget] = field
            # A choice has its value only after it was mounted.
            self._shown[widget] = _chosen(field) if isinstance(widget, Select) else _content(widget)
            if field.kind != "flag":
                children.append(Static(field.label, classes="label", markup=False))
            children.append(widget)
        if row.items is not None and row.path == row.items.path:
            children.append(
                Static("F7 adds an item at the top of this list.", classes="label", markup=False)
            )
        self._fields = fields
        await self.mount_all(children)
        self._path = row.path
        self.scroll_home(animate=False)

    def focus_field(self, path: Path) -> None:
        """Focus the field of a path, or the first one."""
        given = (widget for widget, field in self._fields.items() if field.path == path)
        widget = next(given, None) or next(iter(self._fields), None)
        if widget is not None:
            # At once: `focus` waits until the app has handled the keys that were pressed meanwhile.
            self.screen.set_focus(widget)

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Checkbox.Changed)
    @on(Select.Changed)
    def _typed(self, event: Input.Changed | TextArea.Changed | Checkbox.Changed | Select.Changed) -> None:
        event.stop()
        widget: Widget = event.text_area if isinstance(event, TextArea.Changed) else event.control
        field = self._fields.get(widget)
        content = _content(widget)
        # Widgets also report the value with which they were created.
        if field is not None and content != self._shown[widget]:
            self._shown[widget] = content
            self.post_message(self.Changed(field, _value(field, content)))


def _widget(field: FormField) -> Widget:
    value = field.value
    if field.kind == "flag":
        return FlagBox(field.label, bool(value))
    if field.kind == "choice":
        options = [(plain(label), index) for index, (label, _) in enumerate(field.choices)]
        return Select(options, value=_chosen(field), allow_blank=False, compact=True)
    if field.kind in ("text", "words"):
        shown = "\n".join(map(str, value)) if isinstance(value, list | tuple) else str(value or "")
        area = TextArea(shown, soft_wrap=True, tab_behavior="focus")
        area.set_class(field.kind == "words", "words")
        return area
    return Input("" if value is None else str(value), compact=True)


def _chosen(field: FormField) -> int:
    """The index of the choice that counts."""
    values = [choice for _, choice in field.choices]
    return values.index(field.value) if field.value in values else 0


def _content(widget: Widget) -> Any:
    if isinstance(widget, TextArea):
        return widget.text
    return widget.value if isinstance(widget, Input | Checkbox | Select) else None


def _value(field: FormField, content: Any) -> Any:
    if field.kind == "choice":
        return field.choices[content][1]
    if field.kind == "words":
        return [line.strip() for line in content.split("\n") if line.strip()]
    if field.kind == "number" and content.strip():
        return _number(content.strip())
    return content


def _number(content: str) -> int | float | str:
    for kind in (int, float):
        try:
            number = kind(content)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return content
