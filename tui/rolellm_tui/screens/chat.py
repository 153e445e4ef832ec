"""The chat: one persona, one conversation."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.message import Message
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Footer, Header, Static
from textual.worker import Worker, WorkerState

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.persona import Persona
from rolellm_agents.text import plain
from rolellm_agents.transcript.message import USER
from rolellm_graphs.events import Event, MessageDone, Recalled, TokenDelta, TurnFailed
from rolellm_graphs.session import Session
from rolellm_tui.widgets.bubble import Bubble
from rolellm_tui.widgets.prompt import Prompt

PAUSE = 0.3
"""Seconds without a key after which what was typed so far is read ahead."""
SHOWN = 200
"""How many of a long conversation's last messages are put on the screen."""


class ChatScreen(Screen[None]):
    """Say something, see the answer come, stop it, have it again."""

    AUTO_FOCUS = "#prompt"
    BINDINGS = [
        Binding("escape", "stop", "Stop", id="stop", tooltip="Stop the answer; it keeps its words."),
        Binding("ctrl+r", "regenerate", "Again", id="regenerate", tooltip="Have another answer."),
        Binding("ctrl+n", "new", "New", id="new", tooltip="Begin a new conversation."),
        Binding("ctrl+l", "library", "Library", id="library", tooltip="Talk with somebody else."),
    ]

    answering: var[bool] = var(False, bindings=True)

    @dataclass
    class NewConversation(Message):
        """The person wants to begin again with the same persona."""

        persona: Persona

    def __init__(self, session: Session) -> None:
        """Show `session`, whatever was said in it before."""
        super().__init__()
        self._session = session
        self._answer: Bubble | None = None

    def compose(self) -> ComposeResult:
        """The conversation over the prompt."""
        yield Header()
        yield VerticalScroll(id="conversation")
        yield Static("", id="status", markup=False)
        yield Prompt(id="prompt", placeholder="Say something…")
        yield Footer()

    async def on_mount(self) -> None:
        """Show what was said, and load the model while the person reads it."""
        self.sub_title = f"{self._session.persona.name} · {self._session.model_name}"
        conversation = self.query_one("#conversation", VerticalScroll)
        conversation.anchor()
        await self._show_conversation()
        self._prepare()

    @work(group="prepare", exit_on_error=False)
    async def _prepare(self) -> None:
        self._tell("loading the model…")
        try:
            await self._session.prepare()
        except RoleLLMError as error:
            self._complain(error)
        else:
            self._tell("")
            self._read_ahead()

    @on(Prompt.Changed, "#prompt")
    def _typed(self, event: Prompt.Changed) -> None:
        self._read_ahead(event.text_area.text)

    @work(group="ahead", exclusive=True, exit_on_error=False)
    async def _read_ahead(self, draft: str = "") -> None:
        """Use the time in which the person reads and types."""
        await asyncio.sleep(PAUSE)
        await self._session.read_ahead(draft)

    @on(Prompt.Submitted, "#prompt")
    def _send(self, event: Prompt.Submitted) -> None:
        if self.answering:
            self._tell(f"{self._session.persona.name} is still answering; Escape stops it.")
            return
        if not event.text.strip():
            return
        event.prompt.text = ""
        self._say(event.text)

    @work(group="answer", exclusive=True, exit_on_error=False)
    async def _say(self, text: str) -> None:
        """Send a line; whatever cannot be recorded goes back into the prompt."""
        self.answering = True
        try:
            self._session.greet()
            await self._follow(self._session.send(text))
        except RoleLLMError as error:
            self._complain(error)
            self.query_one("#prompt", Prompt).text = text
        finally:
            self.answering = False
            self._read_ahead(self.query_one("#prompt", Prompt).text)

    @work(group="answer", exclusive=True, exit_on_error=False)
    async def _say_again(self) -> None:
        self.answering = True
        try:
            await self._follow(self._session.regenerate())
        except RoleLLMError as error:
            self._complain(error)
        finally:
            self.answering = False
            self._read_ahead(self.query_one("#prompt", Prompt).text)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A defect of ours must not end the app and take the person's half-written line with it."""
        error = event.worker.error
        if event.state == WorkerState.ERROR and error is not None:
            self._complain(f"Something went wrong inside rolellm: {type(error).__name__}: {error}.")

    async def _follow(self, events: AsyncGenerator[Event, None]) -> None:
        self._answer = None
        self._tell(f"{self._session.persona.name} is thinking…")
        async with aclosing(events):
            async for event in events:
                await self._show(event)
        self._answer = None

    async def _show(self, event: Event) -> None:
        match event:
            case Recalled():
                pass
            case TokenDelta(text=text):
                if self._answer is None:
                    self._tell("")
                    self._answer = Bubble(self._session.persona.name)
                    await self._remove_old_answer()
                    await self.query_one("#conversation").mount(self._answer)
                self._answer.add(text)
            case MessageDone(message=message) if message.speaker == USER:
                await self.query_one("#conversation").mount(Bubble.of(message, ""))
            case MessageDone(message=message):
                if self._answer is not None:
                    self._answer.mark(message)
            case TurnFailed(error=error, message=part):
                if self._answer is not None and part is not None:
                    self._answer.mark(part)
                self._complain(error)

    async def _remove_old_answer(self) -> None:
        """A new swipe takes the place of the one before."""
        bubbles = self.query(Bubble)
        if bubbles and not bubbles.last().has_class("mine") and len(bubbles) > 1:
            await bubbles.last().remove()

    async def _show_conversation(self) -> None:
        name = self._session.persona.name
        messages = self._session.messages
        conversation = self.query_one("#conversation")
        if len(messages) > SHOWN:
            earlier = f"{len(messages) - SHOWN} earlier messages are in the history."
            await conversation.mount(Static(earlier, classes="earlier"))
        bubbles = [Bubble.of(message, name) for message in messages[-SHOWN:]]
        if not messages and self._session.persona.greeting:
            bubbles = [Bubble(name, self._session.persona.greeting)]
        await conversation.mount_all(bubbles)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer Stop only while there is something to stop, and Again only while there is not."""
        return {"stop": self.answering, "regenerate": not self.answering}.get(action, True)

    def action_stop(self) -> None:
        """Stop the answer; its words so far stay."""
        self._session.cancel()

    def action_regenerate(self) -> None:
        """Have another answer to the last line."""
        self._say_again()

    async def action_new(self) -> None:
        """Begin a new conversation with the same persona."""
        self._session.cancel()
        self.post_message(self.NewConversation(self._session.persona))

    async def action_library(self) -> None:
        """Go back to the library."""
        self._session.cancel()
        self.dismiss()

    def _tell(self, text: str) -> None:
        status = self.query_one("#status", Static)
        status.remove_class("error")
        status.update(plain(text))

    def _complain(self, error: RoleLLMError | str) -> None:
        status = self.query_one("#status", Static)
        status.add_class("error")
        status.update(plain(str(error)))
