"""Runs the commands that are typed into the prompt of a chat."""

from collections.abc import AsyncGenerator
from typing import Protocol

from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.transcript import Message
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import Event
from rolellm_tui.slash.arguments import CLEAR
from rolellm_tui.slash.commands import Command, Name
from rolellm_tui.slash.moves import (
    begin_branch,
    choose_branch,
    choose_swipe,
    numbered_message,
    step_back,
    step_forward,
)
from rolellm_tui.slash.own import NO_REST, RUN_REST, OwnRun
from rolellm_tui.slash.user_personas import setting_of


class Chat(Protocol):
    """What the commands need of the chat screen."""

    session: Session
    stopped: OwnRun | None
    """The own command that has stopped; `/rest` goes on with it."""

    async def say(self, text: str) -> bool:
        """Send a line; whether the answer is complete."""

    async def follow(self, events: AsyncGenerator[Event, None]) -> bool:
        """Show an answer; whether it is complete."""

    async def suggest(self) -> None:
        """Let the model write into the prompt."""

    async def show_branch(self, message: str) -> None:
        """Show the current branch."""

    async def delete(self, message: Message) -> bool:
        """Delete a message and what follows it, after a question; whether the user agreed."""

    async def perform(self, action: str) -> None:
        """Run an action of the screen or of the app."""

    def find(self, text: str) -> None:
        """Search for a text."""

    def put(self, text: str) -> None:
        """Put a text into the prompt."""

    def switch(self, *, strategy: str | None = None, model: str | None = None) -> None:
        """Go on with another strategy or model."""

    def talk_with(self, reference: str) -> None:
        """Open the chat with a persona."""

    async def show_thoughts(self) -> None:
        """Show what the model thought before the last answer."""

    def begin_with_greeting(self, number: int) -> None:
        """Begin a new conversation with a greeting of the card, counted from 1."""

    def compare(self, names: str) -> None:
        """Let the named strategies or models answer the last line."""

    def go_to_conversation(self, number: int) -> None:
        """Open a conversation of the list of all conversations, counted from 1."""

    async def export(self, file: str) -> None:
        """Write the conversation to a file."""

    def change_setting(self, text: str) -> None:
        """Change a setting, given by its name and value."""


_ACTIONS: dict[Name, str] = {
    "history": "screen.jump(-1)",
    "summary": "screen.summary",
    "why": "screen.why",
    "branches": "screen.tree",
    "note": "screen.note",
    "new": "screen.new",
    "compare": "screen.compare",
    "conversations": "app.conversations",
    "export": "screen.export",
    "set": "app.settings",
    "you": "app.settings",
    "quit": "app.quit",
}
"""Actions of commands without an argument."""


async def run_own(chat: Chat, run: OwnRun) -> None:
    """Run the steps of an own command until one fails.

    Raises:
        MessageError: a step failed; the message says which.
    """
    if run.own.put:
        chat.put(run.text_to_put(chat.session))
    chat.stopped = None
    while not run.is_over:
        try:
            is_done = await run_command(chat, run.next_command(chat.session))
        except RoleLLMError as error:
            chat.stopped = run
            if run.says_next:
                # Instead of the line, which the rest has too: it would be sent twice.
                chat.put(RUN_REST)
            raise run.stopped(str(error)) from error
        if not is_done:
            chat.stopped = run
            raise run.stopped()
        run.done += 1


async def _run_rest(chat: Chat) -> None:
    if chat.stopped is None or chat.stopped.is_over:
        raise MessageError(NO_REST)
    await run_own(chat, chat.stopped)


async def run_command(chat: Chat, command: Command) -> bool:
    """Run a command; False if an answer was stopped or failed, or the user refused to delete.

    Raises:
        RoleLLMError: the command cannot be run.
    """
    session = chat.session
    match command.name:
        case "say":
            return not command.text or await chat.say(command.text)
        case "again" | "continue" | "edit":
            return await chat.follow(_answer(session, command))
        case "swipe" | "undo" | "redo" | "branch":
            await chat.show_branch(_moved(session, command))
        case "delete":
            return await chat.delete(numbered_message(session, command.number))
        case "branches" if command.number:
            await chat.show_branch(choose_branch(session, command.number))
        case "note" if command.text:
            session.set_note("" if command.text == CLEAR else command.text)
        case "summary" if command.text:
            session.edit_summary("" if command.text == CLEAR else command.text)
        case name if name in _ACTIONS and not command.text and not command.number:
            await chat.perform(_ACTIONS[name])
        case _:
            await _use_screen(chat, command)
    return True


async def _use_screen(chat: Chat, command: Command) -> None:
    match command.name:
        case "rest":
            await _run_rest(chat)
        case "write":
            await chat.suggest()
        case "thoughts":
            await chat.show_thoughts()
        case "export":
            await chat.export(command.text)
        case "greeting":
            chat.begin_with_greeting(command.number)
        case "conversations":
            chat.go_to_conversation(command.number)
        case _:
            _pass_text(chat, command)


def _pass_text(chat: Chat, command: Command) -> None:
    match command.name:
        case "help":
            chat.put("/")
        case "find":
            chat.find(command.text)
        case "strategy":
            chat.switch(strategy=command.text)
        case "model":
            chat.switch(model=command.text)
        case "talk":
            chat.talk_with(command.text)
        case "compare":
            chat.compare(command.text)
        case "set":
            chat.change_setting(command.text)
        case "you":
            chat.change_setting(setting_of(command.text))


def _answer(session: Session, command: Command) -> AsyncGenerator[Event, None]:
    match command.name:
        case "again":
            return session.regenerate()
        case "continue":
            return session.continue_answer()
        case _:
            return session.edit(numbered_message(session, command.number).id, command.text)


def _moved(session: Session, command: Command) -> str:
    """Move in the conversation; what to tell."""
    match command.name:
        case "undo":
            return step_back(session)
        case "redo":
            return step_forward(session)
        case "branch":
            return begin_branch(session, command.number)
        case _:
            return choose_swipe(session, command)
