"""All conversations: search, open, rename, archive, export and import."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Header, Input, OptionList, Static
from textual.worker import Worker

from rolellm_agents.chat_files.scenes import SCENE
from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.text import one_line
from rolellm_agents.transcript import ConversationSummary, DeletionExtent, FoundMessage, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_tui.screens.ask import AskScreen
from rolellm_tui.screens.bin import BinScreen
from rolellm_tui.screens.delete import DeleteScreen
from rolellm_tui.screens.export import ExportScreen
from rolellm_tui.screens.import_conversation import ImportConversationScreen
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.formatting import counted, local_now
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.status_line import StatusLine
from rolellm_tui.widgets.common.writing_line import WritingLine
from rolellm_tui.widgets.conversations.list import ConversationItem, ConversationList, MessageItem
from rolellm_tui.widgets.conversations.preview import ConversationPreview
from rolellm_tui.widgets.conversations.texts import (
    first_lines,
    glance,
    names_of_personas,
    query_of,
    words_of,
)
from rolellm_tui.widgets.scene.scenes_found import names_in_scene

PAUSE = 0.15
"""Seconds without a key press before messages are searched."""
LOOK = 0.05
"""Seconds on a row before its preview loads."""
_AT_ONCE = 40
"""Conversations whose titles are loaded per batch."""
_NONE_YET = "No conversations yet. Pick somebody in the library and say hello, or press i to import one."
_NONE_ARCHIVED = "No archived conversations. Press v to list the others."
_NOTHING_FOUND = "No matches."


@dataclass(frozen=True)
class _Change:
    """An undoable change."""

    undo_message: str
    """Message after undoing it."""
    take_back: Callable[[], None]


class TitleScreen(AskScreen):
    """Asks for a title. Enter also saves it, because it is a single line."""

    BINDINGS = [
        Binding("enter", "keep", "Keep", id="ask.title", tooltip="Save the title.", priority=True),
    ]


class ConversationsScreen(Screen[None]):
    """A searchable list of conversations. Enter opens one."""

    CSS_PATH = "conversations.tcss"
    AUTO_FOCUS = "#find"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    BINDINGS = [
        Binding(
            "down",
            "list",
            "List",
            id="conversations.list",
            tooltip="To the list of conversations.",
            priority=True,
        ),
        Binding("ctrl+z", "undo", "Undo", id="conversations.undo", tooltip="Undo the last change."),
        Binding("escape", "leave", "Back", id="conversations.leave", tooltip="Back."),
    ]

    @dataclass
    class Opened(Message):
        """The user opens a conversation."""

        conversation: str
        """Its id."""
        message: str | None
        """The message to show; None for the end."""

    def __init__(self, transcript: Transcript) -> None:
        """Show the conversations of `transcript`."""
        super().__init__()
        self._transcript = transcript
        self._archived = False
        self._stale = False
        self._summaries: list[ConversationSummary] = []
        self._found_messages: list[FoundMessage] = []
        self._names: Mapping[str, str] = {}
        self._beginnings: dict[str, str] = {}
        self._changes: list[_Change] = []
        self._goal = ""
        """Conversation to highlight once it is listed."""
        self._changing = asyncio.Lock()

    def compose(self) -> ComposeResult:
        """Compose the search line, the list and the preview."""
        yield Header()
        yield WritingLine(placeholder="Search titles, personas and messages…", id="find")
        yield Static(id="nothing", markup=False)
        with Horizontal(id="shelf"):
            yield ConversationList(id="conversations")
            yield ConversationPreview(id="preview")
        yield StatusLine(id="status")
        yield KeyFooter()

    def on_mount(self) -> None:
        """Load the list."""
        self.sub_title = "conversations"
        self.query_one("#nothing").display = False
        self._load()

    def on_screen_suspend(self) -> None:
        """Reload, since conversations may have changed."""
        self._stale = True

    def on_screen_resume(self) -> None:
        """Reload the list."""
        if self._stale:
            self._stale = False
            self._load()

    # The list

    @work(group="list", exclusive=True, exit_on_error=False)
    async def _load(self) -> None:
        """List the conversations at once, and add titles as they are loaded."""
        try:
            await self._list()
            if not self._summaries and not self.query_one("#find", Input).value:
                # There is nothing to search, so show the keys of the list.
                self.query_one(ConversationList).focus()
            if not self._names:
                self._names = await asyncio.to_thread(names_of_personas)
                self._show()
            for batch in self._without_name():
                self._beginnings |= await asyncio.to_thread(first_lines, self._transcript, batch)
                self._show()
        except RoleLLMError as error:
            self._status.complain(error)

    async def _list(self) -> None:
        self._summaries = await asyncio.to_thread(self._transcript.conversations, archived=self._archived)
        self._show()
        if self._goal:
            self.query_one(ConversationList).go_to(self._goal)
            self._goal = ""

    def _without_name(self) -> Iterator[list[str]]:
        """Batches of conversations without a known title."""
        ids = [
            summary.id
            for summary in self._summaries
            if not summary.title and summary.id not in self._beginnings
        ]
        for start in range(0, len(ids), _AT_ONCE):
            yield ids[start : start + _AT_ONCE]

    def _show(self) -> None:
        """List the matches, or all conversations."""
        words = words_of(self.query_one("#find", Input).value)
        listed = [item for item in map(self._as_listed, self._summaries) if _has(item, words)]
        hits = [self._as_hit(message) for message in self._found_messages] if words else []
        self.query_one(ConversationList).show(listed, hits, local_now())
        self._count(len(listed), len(hits), searching=bool(words))
        notice = self.query_one("#nothing", Static)
        notice.update(_NOTHING_FOUND if words else _NONE_ARCHIVED if self._archived else _NONE_YET)
        notice.display = not listed and not hits

    def _count(self, listed: int, hits: int, *, searching: bool) -> None:
        total = len(self._summaries)
        count = f"{total:,} archived" if self._archived else counted(total, "conversation")
        matches = f"{listed:,} of " if searching else ""
        messages = f" · {counted(hits, 'message')}" if hits else ""
        self.query_one("#find", Input).border_subtitle = f"{matches}{count}{messages}"

    def _as_listed(self, summary: ConversationSummary) -> ConversationItem:
        persona = self._name_of(summary.persona)
        return ConversationItem(
            summary, summary.title or self._beginnings.get(summary.id) or persona, persona
        )

    def _as_hit(self, message: FoundMessage) -> MessageItem:
        persona = self._name_of(message.persona)
        title = message.title or self._beginnings.get(message.conversation) or f"a talk with {persona}"
        return MessageItem(message, title, persona)

    def _name_of(self, persona: str) -> str:
        if persona.startswith(SCENE):
            return "Scene"
        return self._names.get(persona) or persona.replace("-", " ").title()

    @on(OptionList.OptionHighlighted, "#conversations")
    def _highlight_moved(self) -> None:
        if self.has_class("-wide"):
            self._preview()

    def on_resize(self) -> None:
        """Show or hide the preview for the new size."""
        self.call_after_refresh(self._highlight_moved)

    @work(group="preview", exclusive=True, exit_on_error=False)
    async def _preview(self) -> None:
        """Load the preview of the highlighted conversation after a pause."""
        await asyncio.sleep(LOOK)
        target = self.query_one(ConversationList).place
        try:
            messages, seats = [], {}
            if target:
                messages = await asyncio.to_thread(
                    glance, self._transcript, target.conversation, target.message
                )
                seats = await asyncio.to_thread(names_in_scene, self._transcript, target.conversation)
        except RoleLLMError as error:
            self._status.complain(error)
            return
        names = {message.speaker: self._name_of(message.speaker) for message in messages}
        names |= {USER: "You", **seats}
        match = next(
            (hit for hit in self._found_messages if target and hit.message == target.message), None
        )
        self.query_one(ConversationPreview).show(messages, names, match)

    # Search

    @on(Input.Changed, "#find")
    def _typed(self, event: Input.Changed) -> None:
        self._show()
        self._search(event.value)

    @work(group="search", exclusive=True, exit_on_error=False)
    async def _search(self, text: str) -> None:
        """Search messages after a pause in typing."""
        await asyncio.sleep(PAUSE)
        try:
            self._found_messages = await asyncio.to_thread(self._transcript.search, query_of(text))
        except RoleLLMError as error:
            self._status.complain(error)
        else:
            if self._status.has_class("error"):
                self._status.show_message("")
            self._show()

    @on(Input.Submitted, "#find")
    def _entered(self) -> None:
        self.query_one(ConversationList).action_select()

    @on(ConversationList.Picked)
    def _open(self, event: ConversationList.Picked) -> None:
        self.post_message(self.Opened(event.place.conversation, event.place.message))

    @on(ConversationList.LeftUpwards)
    def action_find(self) -> None:
        """Focus the search line."""
        self.query_one("#find").focus()

    def action_list(self) -> None:
        """Focus the list."""
        self.query_one(ConversationList).focus()

    # Changes

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the actions that apply now."""
        match action:
            case "archive":
                return not self._archived
            case "unarchive":
                return self._archived
            case "undo":
                return bool(self._changes)
            case "list":
                return isinstance(self.focused, Input)
            case _:
                return True

    @work(group="rename", exclusive=True, exit_on_error=False)
    async def action_rename(self) -> None:
        """Rename the highlighted conversation."""
        if (conversation := await self._highlighted()) is None:
            return
        hint = "Enter saves. The default title is the first line of the conversation."
        title = await self.app.push_screen_wait(TitleScreen("Title", conversation.title, hint=hint))
        if title is not None and one_line(title) != conversation.title:
            rename = self._transcript.rename
            message = f"Renamed to “{one_line(title, 40)}”." if title.strip() else "Title removed."
            change = _Change("Title restored.", lambda: rename(conversation.id, conversation.title))
            await self._change(lambda: rename(conversation.id, title), message, change)

    @work(group="archive", exit_on_error=False)
    async def action_archive(self) -> None:
        """Archive the highlighted conversation."""
        message = "Archived. Ctrl+Z undoes it; v lists archived conversations."
        await self._move(self._transcript.archive, message, self._transcript.unarchive, "Restored.")

    @work(group="archive", exit_on_error=False)
    async def action_unarchive(self) -> None:
        """Restore the highlighted conversation."""
        message = "Restored. Ctrl+Z undoes it."
        await self._move(self._transcript.unarchive, message, self._transcript.archive, "Archived again.")

    async def _move(
        self, move: Callable[[str], None], message: str, undo: Callable[[str], None], undo_message: str
    ) -> None:
        """Archive or restore the highlighted conversation, and highlight its neighbour."""
        async with self._changing:
            if (conversation := await self._highlighted()) is None:
                return
            neighbour = self.query_one(ConversationList).neighbour
            self._goal = neighbour.conversation if neighbour else ""
            await self._change(
                lambda: move(conversation.id), message, _Change(undo_message, lambda: undo(conversation.id))
            )

    @work(group="delete", exclusive=True, exit_on_error=False)
    async def action_delete(self) -> None:
        """Delete the highlighted conversation, after a question."""
        if (conversation := await self._highlighted()) is None:
            return
        ids, transcript = [conversation.id], self._transcript
        extent = await asyncio.to_thread(transcript.measure_conversations, ids)
        what = f"“{one_line(self._as_listed(conversation).title, 60)}”"
        await self._delete(what, extent, lambda: transcript.delete_conversations(ids))

    @work(group="delete", exclusive=True, exit_on_error=False)
    async def action_delete_persona(self) -> None:
        """Delete everything of the highlighted conversation's persona, after a question."""
        if (conversation := await self._highlighted()) is None:
            return
        persona, transcript = conversation.persona, self._transcript
        if persona.startswith(SCENE):
            self._status.show_message("A scene belongs to all of its characters; d deletes this one.")
            return
        extent = await asyncio.to_thread(transcript.measure_persona, persona)
        what = f"everything of {self._name_of(persona)}"
        await self._delete(what, extent, lambda: transcript.delete_persona(persona))

    async def _delete(self, what: str, extent: DeletionExtent, delete: Callable[[], str]) -> None:
        """Ask, delete, and highlight the neighbour of the highlighted conversation."""
        if not await self.app.push_screen_wait(DeleteScreen(what, extent)):
            return
        async with self._changing:
            neighbour = self.query_one(ConversationList).neighbour
            self._goal = neighbour.conversation if neighbour else ""
            deletions: list[str] = []
            change = _Change("Taken back.", lambda: self._take_back(deletions[-1]))
            message = "Deleted. Ctrl+Z undoes it; b shows the bin."
            await self._change(lambda: deletions.append(delete()), message, change)
            self._search(self.query_one("#find", Input).value)

    def _take_back(self, deletion: str) -> None:
        self._transcript.take_back(deletion)

    def action_bin(self) -> None:
        """Show the bin."""
        self.app.push_screen(BinScreen(self._transcript))

    async def _change(self, act: Callable[[], None], message: str, change: _Change) -> None:
        try:
            await asyncio.to_thread(act)
            self._changes.append(change)
            self._status.show_message(message)
            await self._list()
        except RoleLLMError as error:
            self._status.complain(error)
        self.refresh_bindings()

    @work(group="undo", exit_on_error=False)
    async def action_undo(self) -> None:
        """Undo the last change."""
        async with self._changing:
            if not self._changes:
                return
            try:
                await asyncio.to_thread(self._changes[-1].take_back)
                self._status.show_message(self._changes.pop().undo_message)
                await self._list()
            except MessageError as error:
                # What it would take back is gone; earlier changes can still be undone.
                self._changes.pop()
                self._status.complain(error)
            except RoleLLMError as error:
                self._status.complain(error)
        self.refresh_bindings()

    def action_archived(self) -> None:
        """Show archived conversations, or the others."""
        self._archived = not self._archived
        self.sub_title = "archived conversations" if self._archived else "conversations"
        self._load()
        self.refresh_bindings()

    @work(group="export", exclusive=True, exit_on_error=False)
    async def action_export(self) -> None:
        """Export the highlighted conversation."""
        if (conversation := await self._highlighted()) is not None:
            title = self._as_listed(conversation).title
            path = await self.app.push_screen_wait(ExportScreen(self._transcript, conversation, title))
            if path:
                self._status.show_message(f"Written to {path}.")

    @work(group="import", exclusive=True, exit_on_error=False)
    async def action_import(self) -> None:
        """Import conversations from a file."""
        imported = await self.app.push_screen_wait(ImportConversationScreen(self._transcript))
        if imported:
            self._archived = False
            self.query_one("#find", Input).value = ""
            count = (
                "One conversation was" if len(imported) == 1 else f"{len(imported):,} conversations were"
            )
            self._status.show_message(f"{count} imported.")
            self._goal = imported[0].id
            self._load()

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss()

    async def _highlighted(self) -> ConversationSummary | None:
        target = self.query_one(ConversationList).place
        if target is None:
            return None
        for summary in self._summaries:
            if summary.id == target.conversation:
                return summary
        # The match belongs to a conversation that is not in this list.
        return await asyncio.to_thread(self._transcript.find_conversation, target.conversation)

    # Status

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._status.complain(failure)

    @property
    def _status(self) -> StatusLine:
        return self.query_one(StatusLine)


def _has(item: ConversationItem, words: Sequence[str]) -> bool:
    text = f"{item.title} {item.persona} {item.summary.persona}".casefold()
    return all(word in text for word in words)
