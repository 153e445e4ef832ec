"""The messages of a conversation as bubbles, and the swipes of each."""

from dataclasses import dataclass

from textual import on, work
from textual.containers import VerticalScroll
from textual.message import Message as AppMessage
from textual.worker import Worker

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import Event, MessageDone, TokenDelta, TurnFailed
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.opening import greetings_for
from rolellm_tui.widgets.common.failures import Failed, failure_text

PAGE = 60
"""Messages per page; earlier pages load on scrolling up."""


class ConversationView(VerticalScroll, can_focus=False):
    """Shows the branch of a session and the answer being generated."""

    @dataclass
    class SwipeRequested(AppMessage):
        """The user moved past the last swipe."""

    def __init__(
        self,
        session: Session,
        *,
        greeting: int = 0,
        at: str | None = None,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        """Show a session with its messages.

        Args:
            session: the session to show.
            greeting: the number of the greeting of a new conversation; 0 is the persona's main greeting.
            at: the id of the message to scroll to; the newest when None.
            id: the id of the widget.
        """
        super().__init__(id=id)
        self.greeting = greeting
        self._session = session
        self._at = at
        self._greetings = greetings_for(session.persona, session.user_name)
        self._growing: Bubble | None = None
        self._first_shown = 0

    async def on_mount(self) -> None:
        """Show the first page."""
        self.anchor()
        ids = [message.id for message in self._session.messages]
        index = ids.index(self._at) if self._at in ids else len(ids)
        self._first_shown = max(0, min(index - PAGE // 2, len(ids) - PAGE))
        await self.show()
        if index < len(ids):
            self.query(Bubble)[index - self._first_shown].focus()
        self.watch(self, "scroll_y", self._scrolled, init=False)

    def focus_last(self) -> None:
        """Focus the last message."""
        if bubbles := self.query(Bubble):
            bubbles.last().focus()

    @property
    def last_answer(self) -> Bubble | None:
        """The last message of the persona, if any."""
        answers = [bubble for bubble in self.query(Bubble) if not bubble.mine]
        return answers[-1] if answers else None

    # What is on the screen

    async def show(self) -> None:
        """Synchronize the bubbles with the session, keeping unchanged ones."""
        self._growing = None
        messages = self._session.messages
        self._first_shown = min(self._first_shown, max(0, len(messages) - 1))
        shown = messages[self._first_shown :]
        bubbles = list(self.query(Bubble))
        same = 0
        for bubble, message in zip(bubbles, shown, strict=False):
            if bubble.message is None or bubble.message.id != message.id:
                break
            same += 1
        with self.app.batch_update():
            for bubble in bubbles[same:]:
                await bubble.remove()
            new = [self._bubble_of(message) for message in shown[same:]]
            if not messages and self._session.persona.greeting:
                new = [self._greeting_bubble()]
            await self.mount_all(new)
        self._count_swipes()

    async def take(self, event: Event) -> None:
        """Show the effect of an event."""
        match event:
            case TokenDelta(text=text):
                await self._grow(text)
            case MessageDone(message=message) if message.speaker == USER:
                await self.show()
            case MessageDone(message=message) | TurnFailed(message=message) if message and self._growing:
                self._growing.mark(message)

    async def _grow(self, text: str) -> None:
        """Show text of the answer being generated; its start replaces the previous answer."""
        if self._growing is None:
            self._growing = Bubble(self._session.persona.name)
            if self._session.messages[-1].speaker != USER:
                await self.query(Bubble).last().remove()
            await self.mount(self._growing)
        self._growing.say(self._growing.text + text)

    def _bubble_of(self, message: Message) -> Bubble:
        by_user = message.speaker == USER
        return Bubble(
            self._users_name if by_user else self._session.persona.name,
            message.text,
            mine=by_user,
            message=message,
        )

    @property
    def _users_name(self) -> str:
        name = self._session.user_name
        return "You" if name == DEFAULT_USER else name

    def _greeting_bubble(self) -> Bubble:
        """The chosen greeting, which is recorded with the user's first line."""
        self._session.greeting = self._greetings[self.greeting]
        bubble = Bubble(self._session.persona.name, self._session.greeting)
        bubble.set_swipes(self.greeting + 1, len(self._greetings))
        return bubble

    def _count_swipes(self) -> None:
        """Only displayed messages."""
        for bubble in self.query(Bubble):
            if bubble.message is not None:
                ids = [swipe.id for swipe in self._session.swipes(bubble.message.id)]
                bubble.set_swipes(ids.index(bubble.message.id) + 1, len(ids))

    # Earlier messages

    def _scrolled(self, scroll_y: float) -> None:
        if scroll_y <= 0 and self._first_shown and not self._session.answering:
            self._show_earlier()

    @work(group="earlier", exclusive=True, exit_on_error=False)
    async def _show_earlier(self) -> None:
        """Load the previous page without moving the visible part."""
        from_bottom = self.virtual_size.height - self.scroll_offset.y
        end, self._first_shown = self._first_shown, max(0, self._first_shown - PAGE)
        page = self._session.messages[self._first_shown : end]
        first = self.query(Bubble).first()
        await self.mount_all([self._bubble_of(message) for message in page], before=first)
        self.call_after_refresh(
            lambda: self.scroll_to(y=self.virtual_size.height - from_bottom, animate=False, force=True)
        )

    # Swipes

    async def swipe(self, step: int) -> None:
        """Show another swipe of the last message."""
        if bubbles := self.query(Bubble):
            await self._swipe(bubbles.last(), step)

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
            self.greeting = (self.greeting + step) % max(1, len(self._greetings))
            await bubble.remove()
            await self.mount(self._greeting_bubble())
            return
        swipes = self._session.swipes(bubble.message.id)
        index = [swipe.id for swipe in swipes].index(bubble.message.id) + step
        if 0 <= index < len(swipes):
            self._session.choose(swipes[index].id)
            await self.show()
        elif index >= len(swipes) and bubble is self.query(Bubble).last() and not bubble.mine:
            self.post_message(self.SwipeRequested())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors."""
        if failure := failure_text(event):
            self.post_message(Failed(failure))
