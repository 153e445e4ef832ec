"""Two branches side by side, from their last common message."""

from itertools import islice, zip_longest

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from rolellm_agents.text import one_line
from rolellm_agents.transcript.message import USER
from rolellm_tui.widgets.chat.prose import prose
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.tree.line import sibling_notes
from rolellm_tui.widgets.tree.rows import ConversationTree

PAGE = 30
"""Messages of each branch per page."""


class TwoBranchesScreen(Screen[str | None]):
    """Shows two branches side by side. Returns the id of a message to go to, or None."""

    CSS_PATH = "two_branches.tcss"
    AUTO_FOCUS = "#two-branches"
    BINDINGS = [
        Binding("1", "go(0)", "Left", id="branches.left", tooltip="Continue on the left branch."),
        Binding("2", "go(1)", "Right", id="branches.right", tooltip="Continue on the right branch."),
        Binding("escape", "leave", "Back", id="branches.leave", tooltip="Back to the tree."),
    ]

    def __init__(self, tree: ConversationTree, marked: tuple[int, int], names: dict[str, str]) -> None:
        """Show two branches.

        Args:
            tree: the tree of the conversation.
            marked: a message on each branch; neither may be an ancestor of the other.
            names: the names of the speakers, by id.
        """
        super().__init__()
        self._tree = tree
        self._marked = marked
        self._names = names
        paths = [[*tree.path_to(index), *tree.newest_path(index)] for index in marked]
        shared = tree.shared_by(*marked)
        self._shared = paths[0][:shared]
        self._sides = [path[shared:] for path in paths]
        self._pairs = zip_longest(*self._sides)

    def compose(self) -> ComposeResult:
        """Compose the shared part, two heads, and pairs of messages."""
        yield Static(self._shared_summary(), id="two-branches-shared", markup=False)
        with Horizontal(id="two-branches-heads"):
            for side in self._sides:
                yield Static(self._head(side), markup=False)
        yield VerticalScroll(id="two-branches")
        yield KeyFooter()

    async def on_mount(self) -> None:
        """Show the first page; others load on scrolling."""
        await self._show_more()
        self.watch(self.query_one(VerticalScroll), "scroll_y", self._scrolled, init=False)

    async def _scrolled(self) -> None:
        scroll = self.query_one(VerticalScroll)
        if scroll.scroll_offset.y >= scroll.max_scroll_y - scroll.size.height:
            await self._show_more()

    async def _show_more(self) -> None:
        pairs = [
            Horizontal(*(self._message(index) for index in pair), classes="pair")
            for pair in islice(self._pairs, PAGE)
        ]
        await self.query_one(VerticalScroll).mount_all(pairs)

    def _message(self, index: int | None) -> Static:
        if index is None:
            return Static("", markup=False, classes="nothing")
        message = self._tree.messages[index]
        by_user = message.speaker == USER
        style = "bold $text-secondary" if by_user else "bold $text-primary"
        content = Content.assemble((self._speaker_of(index), style), "\n", prose(message.text))
        return Static(content, markup=False, classes="mine" if by_user else "theirs")

    def _shared_summary(self) -> Content:
        if not self._shared:
            return Content("No shared messages: the branches differ from the first message.")
        last = self._shared[-1]
        count = (
            "the first message" if len(self._shared) == 1 else f"the first {len(self._shared):,} messages"
        )
        text = one_line(self._tree.messages[last].text, 300)
        return Content.assemble(f"Shared: {count}, up to ", (self._speaker_of(last), "bold"), f": {text}")

    def _head(self, side: list[int]) -> Content:
        differences = " · ".join(sibling_notes(self._tree, side[0]))
        return Content.assemble((differences, "bold"), f"  {counted(len(side), 'message')}")

    def _speaker_of(self, index: int) -> str:
        speaker = self._tree.messages[index].speaker
        return self._names.get(speaker, one_line(speaker))

    def action_go(self, side: int) -> None:
        """Return the end of one branch."""
        self.dismiss(self._tree.messages[self._marked[side]].id)

    def action_leave(self) -> None:
        """Cancel."""
        self.dismiss(None)
