"""The tree: all branches of a conversation."""

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Horizontal
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import Worker

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import DeletionExtent
from rolellm_graphs.chat.cursor import ConversationCursor
from rolellm_tui.screens.delete import DeleteScreen
from rolellm_tui.screens.two_branches import TwoBranchesScreen
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.search_bar import SearchBar
from rolellm_tui.widgets.tree.line import number_among_siblings
from rolellm_tui.widgets.tree.message_preview import MessagePreview
from rolellm_tui.widgets.tree.rows import ConversationTree, TreeRow
from rolellm_tui.widgets.tree.view import TreeView

_EMPTY = "No messages yet.\n\nWrite something in the chat; each regenerated answer adds a branch here."
_SAME_BRANCH = "one contains the other; mark another"


class TreeScreen(Screen[str | None]):
    """Shows all branches. Returns the id of the chosen message, or None."""

    CSS_PATH = "tree.tcss"
    AUTO_FOCUS = "#tree"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (18, "-high")]
    BINDINGS = [
        Binding("slash", "search", "Search", id="tree.search", tooltip="Search.", key_display="/"),
        Binding("n", "hit(1)", "Next", id="tree.next-hit", tooltip="Next match."),
        Binding("N", "hit(-1)", "Previous", id="tree.previous-hit", tooltip="Previous match.", show=False),
        Binding("c", "compare", "Compare", id="tree.compare", tooltip="Compare the two marked branches."),
        Binding(
            "delete",
            "delete",
            "Delete",
            id="tree.delete",
            tooltip="Delete the message and all that follow it.",
        ),
        Binding(
            "d",
            "delete_branch",
            "Delete branch",
            id="tree.delete-branch",
            tooltip="Delete the branch that ends here, without what other branches share.",
        ),
        Binding("escape", "leave", "Back", id="tree.leave", tooltip="Back to the chat."),
    ]

    def __init__(self, cursor: ConversationCursor, *, title: str, names: Mapping[str, str]) -> None:
        """Show a conversation.

        Args:
            cursor: the position in the conversation.
            title: the title of the conversation.
            names: the names of the speakers, by id.
        """
        super().__init__()
        self._conversation_cursor = cursor
        self._title = title
        self._names = {speaker: one_line(name) for speaker, name in names.items()}
        self._tree = ConversationTree(())
        self._branches_at: dict[int, list[str]] = {}
        """The names of the branches that end at a message, by its index."""
        self.has_deleted = False
        """Whether something of the conversation was deleted here."""

    def compose(self) -> ComposeResult:
        """Compose the head, the tree, the preview and the search bar."""
        with Horizontal(id="tree-head"):
            yield Static("", id="tree-title", markup=False)
            yield Static("", id="tree-hint", markup=False)
        with Container(id="tree-body"):
            yield TreeView(id="tree")
            yield MessagePreview(id="tree-preview")
        yield SearchBar()
        yield KeyFooter()

    def on_mount(self) -> None:
        """Load the conversation."""
        self._load_tree()

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _load_tree(self) -> None:
        try:
            self._tree, branches = await asyncio.to_thread(self._lay_out)
        except RoleLLMError as error:
            self._complain(str(error))
            return
        title = [self._title]
        if self._tree.messages:
            title.append(counted(len(self._tree.messages), "message"))
            title.append(counted(len(branches), "branch", "branches"))
        self.query_one("#tree-title", Static).update(one_line("  ·  ".join(title)))
        heads: dict[int, list[str]] = {}
        for name, head in branches.items():
            if head in self._tree.places:
                heads.setdefault(self._tree.places[head], []).append(name)
        self._branches_at = heads
        vars(self).pop("_texts", None)
        self.query_one(TreeView).show(self._tree, self._names, heads)
        if not self._tree.messages:
            self.query_one(MessagePreview).show("No messages yet.", (), _EMPTY)
            self.refresh_bindings()

    def _lay_out(self) -> tuple[ConversationTree, dict[str, str | None]]:
        """Load and draw the tree in the background."""
        branches = self._conversation_cursor.branches()
        heads = [head for head in branches.values() if head]
        path = self._conversation_cursor.messages
        return ConversationTree(
            self._conversation_cursor.tree(), here=path[-1].id if path else None, branches=heads
        ), branches

    # The message under the cursor

    @on(TreeView.Moved)
    def _show_message(self, event: TreeView.Moved) -> None:
        row = event.view.row
        if row is None:
            self.query_one(MessagePreview).show("No messages yet.", (), _EMPTY)
        elif row.folded:
            self._preview_fold(row)
        else:
            self._preview(self._tree.order[row.at])
        self._hint_marks(len(event.view.marks))
        self.refresh_bindings()

    def _preview(self, index: int) -> None:
        message = self._tree.messages[index]
        details = [
            number_among_siblings(self._tree, index),
            *(one_line(str(message.made_by.get(key) or "")) for key in ("model", "strategy")),
            "edited" if "edited" in message.made_by else "",
            message.ending,
            f"{message.created[:16].replace('T', ' ')} UTC",
        ]
        self.query_one(MessagePreview).show(self._speaker_of(index), details, message.text)

    def _preview_fold(self, row: TreeRow) -> None:
        indices = self._tree.places_in(row)
        ends = [
            f"{self._speaker_of(index)}: {one_line(self._tree.messages[index].text, 200)}"
            for index in (indices[0], indices[-1])
        ]
        self.query_one(MessagePreview).show(
            f"{row.size:,} messages", ("Enter unfolds them",), "\n…\n".join(ends)
        )

    def _speaker_of(self, index: int) -> str:
        speaker = self._tree.messages[index].speaker
        return self._names.get(speaker, one_line(speaker))

    def _hint_marks(self, marks: int) -> None:
        match marks:
            case 1:
                self._hint("1 marked; mark another")
            case 2:
                self._hint("2 marked; c compares them")
            case _:
                self._hint("")

    # Searching

    @cached_property
    def _texts(self) -> list[str]:
        """Normalized text of each message, for searching."""
        return [one_line(message.text).casefold() for message in self._tree.messages]

    def action_search(self) -> None:
        """Open the search bar."""
        if self._tree.messages:
            self.query_one(SearchBar).open()

    @on(SearchBar.Changed)
    def _seek(self, event: SearchBar.Changed) -> None:
        sought = event.text.casefold()
        hits = [index for index, text in enumerate(self._texts) if sought in text] if sought else []
        self.query_one(TreeView).find(event.text, hits)
        self._count_hits()

    @on(SearchBar.MoveRequested)
    def _go_to_hit(self, event: SearchBar.MoveRequested) -> None:
        self.action_hit(event.step)

    @on(SearchBar.Closed)
    def _search_closed(self) -> None:
        self.query_one(TreeView).focus()

    def action_hit(self, step: int) -> None:
        """Go to the next or previous match."""
        self.query_one(TreeView).to_hit(step)
        self._count_hits()

    def _count_hits(self) -> None:
        view = self.query_one(TreeView)
        bar = self.query_one(SearchBar)
        if not bar.text:
            bar.show_position("")
        elif view.cursor in view.hits:
            bar.show_position(f"{view.hits.index(view.cursor) + 1:,} of {len(view.hits):,}")
        else:
            bar.show_position("not found")
        self.refresh_bindings()

    # Status

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._complain(failure)

    def _complain(self, sentence: str) -> None:
        self.query_one(MessagePreview).show("The tree cannot be shown.", (), sentence)

    def _hint(self, text: str, *, wrong: bool = False) -> None:
        hint = self.query_one("#tree-hint", Static)
        hint.set_class(wrong, "error")
        hint.update(plain(text))

    # Leaving

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the actions that apply now."""
        if not self.query(TreeView):
            return True
        view = self.query_one(TreeView)
        match action:
            case "search":
                return view.has_focus
            case "hit":
                return bool(view.hits)
            case "compare":
                return len(view.marks) == 2
            case "delete":
                return view.row is not None and not view.row.folded
            case "delete_branch":
                return bool(self._ending_here) and sum(map(len, self._branches_at.values())) > 1
        return True

    # Deleting

    @property
    def _ending_here(self) -> list[str]:
        """The branches that end at the message under the cursor."""
        row = self.query_one(TreeView).row
        return [] if row is None or row.folded else self._branches_at.get(self._tree.order[row.at], [])

    @work(group="delete", exclusive=True, exit_on_error=False)
    async def action_delete(self) -> None:
        """Delete the message under the cursor and everything that follows it, after a question."""
        row, cursor = self.query_one(TreeView).row, self._conversation_cursor
        if row is None or row.folded:
            return
        message = self._tree.messages[self._tree.order[row.at]].id
        what = "this message and everything that follows it"
        await self._delete(what, cursor.measure(message), lambda: cursor.delete(message))

    @work(group="delete", exclusive=True, exit_on_error=False)
    async def action_delete_branch(self) -> None:
        """Delete the branch that ends at the message under the cursor, after a question."""
        cursor, ending = self._conversation_cursor, self._ending_here
        if ending:
            name = ending[-1]
            extent = cursor.measure_branch(name)
            await self._delete(f"branch “{name}”", extent, lambda: cursor.delete_branch(name))

    async def _delete(self, what: str, extent: DeletionExtent, delete: Callable[[], None]) -> None:
        if not await self.app.push_screen_wait(DeleteScreen(what, extent)):
            return
        try:
            delete()
        except RoleLLMError as error:
            self._hint(str(error), wrong=True)
            return
        self.has_deleted = True
        self._load_tree()
        self._hint("Deleted; in the chat, Ctrl+Z takes it back.")

    @work(group="compare", exclusive=True, exit_on_error=False)
    async def action_compare(self) -> None:
        """Compare the two marked branches."""
        left, right = self.query_one(TreeView).marks
        if self._tree.share_path(left, right):
            self._hint(_SAME_BRANCH, wrong=True)
            return
        chosen = await self.app.push_screen_wait(TwoBranchesScreen(self._tree, (left, right), self._names))
        if chosen:
            self.dismiss(chosen)

    @on(TreeView.Chosen)
    def _message_chosen(self, event: TreeView.Chosen) -> None:
        self.dismiss(event.message)

    def action_leave(self) -> None:
        """Cancel."""
        self.dismiss(None)
