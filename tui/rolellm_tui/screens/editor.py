"""An editor of a file: a form beside what it makes, with findings below."""

import asyncio
from abc import abstractmethod
from contextlib import suppress
from typing import Generic, TypeVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import Screen
from textual.widgets import Input, OptionList, Select, Static
from textual.widgets.option_list import Option
from textual.worker import Worker

from rolellm_agents.editing.drafts import (
    DraftedDocument,
    discard_draft,
    keep_draft,
    read_draft,
)
from rolellm_agents.editing.form import (
    Data,
    FormRow,
    Path,
    with_field,
    with_item,
    with_item_moved,
    without_item,
)
from rolellm_agents.editing.history import EditHistory
from rolellm_agents.editing.places import row_at
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import one_line, plain
from rolellm_tui.widgets.common.after_typing import after_typing, typed_before
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.status_line import StatusLine
from rolellm_tui.widgets.editor.outline import Outline
from rolellm_tui.widgets.editor.row_form import RowForm
from rolellm_tui.widgets.editor.trial import FoundPlace, Trial

_Document = TypeVar("_Document", bound=DraftedDocument)
_Result = TypeVar("_Result")

_PAUSE = 0.3
"""Seconds without a change before the data are tried."""
_DRAFT_SECONDS = 2.0
"""Seconds between drafts."""


