"""The messages of a conversation as bubbles, and the swipes of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.message import Message as AppMessage
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import Event, MessageDone, TokenDelta, TurnFailed
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.opening import greetings_for
from rolellm_tui.widgets.chat.prompt import PromptInput
from rolellm_tui.widgets.chat.window import MessageWindow, around, moved, newest, resized
from rolellm_tui.widgets.common.failures import Failed, failure_text

_UNRECORDED = ""
"""The key of the one bubble without a recorded message: the greeting, or the answer being generated."""

MESSAGE_KEYS: list[BindingType] = [
    Binding("up", "select(-1)", "Up", id="message.up", tooltip="Select the message above.", show=False),
    Binding(
        "down",
        "select(1)",
        "Down",
        id="message.down",
        tooltip="Select the message below; after the last one, write.",
        show=False,
    ),
    Binding("home", "jump(-1)", "Start", id="message.home", show=False),
    Binding("end", "jump(1)", "End", id="message.end", show=False),
    Binding("alt+down,ctrl+down", "leave", "Write", id="message.write", tooltip="Write again.", show=False),
    Binding("escape", "leave", "Write", id="message.leave", tooltip="Write again."),
]


class ConversationView(VerticalScroll, can_focus=False):
    """Shows a part of the session's branch and the answer being generated.

    At most `MOST_MOUNTED` messages are mounted; scrolling loads more at one end and unloads at the other.
    """

    BINDINGS = MESSAGE_KEYS

    @dataclass
    class SwipeRequested(AppMessage):
        """The user moved past the last swipe."""

    @dataclass
    class Left(AppMessage):
        """The user leaves the messages to write."""

    def __init__(
        self,
        session: Session,
        *,
        prompt: PromptInput,
        greeting: int = 0,
        at: str | None = None,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        """Show a session with its messages.

        Args:
            session: the session to show.
            prompt: gets the letters that the user types while a message is selected.
            greeting: the number of the greeting of a new conversation; 0 is the persona's main greeting.
            at: the id of the message to select; the newest is shown when None.
            id: the id of the widget.
        """
        super().__init__(id=id)
        self.greeting = greeting
        self._session = session
        self._prompt = prompt
        self._at = at
        self._greetings = greetings_for(session.persona, session.user_name)
        self._window = MessageWindow(0, 0)
        self._known = 0
        """The number of messages when they were drawn last."""
        self._growing_at: int | None = None
        """The place of the answer being generated."""
        self._growing_text = ""
        self._held: tuple[Bubble, int] | None = None
        """A bubble that the next layout puts into this row of the view."""
        self._found: str | None = None
        """The id of the message that a search has found."""
        self._extending = False

    async def on_mount(self) -> None:
        """Show the newest messages, or those around the chosen one."""
        self.screen.screen_layout_refresh_signal.subscribe(self, self._let_go)
        self.anchor()
        await self._draw(newest(self._total))
        ids = [message.id for message in self._session.messages] if self._at else []
        if self._at in ids:
            await self.go_to(ids.index(self._at))
        self.watch(self, "scroll_y", self._scrolled, init=False)

    # What there is to show

    @property
    def _unrecorded_at(self) -> int | None:
        """The place of the greeting or the answer that is not recorded yet."""
        if self._growing_at is None and not self._session.messages and self._session.persona.greeting:
            return 0
        return self._growing_at

    @property
    def _total(self) -> int:
        unrecorded = self._unrecorded_at
        return len(self._session.messages) if unrecorded is None else unrecorded + 1

    def _entries(self, window: MessageWindow) -> Sequence[Message | None]:
        """The messages in the window; None for the one that is not recorded yet."""
        entries: list[Message | None] = list(self._session.messages[window.first : window.end])
        unrecorded = self._unrecorded_at
        if unrecorded is not None and unrecorded in window:
            entries[unrecorded - window.first :] = [None]
        return entries

    # What is on the screen

    async def show(self) -> None:
        """Synchronize the bubbles with the session, keeping unchanged ones."""
        self._growing_at = None
        await self._draw(resized(self._window, self._known, self._total))

    async def _draw(self, window: MessageWindow, *, hold: bool = True) -> None:
        """Mount the messages of a window and unmount the others, without moving those that stay.

        Args:
            window: the places to show.
            hold: whether what the user sees stays in its row.
        """
        entries = self._entries(window)
        keys = {_key(entry) for entry in entries}
        async with self.batch():
            bubbles = list(self.query(Bubble))
            kept = {key: bubble for bubble in bubbles if (key := _key(bubble.message)) in keys}
            gone = [bubble for bubble in bubbles if _key(bubble.message) not in kept]
            if hold and not self.is_anchored:
                self._hold_visible(list(kept.values()))
            selected = self.selected_place
            self._window, self._known = window, self._total
            await self._mount_between(entries, kept)
            if selected is not None and self.screen.focused in gone:
                place = max(window.first, min(selected, window.end - 1))
                if standing := [bubble for bubble in self.query(Bubble) if bubble not in gone]:
                    nearest = standing[min(place - window.first, len(standing) - 1)]
                    self.screen.set_focus(nearest, scroll_visible=False)
            await self.remove_children(gone)
        self._count_swipes()

    async def _mount_between(self, entries: Sequence[Message | None], kept: dict[str, Bubble]) -> None:
        """Mount the bubbles of the entries that have none yet."""
        new: list[Bubble] = []
        for entry in entries:
            standing = kept.get(_key(entry))
            if standing is None:
                new.append(self._bubble_of(entry))
            elif new:
                await self.mount_all(new, before=standing)
                new = []
        if new:
            await self.mount_all(new)

    async def take(self, event: Event) -> None:
        """Show the effect of an event."""
        match event:
            case TokenDelta(text=text):
                await self._grow(text)
            case MessageDone(message=message) if message.speaker == USER:
                await self.show()
                await self._show_end()
            case MessageDone(message=message) | TurnFailed(message=message) if message:
                if growing := self._growing:
                    growing.mark(message)
                self._growing_at = None

    @property
    def _growing(self) -> Bubble | None:
        """The bubble of the answer being generated, if it is mounted."""
        if self._growing_at is None or self._growing_at not in self._window:
            return None
        return self._bubble_at(self._growing_at)

    async def _grow(self, text: str) -> None:
        """Show text of the answer being generated; its start replaces the previous answer."""
        if self._growing_at is None:
            messages = self._session.messages
            self._growing_text = text
            self._growing_at = len(messages) - (messages[-1].speaker != USER)
            await self._draw(resized(self._window, self._known, self._total))
            # Whoever asks for another answer wants to see it; their own line has led to the end already.
            if self._growing_at not in self._window or self._growing_at < len(messages):
                await self._show_end()
        else:
            self._growing_text += text
            if growing := self._growing:
                growing.say(self._growing_text)

    def _bubble_of(self, message: Message | None) -> Bubble:
        name = self._session.persona.name
        if message is None and self._growing_at is None:
            return self._greeting_bubble()
        if message is None:
            return Bubble(name, self._growing_text, prompt=self._prompt)
        by_user = message.speaker == USER
        bubble = Bubble(
            self._users_name if by_user else name,
            message.text,
            mine=by_user,
            message=message,
            prompt=self._prompt,
        )
        bubble.set_class(message.id == self._found, "found")
        return bubble

    @property
    def _users_name(self) -> str:
        name = self._session.user_name
        return "You" if name == DEFAULT_USER else name

    def _greeting_bubble(self) -> Bubble:
        """The chosen greeting, which is recorded with the user's first line."""
        self._session.greeting = self._greetings[self.greeting]
        bubble = Bubble(self._session.persona.name, self._session.greeting, prompt=self._prompt)
        bubble.set_swipes(self.greeting + 1, len(self._greetings))
        return bubble

    def _count_swipes(self) -> None:
        """Only of mounted messages."""
        for bubble in self.query(Bubble):
            if bubble.message is not None:
                ids = [swipe.id for swipe in self._session.swipes(bubble.message.id)]
                bubble.set_swipes(ids.index(bubble.message.id) + 1, len(ids))

    # Scrolling

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Arrange the bubbles, and scroll in the same frame so that the held one is in its row.

        Scrolling after the layout would show a frame in which everything has moved.
        """
        arranged = super().arrange(size, optimal)
        if self._held is not None and not optimal:
            bubble, row = self._held
            lowest = arranged.spatial_map.total_region.bottom - size.height
            for placement in arranged.placements:
                if placement.widget is bubble:
                    scroll_y = float(max(0, min(placement.region.y - row, lowest)))
                    self.set_reactive(Widget.scroll_y, scroll_y)
                    self.set_reactive(Widget.scroll_target_y, scroll_y)
        return arranged

    def _hold(self, bubble: Bubble, row: int) -> None:
        """Put a bubble into a row of the view with the next layout."""
        self._held = (bubble, row)
        self.refresh(layout=True)

    def _hold_visible(self, bubbles: Sequence[Bubble]) -> None:
        """Keep the first of these bubbles that the user sees in its row."""
        top = self.scroll_offset.y
        for bubble in bubbles:
            if bubble.virtual_region.bottom > top:
                self._hold(bubble, bubble.virtual_region.y - top)
                return

    def _let_go(self, _screen: Screen[Any]) -> None:
        """After a layout the user may scroll again."""
        if self._held is not None:
            self._held = None
            self.vertical_scrollbar.position = self.scroll_y

    def _scrolled(self, before: float, now: float) -> None:
        """Load more at the end that the user comes near to."""
        if self._held is not None:
            bubble, row = self._held
            self._held = (bubble, row - round(now - before))
        near = self.size.height // 2
        if now < before and now <= near and self._window.first:
            self._extend(-1)
        elif now > before and now >= self.max_scroll_y - near and self._window.end < self._total:
            self._extend(1)
        elif now >= self.max_scroll_y and self._window.end >= self._total and not self.is_anchored:
            self.anchor()

    @work(group="window", exit_on_error=False)
    async def _extend(self, step: int) -> None:
        if self._extending:
            return
        self._extending = True
        try:
            await self.stop_animation("scroll_y", complete=False)
            window = moved(self._window, step, self._total)
            if window.end < self._total:
                # An anchor would pull the user down to each page that is loaded, and so to the end.
                self.anchor(False)
            await self._draw(window)
        finally:
            self._extending = False

    def _scroll_by(self, rows: int) -> None:
        # Immediately: the rows are counted differently after messages were loaded.
        self.scroll_to(y=self.scroll_y + rows, animate=False, immediate=True)

    def page(self, step: int) -> None:
        """Scroll by a page, up (-1) or down (1)."""
        self._scroll_by(step * self.size.height)
        if self.selected_place is not None:
            self.call_after_refresh(self._select_visible)

    def _select_visible(self) -> None:
        """Select a message that the user sees if the selected one is out of sight."""
        seen = [bubble for bubble in self.query(Bubble) if self.region.overlaps(bubble.region)]
        if seen and self.screen.focused not in seen:
            whole = [bubble for bubble in seen if self.region.contains_region(bubble.region)]
            self.screen.set_focus((whole or seen)[0], scroll_visible=False)

    async def action_jump(self, step: int) -> None:
        """Go to the first (-1) or last (1) message."""
        selected = self.selected_place is not None
        if step > 0:
            await self._show_end()
        elif self._total:
            self.anchor(False)
            async with self.batch():
                await self._draw(around(0, self._total), hold=False)
                self._hold(self._bubble_at(0), self.size.height)
        if selected and (bubbles := self.query(Bubble)):
            self._focus(bubbles.first() if step < 0 else bubbles.last())

    async def _show_end(self) -> None:
        """Go to the end, and stay there while an answer grows."""
        await self._draw(newest(self._total), hold=False)
        self.anchor()

    async def go_to(self, place: int, *, select: bool = True) -> None:
        """Show the message at a place of the branch, and select it if that is wanted."""
        async with self.batch():
            self.anchor(False)
            if place not in self._window:
                await self._draw(around(place, self._total), hold=False)
            bubble = self._bubble_at(place)
            self._hold(bubble, self.size.height // 3)
        if select:
            self._focus(bubble)

    def select(self, place: int) -> None:
        """Select the message at a place of the branch, if it is mounted."""
        if place in self._window:
            self._focus(self._bubble_at(place))

    async def go_to_message(self, message_id: str) -> None:
        """Show a message of the branch: at the end if it is the last one, or else selected."""
        ids = [message.id for message in self._session.messages]
        if ids[-1:] == [message_id]:
            await self._show_end()
        elif message_id in ids:
            await self.go_to(ids.index(message_id))

    async def go_to_found(self, place: int | None) -> None:
        """Show a message that was found, and mark it; None removes the mark."""
        messages = self._session.messages
        self._found = messages[place].id if place is not None and place < len(messages) else None
        if self._found is not None and place is not None:
            await self.go_to(place, select=False)
        for bubble in self.query(Bubble):
            bubble.set_class(bubble.message is not None and bubble.message.id == self._found, "found")

    @property
    def visible_place(self) -> int:
        """The place of the last message of which the user sees the beginning; 0 if there is none."""
        seen = [
            place
            for place, bubble in enumerate(self.query(Bubble), self._window.first)
            if bubble.region.y < self.region.bottom
        ]
        return max(seen, default=0)

    # The selected message

    @property
    def selected_place(self) -> int | None:
        """The place of the selected message in the branch; None while the user writes."""
        for place, bubble in enumerate(self.query(Bubble), self._window.first):
            if bubble is self.screen.focused:
                return place
        return None

    @property
    def selected(self) -> Bubble | None:
        """The selected message, if one is."""
        focused = self.screen.focused
        return focused if isinstance(focused, Bubble) else None

    async def select_last(self) -> None:
        """Select the last message."""
        if self._total:
            await self._show_end()
            self._focus(self.query(Bubble).last())

    async def action_select(self, step: int) -> None:
        """Select the next message up (-1) or down (1), or scroll to the rest of a long one."""
        place, selected = self.selected_place, self.selected
        if place is None or selected is None:
            return
        if self._continues(selected, step):
            self._scroll_by(step * self.size.height // 2)
        elif place + step >= self._total:
            self.post_message(self.Left())
        elif place + step >= 0:
            if place + step not in self._window:
                await self._draw(moved(self._window, step, self._total))
            self._focus(self._bubble_at(place + step))

    def _continues(self, bubble: Bubble, step: int) -> bool:
        """Whether a message that is higher than the view continues in a direction."""
        if bubble.region.height <= self.size.height:
            return False
        return bubble.region.y < self.region.y if step < 0 else bubble.region.bottom > self.region.bottom

    def _bubble_at(self, place: int) -> Bubble:
        return self.query(Bubble)[place - self._window.first]

    def _focus(self, bubble: Bubble) -> None:
        """Select a message, and scroll to it when its place is known."""
        self.screen.set_focus(bubble, scroll_visible=False)
        self.call_after_refresh(self._bring_into_view, bubble)

    def _bring_into_view(self, bubble: Bubble) -> None:
        if bubble.is_attached and not self.region.contains_region(bubble.region):
            self.scroll_to_widget(bubble, animate=False, immediate=True)

    def action_leave(self) -> None:
        """Return to the prompt."""
        self.post_message(self.Left())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Escape to stopping while an answer is generated."""
        return action != "leave" or not self._session.answering

    # Swipes

    async def swipe(self, step: int) -> None:
        """Show another swipe of the selected message, or of the last one."""
        if self._total:
            if self.selected is None:
                await self._show_end()
            await self._swipe(self.selected or self.query(Bubble).last(), step)

    @on(Bubble.ActionRequested)
    async def _swipe_one(self, event: Bubble.ActionRequested) -> None:
        if event.wish in ("earlier", "later"):
            event.stop()
            await self._swipe(event.sender, -1 if event.wish == "earlier" else 1)

    async def _swipe(self, bubble: Bubble, step: int) -> None:
        """Show the previous or next swipe of a message; after the last, generate a new one."""
        if self._session.answering:
            return
        if bubble.message is None:
            await self._greet_otherwise(step)
            return
        swipes = self._session.swipes(bubble.message.id)
        index = [swipe.id for swipe in swipes].index(bubble.message.id) + step
        if 0 <= index < len(swipes):
            self._session.choose(swipes[index].id)
            await self.show()
        elif index >= len(swipes) and not bubble.mine and bubble.message == self._session.messages[-1]:
            self.post_message(self.SwipeRequested())

    async def _greet_otherwise(self, step: int) -> None:
        """Show another greeting in the bubble of the greeting."""
        self.greeting = (self.greeting + step) % max(1, len(self._greetings))
        self._session.greeting = self._greetings[self.greeting]
        bubble = self._bubble_at(0)
        bubble.say(self._session.greeting)
        bubble.set_swipes(self.greeting + 1, len(self._greetings))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors."""
        if failure := failure_text(event):
            self.post_message(Failed(failure))


def _key(message: Message | None) -> str:
    return _UNRECORDED if message is None else message.id
