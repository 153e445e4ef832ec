"""The chat: one persona, one conversation."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events, on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message as AppMessage
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Input, Static
from textual.worker import Worker

from rolellm_agents.config.settings import TextWidth
from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.models.local import runs_here
from rolellm_agents.models.reasoning import REASONING
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.text import plain
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import Event, MessageDone, Prefilling, Prompted, TokenDelta, TurnFailed, Waiting
from rolellm_tui.screens.ask import AskScreen
from rolellm_tui.screens.chat_commands import run_command, run_own
from rolellm_tui.screens.chat_keys import CHAT_KEYS, is_offered
from rolellm_tui.screens.compare import CompareScreen
from rolellm_tui.screens.copy_text import CopyScreen
from rolellm_tui.screens.delete import DELETED, DeleteScreen
from rolellm_tui.screens.inspector import InspectorScreen
from rolellm_tui.screens.tree import TreeScreen
from rolellm_tui.slash.commands import Command, parse_prompt
from rolellm_tui.slash.comparing import named_voices
from rolellm_tui.slash.exporting import export_by_name
from rolellm_tui.slash.moves import NO_THOUGHTS, last_answer, numbered_conversation, with_numbered_greeting
from rolellm_tui.slash.own import OwnCommand, OwnRun, called, own_commands
from rolellm_tui.slash.settings import read_change
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.command_list import CommandList
from rolellm_tui.widgets.chat.composer import Composer
from rolellm_tui.widgets.chat.conversation_view import ConversationView
from rolellm_tui.widgets.chat.finder import MessageFinder
from rolellm_tui.widgets.chat.meter import Meter
from rolellm_tui.widgets.chat.opening import ChatOpening
from rolellm_tui.widgets.chat.persona_panel import PersonaPanel, has_room_beside
from rolellm_tui.widgets.chat.quick_replies import QuickReplies
from rolellm_tui.widgets.chat.summary_line import SummaryLine
from rolellm_tui.widgets.chat.voice_form import VoiceChoice
from rolellm_tui.widgets.common.copied import copied
from rolellm_tui.widgets.common.failures import Failed, failure_text
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.notice import Notice
from rolellm_tui.widgets.common.search_bar import SearchBar
from rolellm_tui.widgets.common.status_line import StatusLine
from rolellm_tui.widgets.inspector.provenance import ProvenanceLog

if TYPE_CHECKING:
    from rolellm_tui.widgets.library.portrait import PixelWidget

_MESSAGE_HINT = "↑↓ select  ←→ answers  ^e edit  F3 branch  ^o why  ^c copy  ⏎ part  Esc"


class ChatScreen(Screen[None]):
    """Send lines, stop and regenerate answers, and move in the conversation tree."""

    CSS_PATH = "chat.tcss"
    AUTO_FOCUS = "#prompt"
    BINDINGS = CHAT_KEYS
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]

    answering: var[bool] = var(False, bindings=True)
    text_width: var[TextWidth] = var("full", init=False)
    """The columns of messages; wider screens show the persona beside them."""

    @dataclass
    class NewConversation(AppMessage):
        """The user starts a new conversation with the same persona."""

        persona: Persona
        path: Path | None = None
        """As in `ChatOpening`."""

    @dataclass
    class PersonaEditRequested(AppMessage):
        """The user edits the persona of the chat."""

        chat: "ChatScreen"

    @dataclass
    class Reopened(AppMessage):
        """The user goes on with other options or another persona."""

        chat: "ChatScreen"
        opening: ChatOpening

    @dataclass
    class ConversationChosen(AppMessage):
        """The user goes to another conversation."""

        conversation: str

    @dataclass
    class SettingGiven(AppMessage):
        """The user changes a setting, given by its name and value."""

        chat: "ChatScreen"
        text: str

    @dataclass
    class ExportRequested(AppMessage):
        """The user exports the conversation."""

        conversation: str

    @dataclass
    class Left(AppMessage):
        """The user returned to the library."""

        opening: ChatOpening

    def __init__(
        self,
        session: Session,
        opening: ChatOpening,
        *,
        text_width: TextWidth = "full",
        pixels: "PixelWidget | None" = None,
    ) -> None:
        """Show a session with its messages.

        Args:
            session: the session to show.
            opening: how the chat was opened.
            text_width: the columns of messages; wider screens show the persona beside them.
            pixels: draws portraits in pixels, from `find_pixels`.
        """
        super().__init__()
        self.set_reactive(ChatScreen.text_width, text_width)
        self._pixels = pixels
        self.session = session
        self._opening = opening
        self._provenance = ProvenanceLog()
        self._finder: MessageFinder | None = None
        self._finding = asyncio.Lock()
        """Held while a match is looked for and shown."""

        self.stopped: OwnRun | None = opening.stopped
        """The user's own command that has stopped."""
        self._typed = ""
        """The command that was run last."""
        self._own: tuple[OwnCommand, ...] = ()
        self._own_error: RoleLLMError | None = None
        try:
            self._own = own_commands()
        except RoleLLMError as error:
            self._own_error = error

    @property
    def is_complete(self) -> bool:
        """Whether all parts of the screen are there."""
        return bool(self.query(ConversationView))

    @property
    def opening(self) -> ChatOpening:
        """An opening that restores the current state."""
        conversation = self.session.conversation
        return replace(
            self._opening,
            conversation=conversation,
            new=not conversation,
            greeting=self._conversation.greeting,
            at=None,
            stopped=self.stopped,
        )

    def compose(self) -> ComposeResult:
        """Compose the head, the conversation and the prompt."""
        session, opening = self.session, self._opening
        yield PersonaPanel(session.persona, user=session.user_name, pixels=self._pixels)
        with Horizontal(id="about"):
            description = f"{session.persona.name} · {session.model_name} · {session.strategy}"
            yield Static(plain(description), id="who", markup=False)
            yield Meter(id="meter")
        yield SummaryLine(id="summary")
        commands = CommandList(id="commands")
        prompt = Composer(session, commands=commands, own=self._own, id="prompt")
        yield ConversationView(
            session, prompt=prompt, greeting=opening.greeting, at=opening.at, id="conversation"
        )
        with Vertical(id="below"):
            yield StatusLine(id="status")
            yield Static(_MESSAGE_HINT, id="message-hint", markup=False)
            yield SearchBar()
            yield commands
            yield QuickReplies(self._own)
            yield prompt
        yield KeyFooter()

    def on_mount(self) -> None:
        """Load the model in the background."""
        self._prepare()
        self._show_summary()

    def on_resize(self, event: events.Resize) -> None:
        """Show the persona beside the messages where there is room."""
        self._show_persona()

    def watch_text_width(self) -> None:
        """Show the persona beside the messages where there is room now."""
        self._show_persona()

    def _show_persona(self) -> None:
        for panel in self.query(PersonaPanel):
            panel.display = has_room_beside(self.size.width, self.text_width)

    @work(group="prepare", exit_on_error=False)
    async def _prepare(self) -> None:
        self._status.show_waiting("loading the model…")
        try:
            await self.session.prepare()
        except RoleLLMError as error:
            self._status.complain(error)
        else:
            self._status.show_message(self.session.notice)
            self._prompt.read_ahead()
        if self._own_error:
            self._status.complain(self._own_error)

    @property
    def _conversation(self) -> ConversationView:
        return self.query_one(ConversationView)

    @property
    def _prompt(self) -> Composer:
        return self.query_one(Composer)

    @property
    def _status(self) -> StatusLine:
        return self.query_one(StatusLine)

    # Answers

    @on(Composer.Submitted)
    def _send(self, event: Composer.Submitted) -> None:
        if self.answering:
            self._status.show_message(
                f"{self.session.persona.name} is still answering; press Escape to stop."
            )
        elif event.text.strip():
            self._run(event.text)

    def _run(self, text: str) -> None:
        """Run the command in the prompt, or send its text. What is no command stays in the prompt."""
        if found := called(text, self._own):
            own, given = found
            if self._prompt.take(text):
                self._typed = ""
                self._begin(lambda: run_own(self, OwnRun(own, given)))
            return
        try:
            command = parse_prompt(text, [own.name for own in self._own])
        except RoleLLMError as error:
            self._status.complain(error)
            return
        if self._prompt.take(text):
            self._begin(lambda: self._run_typed(command, text))

    async def _run_typed(self, command: Command, text: str) -> None:
        self._typed = text if command.name != "say" else ""
        try:
            await run_command(self, command)
        except RoleLLMError:
            self._give_back()
            raise

    def _give_back(self) -> None:
        """Put a command that failed back into the prompt, unless something was typed since."""
        if self._typed and not self._prompt.text:
            self._prompt.put(self._typed)

    def refuse(self, error: RoleLLMError) -> None:
        """Tell why the app cannot do what the last command asked for; the chat goes on."""
        self._status.complain(error)
        self._give_back()

    @on(QuickReplies.Pressed)
    def _run_button(self, event: QuickReplies.Pressed) -> None:
        if self.answering:
            return
        self._typed = ""
        given = self._prompt.text if event.command.takes_input else ""
        self._prompt.take(given)
        self._begin(lambda: run_own(self, OwnRun(event.command, given)))
        self._prompt.focus()

    @work(group="answer", exclusive=True, exit_on_error=False)
    async def _begin(self, act: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run one action that may produce an answer. Other actions are rejected meanwhile."""
        self.answering = True
        try:
            await self._attempt(act)
        finally:
            self.answering = False
            self._show_summary()
            self._prompt.read_ahead()
            self._summarize()

    async def _attempt(self, act: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run an action, and then show the state of the transcript."""
        try:
            await act()
        except RoleLLMError as error:
            self._status.complain(error)
        finally:
            await self._conversation.show()

    async def say(self, text: str) -> bool:
        """Send a line; whether the answer is complete."""
        try:
            self.session.greet()
            is_complete = await self.follow(self.session.send(text))
        except RoleLLMError:
            await self._prompt.settle(text)
            raise
        await self._prompt.settle(text)
        return is_complete

    async def follow(self, events: AsyncGenerator[Event, None]) -> bool:
        """Show an answer; whether it is complete."""
        is_complete = True
        self._status.show_waiting(f"{self.session.persona.name} is thinking…")
        outcome = "has answered"
        async with aclosing(events):
            async for event in events:
                match event:
                    case Prompted() if not runs_here(self.session.voice.model):
                        self._status.show_waiting("waiting for the server")
                    case Waiting() | Prefilling():
                        self._status.show_waiting(str(event))
                    case TokenDelta():
                        self._status.stop_waiting()
                    case TurnFailed(error=error):
                        is_complete = False
                        outcome = "could not answer"
                        self._status.complain(error)
                    case MessageDone(message=message):
                        is_complete = message.status == "complete"
                self._provenance.note(event)
                self.query_one(Meter).take(event, self.session.context_size)
                await self._conversation.take(event)
        self._status.stop_waiting()
        self.post_message(Notice(f"{self.session.persona.name} {outcome}."))
        return is_complete

    # What commands do

    async def perform(self, action: str) -> None:
        """Run an action of the screen or of the app."""
        await self.app.run_action(action, self)

    def find(self, text: str) -> None:
        """Open the search bar with a text."""
        self.action_find()
        self.query_one(SearchBar).query_one(Input).value = text

    def put(self, text: str) -> None:
        """Put a text into the prompt."""
        self._prompt.put(text)

    def switch(self, *, strategy: str | None = None, model: str | None = None) -> None:
        """Go on with another strategy or model."""
        opening = self.opening
        self.post_message(
            self.Reopened(
                self, replace(opening, strategy=strategy or opening.strategy, model=model or opening.model)
            )
        )

    def talk_with(self, reference: str) -> None:
        """Open the chat with a persona.

        Raises:
            PersonaError: there is no such persona.
        """
        self.post_message(self.Reopened(self, ChatOpening(load_persona(reference))))

    async def show_thoughts(self) -> None:
        """Select the last answer, and show what the model thought before it.

        Raises:
            MessageError: there is no answer, or nothing is known about its thoughts.
        """
        if not last_answer(self.session).made_by.get(REASONING):
            raise MessageError(NO_THOUGHTS)
        await self._conversation.select_last()
        if bubble := self._conversation.selected:
            bubble.show_thoughts()

    def begin_with_greeting(self, number: int) -> None:
        """Begin a new conversation with a greeting of the card, counted from 1.

        Raises:
            MessageError: there is no such greeting.
        """
        with_numbered_greeting(self._opening.persona, number)
        opening = replace(self.opening, conversation=None, new=True, greeting=number - 1, stopped=None)
        self.post_message(self.Reopened(self, opening))

    def compare(self, names: str) -> None:
        """Let the named strategies or models answer the last line."""
        self._compare([VoiceChoice(*voice) for voice in named_voices(self.session, names)])

    def go_to_conversation(self, number: int) -> None:
        """Open a conversation of the list.

        Raises:
            MessageError: there is no conversation of this number.
        """
        chosen = numbered_conversation(self.session.transcript.conversations(), number)
        self.post_message(self.ConversationChosen(chosen.id))

    async def export(self, file: str) -> None:
        """Write the conversation to a file.

        Raises:
            ChatFileError: the file exists, or cannot be written.
        """
        session = self.session
        path = await asyncio.to_thread(export_by_name, session.transcript, session.conversation, file)
        self._status.show_message(f"Written to {path}.")

    def change_setting(self, text: str) -> None:
        """Change a setting; the app goes on with it.

        Raises:
            SettingsError: there is no such setting, or its value is invalid.
        """
        read_change(text)
        self.post_message(self.SettingGiven(self, text))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the actions that apply now."""
        return is_offered(action, answering=self.answering)

    def action_stop(self) -> None:
        """Stop the answer and keep its text so far."""
        self.session.cancel()

    def action_again(self) -> None:
        """Regenerate the last answer."""
        self._begin(lambda: self.follow(self.session.regenerate()))

    def action_go_on(self) -> None:
        """Continue the last answer."""
        self._begin(lambda: self.follow(self.session.continue_answer()))

    async def action_swipe(self, step: int) -> None:
        """Show the previous or next answer; after the last, generate a new one."""
        await self._conversation.swipe(step)

    @on(ConversationView.SwipeRequested)
    def _swiped_past_the_last(self) -> None:
        if not self.answering:
            self.action_again()

    async def action_undo(self) -> None:
        """Undo the last action, or the last edit while the user types."""
        if self._prompt.is_writing:
            self._prompt.undo()
        else:
            await self.show_branch("" if self.session.undo() else "Nothing to undo.")

    async def action_redo(self) -> None:
        """Redo."""
        if self._prompt.is_writing:
            self._prompt.redo()
        else:
            await self.show_branch("" if self.session.redo() else "Nothing to redo.")

    async def show_branch(self, message: str) -> None:
        """Show the current branch."""
        self._status.show_message(message)
        self._show_summary()
        await self._conversation.show()

    def action_write_for_me(self) -> None:
        """Let the model write the user's line into the prompt."""
        self._begin(self.suggest)

    async def suggest(self) -> None:
        """Let the model write the user's line."""
        self._status.show_message("The model is writing your line; press Escape to stop.")
        try:
            await self._prompt.suggest()
        finally:
            self._status.show_message("")

    # Moving in the conversation

    async def action_select(self) -> None:
        """Select the last message."""
        await self._conversation.select_last()

    @on(ConversationView.Left)
    def _write(self) -> None:
        self._prompt.focus()

    def on_descendant_focus(self) -> None:
        """Tell the keys of a message while one is selected."""
        self.set_class(self._conversation.selected is not None, "selecting")

    def action_page(self, step: int) -> None:
        """Scroll the conversation by a page."""
        self._conversation.page(step)

    async def action_jump(self, step: int) -> None:
        """Go to the first or last message."""
        await self._conversation.action_jump(step)

    # Finding

    def action_find(self) -> None:
        """Open the search bar."""
        bar, self._finder = self.query_one(SearchBar), None
        bar.open()
        if bar.text:
            self._seek(SearchBar.Changed(bar.text))

    @on(SearchBar.Changed)
    @work(group="find", exit_on_error=False)
    async def _seek(self, event: SearchBar.Changed) -> None:
        # One after the other, and to the end: a window that is drawn by halves shows another message.
        async with self._finding:
            bar = self.query_one(SearchBar)
            if bar.text != event.text or not bar.is_open:
                return
            if self._finder is None:
                texts = [message.text for message in self.session.messages]
                self._finder = await asyncio.to_thread(MessageFinder, texts)
            await asyncio.to_thread(self._finder.seek, event.text, self._conversation.visible_place)
            await self._show_found(self._finder)

    @on(SearchBar.MoveRequested)
    @work(group="find", exit_on_error=False)
    async def _find_next(self, event: SearchBar.MoveRequested) -> None:
        async with self._finding:
            if self._finder is not None:
                self._finder.move(event.step)
                await self._show_found(self._finder)

    async def _show_found(self, finder: MessageFinder) -> None:
        bar = self.query_one(SearchBar)
        bar.show_position(finder.position if bar.text else "")
        await self._conversation.go_to_found(finder.place)

    @on(SearchBar.Closed)
    async def _select_found(self) -> None:
        found = self._finder.place if self._finder else None
        await self._conversation.go_to_found(None)
        if found is not None and found >= len(self.session.messages):
            found = None
        if found is not None:
            await self._conversation.go_to(found, select=False)
        if self.query_one(SearchBar).is_open:  # again, meanwhile
            return
        if found is None:
            self.set_focus(self._prompt)
        else:
            self._conversation.select(found)

    # The summary of earlier messages

    @work(group="summarize", exit_on_error=False)
    async def _summarize(self) -> None:
        """Let the model summarize what no longer fits into its prompts."""
        if await self.session.summarize():
            self._show_summary()
            self._prompt.read_ahead()

    def _show_summary(self) -> None:
        self.query_one(SummaryLine).show_summary(self.session.summary)

    @on(SummaryLine.Opened)
    def action_summary(self) -> None:
        """Open the summary."""
        if self.session.summary is None:
            self._status.show_message("There is no summary; prompts contain the messages themselves.")
        else:
            self._open_summary()

    @work(group="summary", exclusive=True, exit_on_error=False)
    async def _open_summary(self) -> None:
        summary = self.session.summary
        if summary is None:
            return
        hint = "Prompts contain this text instead of the earlier messages; an empty text removes it."
        text = await self.app.push_screen_wait(AskScreen("Summary", summary.text, hint=hint))
        if text is not None and text != summary.text:
            self.session.edit_summary(text)
            self._show_summary()
        self._prompt.focus()

    # Actions of single messages

    @on(Bubble.ActionRequested)
    async def _grant(self, event: Bubble.ActionRequested) -> None:
        bubble = event.sender
        match event.wish:
            case "copy":
                self._copy(self.get_selected_text() or plain(bubble.text))
            case "copy a part":
                self._copy_a_part(plain(bubble.text))
            case "branch" if bubble.message and not self.answering:
                name = self.session.branch(bubble.message.id)
                await self.show_branch(f"New branch: {name}. Ctrl+T shows all.")
                self._prompt.focus()
            case "delete" if bubble.message and not self.answering:
                self._delete(bubble.message)

    def _copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self._status.show_message(copied(text))

    def action_copy_text(self) -> None:
        """Copy what the mouse has selected, also across messages."""
        if (text := self.get_selected_text()) is None:
            raise SkipAction
        self._copy(text)

    @work(group="copy", exclusive=True, exit_on_error=False)
    async def _copy_a_part(self, text: str) -> None:
        if part := await self.app.push_screen_wait(CopyScreen(text)):
            self._copy(part)

    def action_edit(self) -> None:
        """Edit the selected message, or the user's last line."""
        if message := self._message_for(mine=True):
            self._edit(message)
        else:
            self._status.show_message("There is nothing to edit yet.")

    def _message_for(self, *, mine: bool) -> Message | None:
        """The selected message; else the last line of the user or of the persona."""
        if selected := self._conversation.selected:
            return selected.message
        said = reversed(self.session.messages)
        return next((message for message in said if (message.speaker == USER) == mine), None)

    def action_why(self) -> None:
        """Open the inspector for the selected answer, or the last one."""
        message, session = self._message_for(mine=False), self.session
        if message is None or message.speaker == USER:
            self._status.show_message("Only answers can be inspected.")
            return
        provenance = self._provenance.of(message.id)
        self.app.push_screen(InspectorScreen(message, provenance, session.voice, user=session.user_name))

    # Other windows

    @work(group="edit", exclusive=True, exit_on_error=False)
    async def _edit(self, message: Message) -> None:
        explanation = (
            "A new answer to your message follows; the old" if message.speaker == USER else "The old"
        )
        hint = f"{explanation} text is kept as a swipe."
        text = await self.app.push_screen_wait(AskScreen("Edit", message.text, hint=hint))
        if text and text.strip() and text != message.text:
            self._begin(lambda: self.follow(self.session.edit(message.id, text)))

    @work(group="delete", exclusive=True, exit_on_error=False)
    async def _delete(self, message: Message) -> None:
        await self.delete(message)

    async def delete(self, message: Message) -> bool:
        """Delete a message and what follows it, after a question; whether the user agreed.

        Raises:
            MessageError: the message is not on this branch any more.
        """
        what = "this message and everything that follows it"
        if not await self.app.push_screen_wait(DeleteScreen(what, self.session.measure(message.id))):
            return False
        self.session.delete(message.id)
        await self.show_branch(DELETED)
        self._prompt.focus()
        return True

    @work(group="note", exclusive=True, exit_on_error=False)
    async def action_note(self) -> None:
        """Write the author's note."""
        hint = (
            "It is inserted into each prompt, a few messages before the end: a mood, a place, a direction."
        )
        text = await self.app.push_screen_wait(AskScreen("Author's note", self.session.note, hint=hint))
        if text is not None:
            self.session.set_note(text)
            self._status.show_message("Note saved." if text.strip() else "Note removed.")

    @work(group="tree", exclusive=True, exit_on_error=False)
    async def action_tree(self) -> None:
        """Open the tree, and go to the message chosen there."""
        session = self.session
        names = {USER: session.user_name, session.persona.id: session.persona.name}
        tree = TreeScreen(session, title=session.persona.name, names=names)
        chosen = await self.app.push_screen_wait(tree)
        if chosen:
            self.session.choose(chosen)
            await self.show_branch("")
            await self._conversation.go_to_message(chosen)
        elif tree.has_deleted:
            await self.show_branch(DELETED)

    def action_compare(self) -> None:
        """Let several strategies or models answer the text in the prompt, or the last line."""
        self._compare([])

    @work(group="compare", exclusive=True, exit_on_error=False)
    async def _compare(self, choices: Sequence[VoiceChoice]) -> None:
        """Compare the chosen voices; without any, the user chooses them."""
        text = self._prompt.text
        if await self.app.push_screen_wait(
            CompareScreen(self.session, text, self._provenance, choices=choices)
        ):
            self._prompt.take(text)
        await self._conversation.show()

    def action_edit_persona(self) -> None:
        """Edit the persona's file."""
        self.post_message(self.PersonaEditRequested(self))

    def action_export(self) -> None:
        """Write the conversation to a file."""
        if conversation := self.session.conversation:
            self.post_message(self.ExportRequested(conversation))
        else:
            self._status.show_message("There is nothing to export yet.")

    def action_new(self) -> None:
        """Begin a new conversation with the same persona."""
        self.session.cancel()
        self.post_message(self.NewConversation(self._opening.persona, self._opening.path))

    def action_library(self) -> None:
        """Go back to the library."""
        self.session.cancel()
        self.app.post_message(self.Left(self.opening))
        self.dismiss()

    # Errors in the background

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._status.complain(failure)

    @on(Failed)
    def _show_failure(self, event: Failed) -> None:
        self._status.complain(event.sentence)