class EditorScreen(Screen[_Result | None], Generic[_Document, _Result]):
    """Edits a document. Returns what was saved last, or None.

    A kind of document has a subclass with its form, its trial and how it is saved.
    """

    CSS_PATH = "editor.tcss"
    AUTO_FOCUS = "#outline"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]
    BINDINGS = [
        Binding("ctrl+s", "save", "Save", id="editor.save", tooltip="Save the file.", priority=True),
        # With priority, so that the field has the focus before the next key comes.
        Binding(
            "enter",
            "fields",
            "Fields",
            id="editor.fields",
            tooltip="To the fields of this part.",
            show=False,
            priority=True,
        ),
        Binding("f3", "preview", "Prompt", id="editor.preview", tooltip="The prompt, and back."),
        Binding("f7", "add", "Add", id="editor.add", tooltip="Add an item below.", priority=True),
        Binding("f8", "remove", "Remove", id="editor.remove", tooltip="Remove this item.", priority=True),
        Binding("alt+up", "move(-1)", "Up", id="editor.up", tooltip="Move this item up.", show=False),
        Binding("alt+down", "move(1)", "Down", id="editor.down", tooltip="Move it down.", show=False),
        Binding("ctrl+z", "undo", "Undo", id="editor.undo", tooltip="Undo.", priority=True),
        Binding("ctrl+y", "redo", "Redo", id="editor.redo", tooltip="Redo.", priority=True, show=False),
        Binding("escape", "leave", "Back", id="editor.leave", tooltip="Leave the editor.", priority=True),
    ]

    unnamed = "New"
    """The title of a document without a name."""
    tries_lines = True
    """Whether the data are tried with a line."""
    line_hint = "A line to try; empty for the chat's last line"

    def __init__(self, document: _Document) -> None:
        """Create the editor of a document."""
        super().__init__()
        self._document = document
        self._saved_data = document.data
        self._history = EditHistory(document.data)
        self._drafted: Data | None = None
        self._result: _Result | None = None
        self._rows: list[FormRow] = []
        self._found: tuple[FoundPlace, ...] = ()
        self._is_leaving = False
        self._has_left = self._is_saving = False
        self._warned: ChangedOnDiskError | None = None
        self._files = asyncio.Lock()
        """Held while the file or its draft is written, so that a late draft does not outlive a save."""

    @abstractmethod
    def rows_of(self, data: Data) -> list[FormRow]:
        """The rows of the form."""

    @abstractmethod
    def name_of(self, data: Data) -> str:
        """The name of what is edited; may be empty."""

    @abstractmethod
    def tried(self, data: Data, line: str) -> Trial:
        """Check data, and try them with a line. This runs in a thread."""

    @abstractmethod
    def saved(self, data: Data, warned: ChangedOnDiskError | None) -> tuple[_Document, _Result]:
        """Save data. This runs in a thread.

        Raises:
            RoleLLMError: the data are not valid, or the file cannot be written.
        """

    def opening_message(self) -> str:
        """What the status line says at first."""
        return ""

    def compose(self) -> ComposeResult:
        """Compose outline, form, preview and findings."""
        yield Static(id="title", markup=False)
        with Horizontal(id="body"):
            yield Outline(id="outline", markup=False)
            yield RowForm(id="form")
            with Vertical(id="preview"):
                line = Input(placeholder=self.line_hint, id="line", compact=True)
                line.display = self.tries_lines
                yield line
                with VerticalScroll(id="trial-scroll"):
                    yield Static(id="trial", markup=False)
        findings = OptionList(id="findings", markup=False)
        findings.display = False
        yield findings
        yield Static(id="tokens", markup=False)
        yield StatusLine(id="status")
        yield KeyFooter()

    async def on_mount(self) -> None:
        """Offer a draft of an earlier session, and show the form."""
        draft = read_draft(self._document)
        if draft is not None:
            self._history.change(draft.data)
            self._drafted = draft.data
            stale = " The file was changed after it." if draft.is_of_other_text else ""
            self._say(f"Unsaved changes of an earlier session were restored; Ctrl+Z drops them.{stale}")
        else:
            self._say(self.opening_message())
        self._show_rows(0)
        self._try()
        self.set_interval(_DRAFT_SECONDS, self._keep_draft)

    def on_unmount(self) -> None:
        """Keep changes when the app ends with the editor open."""
        if self._is_changed and not self._has_left:
            with suppress(RoleLLMError):
                keep_draft(self._document, self._data)

    # The form

    @property
    def _data(self) -> Data:
        return self._history.data

    @property
    def _is_changed(self) -> bool:
        return self._data != self._saved_data

    @property
    def _outline(self) -> OptionList:
        return self.query_one("#outline", OptionList)

    @property
    def _row(self) -> FormRow:
        return self._rows[self._outline.highlighted or 0]

    def _show_rows(self, highlight: int) -> None:
        """List the rows, and show the fields of one."""
        self._rows = self.rows_of(self._data)
        # Its messages would replace the form once more, and take the focus from a new item.
        with self.prevent(OptionList.OptionHighlighted):
            self._outline.set_options([Option(plain(row.label)) for row in self._rows])
            self._outline.highlighted = min(highlight, len(self._rows) - 1)
        self.refresh_bindings()
        self._show_title()
        self._show_form()

    def _relabel(self) -> None:
        """Update the labels while a text is typed."""
        rows = self.rows_of(self._data)
        for index, (old, new) in enumerate(zip(self._rows, rows, strict=True)):
            if old.label != new.label:
                self._outline.replace_option_prompt_at_index(index, plain(new.label))
        self._rows = rows

    def _show_title(self) -> None:
        name = one_line(self.name_of(self._data) or self.unnamed, 40)
        mark = " · not saved" if self._is_changed else ""
        self.query_one("#title", Static).update(plain(f"{name} · {self._document.path.name}{mark}"))

    @work(group="form", exclusive=True, exit_on_error=False)
    async def _show_form(self, focus: Path | None = None) -> None:
        form = self.query_one(RowForm)
        await form.show(self._row)
        if focus is not None:
            form.focus_field(focus)

    @on(OptionList.OptionHighlighted, "#outline")
    def _moved(self) -> None:
        self._follow_outline()
        self.refresh_bindings()

    @work(group="form", exclusive=True, exit_on_error=False)
    async def _follow_outline(self) -> None:
        await self.query_one(RowForm).move_to(self._row)

    @on(OptionList.OptionSelected, "#outline")
    async def action_fields(self) -> None:
        """Go to the fields of the present row. The next key waits until they are there."""
        await typed_before(self)
        form = self.query_one(RowForm)
        await form.move_to(self._row)
        form.focus_field(())

    @on(RowForm.Changed)
    def _typed(self, event: RowForm.Changed) -> None:
        self._history.change(with_field(self._data, event.field, event.value), event.field.path)
        self._relabel()
        self._changed()

    def _changed(self) -> None:
        self._is_leaving = False
        self._say("")
        self._show_title()
        self._try()

    # Lists

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable changes of a list on its rows only; Escape closes an open choice first."""
        if action == "fields":
            return self.focused is not None and self.focused.id == "outline"
        if action == "leave":
            return not any(select.expanded for select in self.query(Select))
        return not (
            self._rows
            and (
                (action == "add" and self._row.items is None)
                or (action in ("remove", "move") and self._item is None)
            )
        )

    @property
    def _item(self) -> Path | None:
        """The path of the present item; None for rows that are none."""
        row = self._row
        return None if row.items is None or row.path == row.items.path else row.path

    async def action_add(self) -> None:
        """Add an item below the present one, or at the top of the list."""
        await typed_before(self)
        items = self._row.items
        if items is None:
            return
        changed, path = with_item(self._data, items, self._item[-1] if self._item else None)
        self._history.change(changed)
        self._show_rows(row_at(self.rows_of(changed), path))
        self._show_form(focus=())
        self._changed()

    async def action_remove(self) -> None:
        """Remove the present item."""
        await typed_before(self)
        if self._item:
            is_first = self._rows[(self._outline.highlighted or 1) - 1].path == self._item[:-1]
            self._history.change(without_item(self._data, self._item))
            self._show_rows((self._outline.highlighted or 0) - (0 if is_first else 1))
            self._changed()
            self._say("Removed; Ctrl+Z restores it.")

    def action_move(self, step: int) -> None:
        """Move the present item in its list."""
        if self._item:
            moved = with_item_moved(self._data, self._item, step)
            if moved is not self._data:
                self._history.change(moved)
                self._show_rows((self._outline.highlighted or 0) + step)
                self._changed()

    def action_undo(self) -> None:
        """Return to the state before the last change."""
        after_typing(self, lambda: self._stepped(self._history.undo()))

    def action_redo(self) -> None:
        """Return to the state that was undone."""
        after_typing(self, lambda: self._stepped(self._history.redo()))

    def _stepped(self, is_done: bool) -> None:
        if is_done:
            self._show_rows(self._outline.highlighted or 0)
            self._changed()

    # The trial

    @on(Input.Changed, "#line")
    def _line_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._try()

    def try_again(self) -> None:
        """Try the data, after something else that the trial depends on has changed."""
        self._try()

    @work(group="trial", exclusive=True, exit_on_error=False)
    async def _try(self) -> None:
        """Try the data, after a pause in typing."""
        await asyncio.sleep(_PAUSE)
        line = self.query_one("#line", Input).value
        trial = await asyncio.to_thread(self.tried, self._data, line)
        self._found = trial.found
        findings = self.query_one("#findings", OptionList)
        findings.set_options(
            [Option(plain(f"{'✗' if one.is_error else '·'} {one.message}")) for one in trial.found]
        )
        findings.display = bool(trial.found)
        self.query_one("#trial", Static).update(trial.shown)
        self.query_one("#tokens", Static).update(plain(trial.total))

    @on(OptionList.OptionSelected, "#findings")
    def _go_to_place(self, event: OptionList.OptionSelected) -> None:
        place = self._found[event.option_index].path
        if place is None:
            self._say("This is not about one field.")
            return
        self.remove_class("preview-open")
        with self.prevent(OptionList.OptionHighlighted):
            self._outline.highlighted = row_at(self._rows, place)
        self._show_form(focus=place)

    def action_preview(self) -> None:
        """Show the prompt in place of the form, and back."""
        self.toggle_class("preview-open")
        is_open = self.has_class("preview-open")
        (self.query_one("#line") if is_open and self.tries_lines else self._outline).focus()

    # Saving and leaving

    @work(group="draft", exit_on_error=False)
    async def _keep_draft(self) -> None:
        if self._files.locked():
            return
        async with self._files:
            data = self._data if self._is_changed else None
            if data == self._drafted or self._has_left:
                return
            try:
                if data is None:
                    await asyncio.to_thread(discard_draft, self._document)
                else:
                    await asyncio.to_thread(keep_draft, self._document, data)
            except RoleLLMError as error:
                self._complain(error)
            self._drafted = data

    def action_save(self) -> None:
        """Save the file."""
        after_typing(self, self._save)

    @work(group="save", exit_on_error=False)
    async def _save(self) -> None:
        if self._is_saving:
            return
        self._is_saving = True
        try:
            async with self._files:
                await self._write(self._data)
        finally:
            self._is_saving = False

    async def _write(self, data: Data) -> None:
        try:
            document, result = await asyncio.to_thread(self.saved, data, self._warned)
        except ChangedOnDiskError as error:
            self._warned = error
            self._complain(error)
            return
        except RoleLLMError as error:
            self._complain(error)
            return
        self._document, self._result, self._saved_data = document, result, document.data
        self._drafted = self._warned = None
        self._is_leaving = False
        # What was typed meanwhile stays; only a new id comes with the save.
        given = {key: value for key, value in document.data.items() if data.get(key) != value}
        self._history.amend(lambda state: {**state, **given})
        self._show_title()
        self._say(f"Saved as {document.path}.")

    def action_leave(self) -> None:
        """Leave the editor; ask first if there are changes."""
        after_typing(self, self._leave)

    @work(group="leave", exit_on_error=False)
    async def _leave(self) -> None:
        async with self._files:
            if self._has_left:
                return
            if self._is_changed and not self._is_leaving:
                self._is_leaving = True
                self._say("Your changes are not saved: Ctrl+S saves them, Escape discards them.")
                return
            self._has_left = True
            try:
                await asyncio.to_thread(discard_draft, self._document)
            except RoleLLMError as error:
                self.notify(plain(str(error)), severity="error", markup=False)
            self.dismiss(self._result)

    def _say(self, text: str) -> None:
        self.query_one("#status", StatusLine).show_message(text)

    def _complain(self, error: RoleLLMError | str) -> None:
        self.query_one("#status", StatusLine).complain(error)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._complain(failure)
