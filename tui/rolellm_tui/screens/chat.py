"""The chat: one persona, one conversation."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message as AppMessage
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.worker import Worker, WorkerState

from rolellm_agents.card_persona import greetings_of
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.persona import Persona
from rolellm_agents.settings import DEFAULT_USER
from rolellm_agents.text import plain
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.events import Event, MessageDone, Prompted, Recalled, TokenDelta, TurnFailed
from rolellm_graphs.session import Session
from rolellm_tui.screens.ask import AskScreen
from rolellm_tui.screens.compare import CompareScreen
from rolellm_tui.screens.inspector import InspectorScreen, Made
from rolellm_tui.screens.tree import TreeScreen
from rolellm_tui.widgets.bubble import Bubble
from rolellm_tui.widgets.meter import Meter
from rolellm_tui.widgets.prompt import Prompt

PAUSE = 0.3
"""Seconds without a key after which what was typed so far is kept and read ahead."""
PAGE = 60
"""How many messages are put on the screen at once; the earlier ones come when one scrolls up to them."""


class ChatScreen(Screen[None]):
    """Say something, see the answer come, stop it, have it again, and walk among all that was said."""

    CSS_PATH = "chat.tcss"
    AUTO_FOCUS = "#prompt"
    BINDINGS = [
        Binding("escape", "stop", "Stop", id="stop", tooltip="Stop the answer; it keeps its words."),
        Binding("ctrl+r", "again", "Again", id="again", tooltip="Have another answer."),
        Binding("ctrl+g", "go_on", "More", id="go-on", tooltip="Let the answer go on."),
        Binding("alt+left", "swipe(-1)", "Earlier", id="earlier", tooltip="The answer before.", show=False),
        Binding("alt+right", "swipe(1)", "Later", id="later", tooltip="The next answer.", show=False),
        Binding("ctrl+z", "undo", "Undo", id="undo", tooltip="Take the last thing back.", priority=True),
        Binding("ctrl+y", "redo", "Redo", id="redo", tooltip="Do it again.", priority=True, show=False),
        Binding("ctrl+t,f8", "tree", "Tree", id="tree", tooltip="All branches of this conversation."),
        Binding("ctrl+o", "why", "Why", id="why", tooltip="Why did it say that?"),
        Binding(
            "ctrl+d",
            "compare",
            "Compare",
            id="compare",
            tooltip="Several answers side by side.",
            priority=True,
        ),
        Binding(
            "f6",
            "write_for_me",
            "Write",
            id="write",
            tooltip="Let the model write your line.",
            priority=True,
        ),
        Binding("f7", "note", "Note", id="note", tooltip="The author's note.", show=False, priority=True),
        Binding("ctrl+n,f9", "new", "New", id="new", tooltip="Begin a new conversation."),
        Binding("ctrl+l", "library", "Library", id="library", tooltip="Talk with somebody else."),
    ]

    answering: var[bool] = var(False, bindings=True)

    @dataclass
    class NewConversation(AppMessage):
        """The person wants to begin again with the same persona."""

        persona: Persona

    @dataclass
    class Left(AppMessage):
        """The person went back to the library."""

    def __init__(self, session: Session, *, greeting: int = 0, at: str | None = None) -> None:
        """Show a session, whatever was said in it before.

        Args:
            session: to show.
            greeting: which of the persona's greetings a new conversation begins with; 0 is its own.
            at: the id of a message to begin at; the newest when None.
        """
        super().__init__()
        self._session = session
        self._at = at
        self._answer: Bubble | None = None
        self._first_shown = 0
        self._greeting = greeting
        self._made: dict[str, Made] = {}
        self._prompted: Prompted | None = None
        self._recalled: Recalled | None = None

    @property
    def session(self) -> Session:
        """What is shown."""
        return self._session

    def compose(self) -> ComposeResult:
        """Who it is, the conversation, and the prompt."""
        with Horizontal(id="about"):
            yield Static(self._about(), id="who", markup=False)
            yield Meter(id="meter")
        yield VerticalScroll(id="conversation", can_focus=False)
        yield Static("", id="status", markup=False)
        yield Prompt(id="prompt", placeholder="Say something…", soft_wrap=True)
        yield Footer()

    async def on_mount(self) -> None:
        """Show what was said, and load the model while the person reads it."""
        conversation = self.query_one("#conversation", VerticalScroll)
        conversation.anchor()
        ids = [message.id for message in self._session.messages]
        place = ids.index(self._at) if self._at in ids else len(ids)
        self._first_shown = max(0, min(place - PAGE // 2, len(ids) - PAGE))
        await self._show_conversation()
        if place < len(ids):
            self.query(Bubble)[place - self._first_shown].focus()
        self.watch(conversation, "scroll_y", self._scrolled, init=False)
        prompt = self.query_one("#prompt", Prompt)
        prompt.text = self._session.draft
        prompt.move_cursor(prompt.document.end)
        self._prepare()

    def _about(self) -> str:
        session = self._session
        return plain(f"{session.persona.name} · {session.model_name} · {session.strategy}")

    @work(group="prepare", exit_on_error=False)
    async def _prepare(self) -> None:
        self._tell("loading the model…")
        try:
            await self._session.prepare()
        except RoleLLMError as error:
            self._complain(error)
        else:
            self._tell("")
            self._while_typing(self.query_one("#prompt", Prompt).text)

    # Writing

    @on(Prompt.Changed, "#prompt")
    def _typed(self, event: Prompt.Changed) -> None:
        self._while_typing(event.text_area.text)

    @work(group="ahead", exclusive=True, exit_on_error=False)
    async def _while_typing(self, draft: str = "") -> None:
        """Use a pause: keep what is written, and let the model read it."""
        await asyncio.sleep(PAUSE)
        await asyncio.to_thread(self._session.keep_draft, draft)
        await self._session.read_ahead(draft)

    @on(Prompt.Submitted, "#prompt")
    def _send(self, event: Prompt.Submitted) -> None:
        if self.answering:
            self._tell(f"{self._session.persona.name} is still answering; Escape stops it.")
        elif event.text.strip():
            text = event.prompt.take()
            self._begin(lambda: self._say(text))

    @on(Prompt.LeftUpwards)
    def _go_up(self) -> None:
        """From the prompt into the conversation, where each message has its own keys."""
        if bubbles := self.query(Bubble):
            bubbles.last().focus()

    # Answers

    @work(group="answer", exclusive=True, exit_on_error=False)
    async def _begin(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """One thing that may bring an answer; whatever happens, the screen then shows what is kept."""
        self.answering = True
        try:
            await act()
        except RoleLLMError as error:
            self._complain(error)
        finally:
            self.answering = False
            self._answer = None
            await self._show_conversation()
            self._while_typing(self.query_one("#prompt", Prompt).text)

    async def _say(self, text: str) -> None:
        """Send a line; whatever cannot be recorded goes back into the prompt."""
        try:
            self._session.greet()
            await self._follow(self._session.send(text))
        except RoleLLMError:
            if not self._is_kept(text):
                self.query_one("#prompt", Prompt).text = text
            raise
        if self._is_kept(text):
            await asyncio.to_thread(self._session.keep_draft, "")

    def _is_kept(self, text: str) -> bool:
        mine = [message for message in self._session.messages if message.speaker == USER]
        return bool(mine) and mine[-1].text == text.strip()

    async def _follow(self, events: AsyncGenerator[Event, None]) -> None:
        self._tell(f"{self._session.persona.name} is thinking…")
        async with aclosing(events):
            async for event in events:
                await self._show(event)

    async def _show(self, event: Event) -> None:
        match event:
            case Recalled():
                self._recalled = event
            case Prompted():
                self._prompted = event
            case TokenDelta(message=message, text=text):
                await self._grow(message, text)
            case MessageDone(message=message) if message.speaker == USER:
                await self._show_conversation()
            case MessageDone(message=message):
                self._finish(message)
            case TurnFailed(error=error, message=part):
                if part is not None:
                    self._finish(part)
                self._complain(error)

    async def _grow(self, message: str, text: str) -> None:
        """Words of the answer that is on its way; its first take the place of the one before."""
        if self._answer is None:
            self._tell("")
            self._answer = Bubble(self._session.persona.name)
            if self._session.messages[-1].speaker != USER:
                await self.query(Bubble).last().remove()
            await self.query_one("#conversation").mount(self._answer)
            self._made[message] = Made(self._prompted, self._recalled.items if self._recalled else ())
        self._answer.say(self._answer.text + text)

    def _finish(self, message: Message) -> None:
        if self._answer is not None:
            self._answer.mark(message)
        self.query_one(Meter).show(message, self._session.context_size)

    # What is on the screen

    async def _show_conversation(self) -> None:
        """Bring the screen in line with the session: what is the same stays, the rest is replaced."""
        messages = self._session.messages
        self._first_shown = min(self._first_shown, max(0, len(messages) - 1))
        wanted = messages[self._first_shown :]
        bubbles = list(self.query(Bubble))
        same = 0
        for bubble, message in zip(bubbles, wanted, strict=False):
            if bubble.message is None or bubble.message.id != message.id:
                break
            same += 1
        conversation = self.query_one("#conversation")
        with self.app.batch_update():
            for bubble in bubbles[same:]:
                await bubble.remove()
            new = [self._bubble_of(message) for message in wanted[same:]]
            if not messages and self._session.persona.greeting:
                new = [self._greeting_bubble()]
            await conversation.mount_all(new)
        self._count_swipes()
        self.query_one("#prompt", Prompt).said = [
            message.text for message in messages if message.speaker == USER
        ]

    def _bubble_of(self, message: Message) -> Bubble:
        mine = message.speaker == USER
        return Bubble(
            self._mine if mine else self._session.persona.name, message.text, mine=mine, message=message
        )

    @property
    def _mine(self) -> str:
        name = self._session.user_name
        return "You" if name == DEFAULT_USER else name

    def _greeting_bubble(self) -> Bubble:
        """The greeting that is chosen, which is not said before the person's first line."""
        self._session.greeting = self._chosen_greeting()
        bubble = Bubble(self._session.persona.name, self._session.greeting)
        bubble.set_swipes(self._greeting + 1, len(self._greetings()))
        return bubble

    def _greetings(self) -> list[str]:
        return [greeting for greeting in greetings_of(self._session.persona) if greeting.strip()]

    def _chosen_greeting(self) -> str:
        greetings = self._greetings()
        return greetings[self._greeting] if greetings else ""

    def _count_swipes(self) -> None:
        """Only of those that are on the screen."""
        for bubble in self.query(Bubble):
            if bubble.message is not None:
                ids = [one.id for one in self._session.swipes(bubble.message.id)]
                bubble.set_swipes(ids.index(bubble.message.id) + 1, len(ids))

    def _scrolled(self, scroll_y: float) -> None:
        if scroll_y <= 0 and self._first_shown and not self.answering:
            self._show_earlier()

    @work(group="earlier", exclusive=True, exit_on_error=False)
    async def _show_earlier(self) -> None:
        """The page before what is shown; what the person was looking at stays where it is."""
        conversation = self.query_one("#conversation", VerticalScroll)
        from_bottom = conversation.virtual_size.height - conversation.scroll_offset.y
        end, self._first_shown = self._first_shown, max(0, self._first_shown - PAGE)
        page = self._session.messages[self._first_shown : end]
        first = self.query(Bubble).first()
        await conversation.mount_all([self._bubble_of(message) for message in page], before=first)
        self.call_after_refresh(
            lambda: conversation.scroll_to(
                y=conversation.virtual_size.height - from_bottom, animate=False, force=True
            )
        )

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer Stop only while there is something to stop, and the rest only while there is not."""
        if action == "stop":
            return self.answering
        return not (self.answering and action in _QUIET_ONLY)

    def action_stop(self) -> None:
        """Stop the answer; its words so far stay."""
        self._session.cancel()

    def action_again(self) -> None:
        """Have another answer to the last line."""
        self._begin(lambda: self._follow(self._session.regenerate()))

    def action_go_on(self) -> None:
        """Let the last answer go on from its last words."""
        self._begin(lambda: self._follow(self._session.continue_answer()))

    async def action_swipe(self, step: int) -> None:
        """To the answer before or after; after the last one, to a new one."""
        bubbles = self.query(Bubble)
        if bubbles:
            await self._swipe(bubbles.last(), step)

    async def _swipe(self, bubble: Bubble, step: int) -> None:
        if bubble.message is None:
            self._greeting = (self._greeting + step) % max(1, len(self._greetings()))
            await bubble.remove()
            await self.query_one("#conversation").mount(self._greeting_bubble())
            return
        swipes = self._session.swipes(bubble.message.id)
        place = [one.id for one in swipes].index(bubble.message.id) + step
        if 0 <= place < len(swipes):
            self._session.choose(swipes[place].id)
            await self._show_conversation()
        elif place >= len(swipes) and bubble is self.query(Bubble).last() and not bubble.has_class("mine"):
            self.action_again()

    async def action_undo(self) -> None:
        """Take the last thing done back; while the person writes, what they wrote last."""
        prompt = self.query_one("#prompt", Prompt)
        if prompt.has_focus and prompt.text.strip():
            prompt.undo()
            return
        self._tell("" if self._session.undo() else "There is nothing to take back.")
        await self._show_conversation()

    async def action_redo(self) -> None:
        """Do again what was taken back."""
        prompt = self.query_one("#prompt", Prompt)
        if prompt.has_focus and prompt.text.strip():
            prompt.redo()
            return
        self._tell("" if self._session.redo() else "There is nothing to do again.")
        await self._show_conversation()

    @on(Bubble.Wished)
    async def _grant(self, event: Bubble.Wished) -> None:
        bubble = event.sender
        match event.wish:
            case "earlier" | "later" if not self.answering:
                await self._swipe(bubble, -1 if event.wish == "earlier" else 1)
            case "why":
                self._show_why(bubble)
            case "copy":
                self.app.copy_to_clipboard(plain(bubble.text))
                self._tell("Copied.")
            case "branch" if bubble.message and not self.answering:
                name = self._session.branch(bubble.message.id)
                await self._show_conversation()
                self._tell(f"A new branch begins here: {name}. Ctrl+T shows all.")
                self.query_one("#prompt").focus()
            case "edit" if bubble.message and not self.answering:
                self._edit(bubble.message)

    @work(group="edit", exclusive=True, exit_on_error=False)
    async def _edit(self, message: Message) -> None:
        hint = "What you said is answered anew; the old words stay as a swipe."
        if message.speaker != USER:
            hint = "The old words stay as a swipe."
        text = await self.app.push_screen_wait(AskScreen("Edit", message.text, hint=hint))
        if text and text.strip() and text != message.text:
            self._begin(lambda: self._follow(self._session.edit(message.id, text)))

    @work(group="note", exclusive=True, exit_on_error=False)
    async def action_note(self) -> None:
        """Write the author's note."""
        hint = "It stands in each prompt, a few messages before the end: a mood, a place, a direction."
        text = await self.app.push_screen_wait(AskScreen("Author's note", self._session.note, hint=hint))
        if text is not None:
            self._session.set_note(text)
            self._tell("The note is kept." if text.strip() else "There is no note now.")

    def action_write_for_me(self) -> None:
        """Let the model write the person's line into the prompt."""
        self._begin(self._write_for_me)

    async def _write_for_me(self) -> None:
        prompt = self.query_one("#prompt", Prompt)
        before = prompt.text
        self._tell("The model writes your line; Escape stops it.")
        prompt.text = ""
        try:
            async with aclosing(self._session.suggest_line()) as words:
                async for word in words:
                    prompt.insert(word)
        finally:
            if not prompt.text.strip():
                prompt.text = before
            self._tell("")

    def action_why(self) -> None:
        """Show what the last answer was made of."""
        answers = [bubble for bubble in self.query(Bubble) if not bubble.has_class("mine")]
        if answers:
            self._show_why(answers[-1])

    def _show_why(self, bubble: Bubble) -> None:
        if bubble.message is None or bubble.has_class("mine"):
            self._tell("Only answers have a why.")
            return
        made = self._made.get(bubble.message.id, Made(None, ()))
        self.app.push_screen(InspectorScreen(bubble.message, made, self._session.voice))

    @work(group="tree", exclusive=True, exit_on_error=False)
    async def action_tree(self) -> None:
        """Show all branches; what is picked there is gone to."""
        picked = await self.app.push_screen_wait(TreeScreen(self._session))
        if picked:
            self._session.choose(picked)
            await self._show_conversation()

    @work(group="compare", exclusive=True, exit_on_error=False)
    async def action_compare(self) -> None:
        """Let several strategies or models answer what stands in the prompt, or the last line again."""
        prompt = self.query_one("#prompt", Prompt)
        sent = await self.app.push_screen_wait(CompareScreen(self._session, prompt.text))
        if sent:
            prompt.take()
        await self._show_conversation()

    def action_new(self) -> None:
        """Begin a new conversation with the same persona."""
        self._session.cancel()
        self.post_message(self.NewConversation(self._session.persona))

    def action_library(self) -> None:
        """Go back to the library."""
        self._session.cancel()
        self.app.post_message(self.Left())
        self.dismiss()

    # Telling

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A defect of ours must not end the app and take the person's half-written line with it."""
        error = event.worker.error
        if event.state == WorkerState.ERROR and error is not None:
            if isinstance(error, RoleLLMError):
                self._complain(error)
            else:
                self._complain(f"Something went wrong inside rolellm: {type(error).__name__}: {error}.")

    def _tell(self, text: str) -> None:
        status = self.query_one("#status", Static)
        status.remove_class("error")
        status.update(plain(text))

    def _complain(self, error: RoleLLMError | str) -> None:
        status = self.query_one("#status", Static)
        status.add_class("error")
        status.update(plain(str(error)))


_QUIET_ONLY = (
    "again",
    "go_on",
    "swipe",
    "undo",
    "redo",
    "tree",
    "compare",
    "write_for_me",
)
"""What would get into the way of an answer."""
