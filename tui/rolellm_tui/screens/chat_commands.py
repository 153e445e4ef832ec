"""Runs the commands that are typed into the prompt of a chat."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import Event
from rolellm_tui.slash.commands import CLEAR, Command, Name
from rolellm_tui.slash.own import OwnCommand, expanded, macro_scope, step_command, stopped


class Chat(Protocol):
    """What the commands need of the chat screen."""

    session: Session

    async def say(self, text: str) -> bool:
        """Send a line; whether the answer is complete."""

    async def follow(self, events: AsyncGenerator[Event, None]) -> bool:
        """Show an answer; whether it is complete."""

    async def suggest(self) -> None:
        """Let the model write into the prompt."""

    async def show_branch(self, message: str) -> None:
        """Show the current branch."""

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


_ACTIONS: dict[Name, str] = {
    "history": "screen.jump(-1)",
    "summary": "screen.summary",
    "why": "screen.why",
    "branches": "screen.tree",
    "note": "screen.note",
    "new": "screen.new",
    "quit": "app.quit",
}
"""Actions of commands without an argument."""


async def run_own(chat: Chat, own: OwnCommand, given: str) -> None:
    """Run the steps of an own command until one fails.

    Raises:
        MessageError: a step failed; the message says which.
    """
    if own.put:
        chat.put(expanded(own.put, macro_scope(chat.session), given))
        return
    for number, step in enumerate(own.steps, 1):
        try:
            is_done = await run_command(chat, step_command(step, macro_scope(chat.session), given))
        except RoleLLMError as error:
            raise MessageError(f"{stopped(own, number)} {error}") from error
        if not is_done:
            raise MessageError(stopped(own, number))


async def run_command(chat: Chat, command: Command) -> bool:
    """Run a command; False if an answer was stopped or failed.

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
        case "branches" if command.number:
            await chat.show_branch(_on_branch(session, command.number))
        case "note" if command.text:
            session.set_note("" if command.text == CLEAR else command.text)
        case name if name in _ACTIONS:
            await chat.perform(_ACTIONS[name])
        case _:
            await _use_screen(chat, command)
    return True


async def _use_screen(chat: Chat, command: Command) -> None:
    match command.name:
        case "write":
            await chat.suggest()
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


def _answer(session: Session, command: Command) -> AsyncGenerator[Event, None]:
    match command.name:
        case "again":
            return session.regenerate()
        case "continue":
            return session.continue_answer()
        case _:
            return session.edit(_numbered(session.messages, command.number).id, command.text)


def _moved(session: Session, command: Command) -> str:
    """Move in the conversation; what to tell."""
    match command.name:
        case "undo":
            return "" if session.undo() else "Nothing to undo."
        case "redo":
            return "" if session.redo() else "Nothing to redo."
        case "branch":
            return f"New branch: {session.branch(_numbered(session.messages, command.number).id)}."
        case _:
            return swiped(session, command)


def swiped(session: Session, command: Command) -> str:
    """Go to another swipe of the last answer; which one it is.

    Raises:
        MessageError: there is no such answer.
    """
    messages = session.messages
    if not messages or messages[-1].speaker == USER:
        raise MessageError("There is no answer yet; type a line, or /again.")
    swipes = session.swipes(messages[-1].id)
    current = [swipe.id for swipe in swipes].index(messages[-1].id) + 1
    number = command.number or current + (1 if command.text == "right" else -1)
    if not 1 <= number <= len(swipes):
        raise MessageError(
            f"There is no answer {number}, this is {current} of {len(swipes)}; /again generates another."
        )
    session.choose(swipes[number - 1].id)
    return f"Answer {number} of {len(swipes)}."


def _on_branch(session: Session, number: int) -> str:
    names = list(session.branches())
    if number > len(names):
        raise MessageError(f"There is no branch {number}; /branches lists them.")
    session.go_to_branch(names[number - 1])
    return f"Now on {names[number - 1]}."


def _numbered(messages: Sequence[Message], number: int) -> Message:
    if number > len(messages):
        raise MessageError(f"There is no message {number}; /history shows all.")
    return messages[number - 1]
