"""The fields of one row of the persona's form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textual import on
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Static, TextArea

from rolellm_agents.persona.editing.form import Data, FormField, FormRow, Path, value_at


class RowForm(VerticalScroll, can_focus=False):
    """Shows the fields of a row."""

    @dataclass
    class Changed(Message):
        """A value was typed."""

        path: Path
        value: Any

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create an empty form."""
        super().__init__(id=id)
        self._fields: Mapping[Widget, FormField] = {}
        self._shown: dict[Widget, Any] = {}

    async def show(self, row: FormRow, data: Data) -> None:
        """Show a row's fields with their values."""
        await self.remove_children()
        self._fields, self._shown = {}, {}
        children: list[Widget] = []
        fields: dict[Widget, FormField] = {}
        for field in row.fields:
            widget = _widget(field, value_at(data, field.path))
            fields[widget] = field
            self._shown[widget] = _content(widget)
            if field.kind != "flag":
                children.append(Static(field.label, classes="label", markup=False))
            children.append(widget)
        if not row.fields:
            children.append(
                Static("F7 adds an item at the top of this list.", classes="label", markup=False)
            )
        self._fields = fields
        await self.mount_all(children)
        self.scroll_home(animate=False)

    def focus_field(self, path: Path) -> None:
        """Focus the field of a path, or the first one."""
        for widget, field in self._fields.items():
            if field.path == path:
                widget.focus()
                return
        if self._fields:
            next(iter(self._fields)).focus()

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Checkbox.Changed)
    def _typed(self, event: Input.Changed | TextArea.Changed | Checkbox.Changed) -> None:
        event.stop()
        widget: Widget = event.text_area if isinstance(event, TextArea.Changed) else event.control
        field = self._fields.get(widget)
        content = _content(widget)
        # Widgets also report the value with which they were created.
        if field is not None and content != self._shown[widget]:
            self._shown[widget] = content
            self.post_message(self.Changed(field.path, _value(field, content)))


def _widget(field: FormField, value: Any) -> Widget:
    if field.kind == "flag":
        return Checkbox(field.label, bool(value))
    if field.kind in ("text", "words"):
        shown = "\n".join(map(str, value)) if isinstance(value, list) else str(value or "")
        area = TextArea(shown, soft_wrap=True, tab_behavior="focus")
        area.set_class(field.kind == "words", "words")
        return area
    return Input("" if value is None else str(value), compact=True)


def _content(widget: Widget) -> Any:
    if isinstance(widget, TextArea):
        return widget.text
    return widget.value if isinstance(widget, Input | Checkbox) else None


def _value(field: FormField, content: Any) -> Any:
    if field.kind == "words":
        return [line.strip() for line in content.split("\n") if line.strip()]
    if field.kind == "number" and content.strip():
        try:
            return int(content)
        except ValueError:
            return content
    return content
