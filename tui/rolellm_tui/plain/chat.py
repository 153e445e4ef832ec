"""Plain mode: a conversation as lines of text, without colours, cursor movements or a full screen.

It is made for screen readers, simple terminals and scripts.
"""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.text import plain, replace_surrogates
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_tui.output import complain, print_text
from rolellm_tui.plain import lines
from rolellm_tui.plain.answers import Answers
from rolellm_tui.plain.background import BackgroundLoop
from rolellm_tui.plain.commands import ALL, CLEAR, Command, Name, help_lines, parse
from rolellm_tui.widgets.common.deletions import extent_of


def talk_plainly(session: Session, transcript: Transcript, *, first: str = "") -> None:
    """Talk until /quit, Ctrl-D, or Ctrl-C without a running answer.

    SIGTERM exits with 143; a partial answer is saved.

    Args:
        session: the conversation.
        transcript: the transcript that stores the conversation.
        first: a line that the user has given with the command; empty for none.
    """
    try:
        with _ended_by_signals(), BackgroundLoop() as loop:
            _talk(session, transcript, loop, first)
    except SystemExit:
        # Not before the loop has ended: until then, an answer may print words.
        if sys.stdout.isatty():
            print_text("")
        raise


def _talk(session: Session, transcript: Transcript, loop: BackgroundLoop, first: str) -> None:
    chat = PlainChat(session, transcript, Answers(session, loop))
    _prepare_input(session)
    try:
        chat.open()
        if first:
            print_text(f"You: {first}")
            # A slash at its start is no command.
            chat.run_command(f"/{first}" if first.startswith("/") else first)
        while chat.run_command(_ask()):
            pass
    except (EOFError, KeyboardInterrupt):
        print_text("")  # put the shell's prompt on a new line
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python reports the error again on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class PlainChat:
    """The commands of plain mode; most of them only print."""

    def __init__(self, session: Session, transcript: Transcript, answers: Answers) -> None:
        """Create a conversation in plain mode; `open` prints its start."""
        self._session = session
        self._transcript = transcript
        self._answers = answers
        self._commands: dict[Name, Callable[[Command], Iterable[str]]] = {
            "say": self._say,
            "again": self._again,
            "continue": self._continue,
            "swipe": self._swipe,
            "edit": self._edit,
            "delete": self._delete,
            "undo": self._undo,
            "redo": self._redo,
            "branch": self._branch,
            "branches": self._branches,
            "history": lambda _: self._lines_from(1),
            "note": self._note,
            "summary": self._summary,
            "why": self._why,
            "help": lambda _: help_lines(),
        }

    def open(self) -> None:
        """Print the persona, and the last messages of a resumed conversation."""
        persona, messages = self._session.persona, self._session.messages
        for line in lines.opening(persona, self._session.model_name, messages):
            print_text(line)
        if note := self._session.voice.prompting.note:
            complain(note)
        self._answers.get_ready()

    def run_command(self, line: str) -> bool:
        """Run the command of a line; False to quit."""
        try:
            command = parse(line)
            if command.name == "quit":
                return False
            for text in self._commands[command.name](command):
                print_text(text)
        except RoleLLMError as error:
            complain(str(error))
        return True

    # Answers

    def _say(self, command: Command) -> Iterable[str]:
        if command.text:
            self._session.greet()
            self._answers.print_answer(self._session.send(command.text))
        return ()

    def _again(self, _: Command) -> Iterable[str]:
        self._answers.print_answer(self._session.regenerate())
        return ()

    def _continue(self, _: Command) -> Iterable[str]:
        messages = self._session.messages
        self._answers.print_answer(
            self._session.continue_answer(), prefix=messages[-1].text if messages else ""
        )
        return ()

    def _edit(self, command: Command) -> Iterable[str]:
        message = self._message(command.number)
        later = len(self._session.messages) - command.number
        self._answers.print_answer(self._session.edit(message.id, command.text))
        if message.speaker != USER:
            yield from self._lines_from(command.number)
        if later:
            count = lines.counted(later, "message")
            yield f"The {count} after it stay on the old branch; /undo returns to it."

    # Navigation

    def _swipe(self, command: Command) -> Iterable[str]:
        answer = self._last_answer()
        swipes = self._session.swipes(answer.id)
        current = [swipe.id for swipe in swipes].index(answer.id) + 1
        number = command.number or current + (1 if command.text == "right" else -1)
        if not 1 <= number <= len(swipes):
            raise MessageError(
                f"There is no answer {number}, this is {current} of {len(swipes)}; "
                "/again generates another."
            )
        last = len(self._session.messages)
        self._session.choose(swipes[number - 1].id)
        return [f"Answer {number} of {len(swipes)}.", *self._lines_from(last)]

    def _delete(self, command: Command) -> Iterable[str]:
        message = self._message(command.number)
        extent = self._session.measure(message.id)
        self._session.delete(message.id)
        yield f"Deleted: {extent_of(extent)}. /undo takes it back; so does the bin, for thirty days."
        yield from self._last_lines()

    def _undo(self, _: Command) -> Iterable[str]:
        return self._last_lines() if self._session.undo() else ["Nothing to undo."]

    def _redo(self, _: Command) -> Iterable[str]:
        return self._last_lines() if self._session.redo() else ["Nothing to redo."]

    def _branch(self, command: Command) -> Iterable[str]:
        name = self._session.branch(self._message(command.number).id)
        return [f"Continuing after message {command.number}, on {name}."]

    def _branches(self, command: Command) -> Iterable[str]:
        conversation = self._session.conversation
        branches = list(self._transcript.branches(conversation).items()) if conversation else []
        if command.number:
            return self._go_to_branch(branches, command.number)
        current = self._session.branch_name
        paths = [(name, self._transcript.path_to(head) if head else []) for name, head in branches]
        return lines.branches(paths, current) or [lines.NO_MESSAGES]

    def _go_to_branch(self, branches: list[tuple[str, str | None]], number: int) -> Iterable[str]:
        if number > len(branches):
            raise MessageError(f"There is no branch {number}; /branches lists them.")
        name, _ = branches[number - 1]
        self._session.go_to_branch(name)
        return [f"Now on {name}.", *self._last_lines()]

    # Output

    def _lines_from(self, number: int) -> list[str]:
        messages = self._session.messages[number - 1 :]
        numbered = lines.numbered(messages, self._session.persona.name, first=number)
        return numbered or [lines.NO_MESSAGES]

    def _last_lines(self) -> list[str]:
        count = len(self._session.messages)
        return ["The conversation ends with:", *self._lines_from(count)] if count else [lines.NO_MESSAGES]

    def _note(self, command: Command) -> Iterable[str]:
        if command.text:
            self._session.set_note("" if command.text == CLEAR else command.text)
        note = self._session.note
        return [f"The author's note: {note}" if note else "There is no author's note."]

    def _summary(self, _: Command) -> Iterable[str]:
        summary = self._session.summary
        if summary is None:
            return ["There is no summary; prompts contain the messages themselves."]
        return [f"{lines.counted(summary.covers, 'earlier message')} as a summary: {summary.text}"]

    def _why(self, command: Command) -> Iterable[str]:
        answer = self._last_answer()
        prompted = self._answers.prompt_of(answer.id)
        if command.text != ALL:
            prompt = lines.prompt(prompted) if prompted else []
            return [*lines.why(len(self._session.messages), answer), *prompt]
        if prompted is None:
            raise MessageError("The prompt of this answer was not saved; /why prints what was.")
        return lines.full_prompt(prompted)

    def _message(self, number: int) -> Message:
        messages = self._session.messages
        if number > len(messages):
            raise MessageError(f"There is no message {number}; /history prints the numbers.")
        return messages[number - 1]

    def _last_answer(self) -> Message:
        messages = self._session.messages
        if not messages or messages[-1].speaker == USER:
            raise MessageError("There is no answer yet; type a line, or /again.")
        return messages[-1]


def _ask() -> str:
    """Read the next line of the user.

    Raises:
        EOFError: the input ended.
    """
    in_terminal = sys.stdin.isatty()
    while replace_surrogates(line := input("You: " if in_terminal else "")) != line:
        complain("This line is not UTF-8 text; type it again.")
    if not in_terminal:
        print_text(f"You: {line}")
    return line


def _prepare_input(session: Session) -> None:
    """Accept any bytes, and enable a history for the arrow keys, and the keys that the user has chosen."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        # Input that is not text would make readline drop the lines after it.
        sys.stdin.reconfigure(errors="surrogateescape")
    with suppress(ImportError):  # Windows has no readline; its terminal has a history of its own
        import readline

        # Pasted lines are one message. Python switches this off, because its own prompt runs each line.
        readline.parse_and_bind("set enable-bracketed-paste on")
        if load_settings().vim_keys:
            readline.parse_and_bind("set editing-mode vi")
        for message in session.messages:
            if message.speaker == USER and "\n" not in message.text:
                readline.add_history(plain(message.text))


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the program like /quit, so that messages are saved."""

    def leave(number: int, _: Any) -> None:
        sys.exit(128 + number)

    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
