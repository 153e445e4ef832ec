"""Plain mode: a conversation as lines of text, without colours, cursor movements or a full screen.

It is made for screen readers, simple terminals and scripts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rolellm_agents.chat_files.scenes import SCENE
from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.models.reasoning import REASONING
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import ConversationSummary, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_tui.output import complain, print_text
from rolellm_tui.plain import lines
from rolellm_tui.plain.answers import Answers
from rolellm_tui.plain.background import BackgroundLoop
from rolellm_tui.plain.terminal import (
    ended_by_signals,
    look_for_damage,
    prepare_input,
    read_line,
    run_until_end,
)
from rolellm_tui.sessions import OpenSession
from rolellm_tui.slash.arguments import ALL, CLEAR
from rolellm_tui.slash.commands import Command, Name, help_lines, parse
from rolellm_tui.slash.comparing import voices_to_compare
from rolellm_tui.slash.exporting import export_by_name
from rolellm_tui.slash.moves import (
    NO_THOUGHTS,
    begin_branch,
    branch_paths,
    choose_branch,
    choose_swipe,
    last_answer,
    numbered_conversation,
    numbered_message,
    step_back,
    step_forward,
    with_numbered_greeting,
)
from rolellm_tui.slash.own import NO_REST, OwnCommand, OwnRun, called, own_commands, own_help_lines
from rolellm_tui.slash.settings import change_setting, setting_lines
from rolellm_tui.slash.user_personas import setting_of, user_persona_lines
from rolellm_tui.widgets.common.deletions import extent_of


def talk_plainly(
    persona: Persona,
    session: Session,
    transcript: Transcript,
    reopen: OpenSession,
    *,
    first: str = "",
    overridden: Mapping[str, str] | None = None,
) -> None:
    """Talk until /quit, Ctrl-D, or Ctrl-C without a running answer.

    SIGTERM exits with 143; a partial answer is saved.

    Args:
        persona: the persona as it was opened; the session's own has macros that are already filled.
        session: the conversation.
        transcript: the transcript that stores the conversation.
        reopen: opens sessions for the commands that change persona, model or strategy.
        overridden: the settings that options of the command override, with the options.
        first: a line that the user has given with the command; empty for none.
    """
    with ended_by_signals(), BackgroundLoop() as loop:
        loop.begin(look_for_damage(transcript))
        _talk(PlainChat(persona, session, transcript, reopen, loop, overridden or {}), session, first)


def _talk(chat: "PlainChat", session: Session, first: str) -> None:
    def begin() -> None:
        chat.open()
        if first:
            print_text(f"You: {first}")
            # A slash at its start is no command.
            chat.run_command(f"/{first}" if first.startswith("/") else first)

    prepare_input(message.text for message in session.messages if message.speaker == USER)
    run_until_end(begin, lambda: chat.run_command(read_line("You: ")))


class PlainChat:
    """The commands of plain mode; most of them only print."""

    def __init__(
        self,
        persona: Persona,
        session: Session,
        transcript: Transcript,
        reopen: OpenSession,
        loop: BackgroundLoop,
        overridden: Mapping[str, str],
    ) -> None:
        """Create a conversation in plain mode; `open` prints its start."""
        self._persona = persona
        self._overridden = overridden
        self._session = session
        self._transcript = transcript
        self._reopen = reopen
        self._loop = loop
        self._answers = Answers(session, loop)
        self._own: tuple[OwnCommand, ...] = ()
        self._stopped: OwnRun | None = None
        self._options: dict[str, str] = {}
        """The strategy and the model that commands have chosen."""
        self._commands: dict[Name, Callable[[Command], Iterable[str]]] = {
            "say": self._say,
            "again": self._again,
            "continue": self._continue,
            "swipe": self._swipe,
            "edit": self._edit,
            "delete": self._delete,
            "undo": self._undo,
            "redo": self._redo,
            "branch": lambda command: [begin_branch(self._session, command.number)],
            "branches": self._branches,
            "history": lambda _: self._lines_from(1),
            "note": self._note,
            "summary": self._summary,
            "why": self._why,
            "find": self._find,
            "write": self._write,
            "new": lambda _: self._go_on(self._persona, None),
            "strategy": lambda command: self._switch("strategy", command.text),
            "model": lambda command: self._switch("model", command.text),
            "talk": self._talk_with,
            "thoughts": self._thoughts,
            "greeting": self._greet,
            "compare": self._compare,
            "conversations": self._conversations,
            "export": self._export,
            "set": self._set,
            "you": self._you,
            "help": lambda _: [*help_lines(), *own_help_lines(self._own)],
        }

    def open(self) -> None:
        """Print the persona, and the last messages of a resumed conversation."""
        persona, messages = self._session.persona, self._session.messages
        for line in lines.opening(persona, self._session.model_name, messages):
            print_text(line)
        if note := self._session.notice:
            complain(note)
        try:
            self._own = own_commands()
        except RoleLLMError as error:
            complain(str(error))
        self._answers.get_ready()

    def run_command(self, line: str) -> bool:
        """Run the command of a line; False to quit."""
        try:
            if found := called(line, self._own):
                return self._run_own(OwnRun(*found))
            command = parse(line, [own.name for own in self._own])
            return self._run_rest() if command.name == "rest" else self._run(command)
        except RoleLLMError as error:
            complain(str(error))
        return True

    def _run_rest(self) -> bool:
        if self._stopped is None or self._stopped.is_over:
            raise MessageError(NO_REST)
        return self._run_own(self._stopped)

    def _run(self, command: Command) -> bool:
        if command.name == "quit":
            return False
        for text in self._commands[command.name](command):
            print_text(text)
        return True

    def _run_own(self, run: OwnRun) -> bool:
        """Run the steps until one fails; a text to put is printed. False to quit."""
        if run.own.put:
            print_text(f"Your line: {run.text_to_put(self._session)}")
        self._stopped = None
        while not run.is_over:
            try:
                self._answers.is_complete = True
                if not self._run(run.next_command(self._session)):
                    return False
            except RoleLLMError as error:
                self._stopped = run
                raise run.stopped(str(error)) from error
            if not self._answers.is_complete:
                self._stopped = run
                raise run.stopped()
            run.done += 1
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
        message = numbered_message(self._session, command.number)
        later = len(self._session.messages) - command.number
        self._answers.print_answer(self._session.edit(message.id, command.text))
        if message.speaker != USER:
            yield from self._lines_from(command.number)
        if later:
            count = lines.counted(later, "message")
            yield f"The {count} after it stay on the old branch; /undo returns to it."

    def _compare(self, command: Command) -> Iterable[str]:
        if not command.text:
            raise MessageError("Name two to four strategies or models, as in /compare zero-shot system.")
        voices = voices_to_compare(self._session, command.text)
        compared = self._answers.compared(voices)
        swipes = [swipe.id for swipe in self._session.swipes(last_answer(self._session).id)]
        for name, answer in zip(command.text.split(), compared, strict=True):
            if isinstance(answer, str):
                yield f"{name} could not answer. {answer}"
            else:
                yield f"{swipes.index(answer.id) + 1}. {name}: {answer.text}"
        yield "The first of them is kept; /swipe with another number keeps that one."

    def _write(self, _: Command) -> Iterable[str]:
        line = self._answers.suggested_line()
        return [f"Suggested line: {line}"] if line else ["The model wrote nothing."]

    # Other sessions

    def _switch(self, option: str, name: str) -> Iterable[str]:
        return self._go_on(self._persona, self._session.conversation, **{option: name})

    def _talk_with(self, command: Command) -> Iterable[str]:
        persona = load_persona(command.text)
        earlier = self._transcript.conversations(persona.id)
        return self._go_on(persona, earlier[0].id if earlier else None)

    def _conversations(self, command: Command) -> Iterable[str]:
        listed = self._transcript.conversations()
        if command.number:
            return self._go_to_conversation(listed, command.number)
        return lines.conversations(listed, self._session.conversation) or [lines.NO_CONVERSATIONS]

    def _go_to_conversation(self, listed: Sequence[ConversationSummary], number: int) -> Iterable[str]:
        chosen = numbered_conversation(listed, number)
        if chosen.persona.startswith(SCENE):
            raise MessageError(f"Conversation {number} is a scene; “rolellm scene play” plays scenes.")
        return self._go_on(load_persona(chosen.persona), chosen.id)

    def _set(self, command: Command) -> Iterable[str]:
        return self._change_setting(command.text) if command.text else setting_lines()

    def _you(self, command: Command) -> Iterable[str]:
        return self._change_setting(setting_of(command.text)) if command.text else user_persona_lines()

    def _change_setting(self, text: str) -> Iterable[str]:
        def apply(name: str) -> None:
            # A new setting takes precedence over what an earlier command has chosen.
            self._options.pop(name, None)
            self._go_on(self._persona, self._session.conversation)

        chosen = dict(self._options)
        try:
            change_setting(text, apply, self._overridden)
        except RoleLLMError:
            self._options = chosen
            raise
        return ["Saved."]

    def _greet(self, command: Command) -> Iterable[str]:
        return self._go_on(with_numbered_greeting(self._persona, command.number), None)

    def _go_on(self, persona: Persona, conversation: str | None, **options: str) -> Iterable[str]:
        """Open another session; the present one stays if that fails."""
        chosen = {**self._options, **options}
        session = self._reopen(persona, conversation, **chosen)
        self._persona, self._options, self._session = persona, chosen, session
        self._answers = Answers(session, self._loop)
        self._answers.get_ready()
        return lines.opening(session.persona, session.model_name, session.messages)

    # Navigation

    def _swipe(self, command: Command) -> Iterable[str]:
        last = len(self._session.messages)
        return [choose_swipe(self._session, command), *self._lines_from(last)]

    def _delete(self, command: Command) -> Iterable[str]:
        message = numbered_message(self._session, command.number)
        extent = self._session.measure(message.id)
        self._session.delete(message.id)
        yield f"Deleted: {extent_of(extent)}. /undo takes it back; so does the bin, for thirty days."
        yield from self._last_lines()

    def _undo(self, _: Command) -> Iterable[str]:
        told = step_back(self._session)
        return [told] if told else self._last_lines()

    def _redo(self, _: Command) -> Iterable[str]:
        told = step_forward(self._session)
        return [told] if told else self._last_lines()

    def _branches(self, command: Command) -> Iterable[str]:
        if command.number:
            return [choose_branch(self._session, command.number), *self._last_lines()]
        return lines.branches(branch_paths(self._session), self._session.branch_name) or [lines.NO_MESSAGES]

    # Output

    def _lines_from(self, number: int) -> list[str]:
        messages = self._session.messages[number - 1 :]
        numbered = lines.numbered(messages, self._session.persona.name, first=number)
        return numbered or [lines.NO_MESSAGES]

    def _last_lines(self) -> list[str]:
        count = len(self._session.messages)
        return ["The conversation ends with:", *self._lines_from(count)] if count else [lines.NO_MESSAGES]

    def _find(self, command: Command) -> Iterable[str]:
        sought = command.text.casefold()
        messages = self._session.messages
        numbered = lines.numbered(messages, self._session.persona.name)
        found = [
            line
            for line, message in zip(numbered, messages, strict=True)
            if sought in message.text.casefold()
        ]
        return found or [f"No message contains “{command.text}”."]

    def _note(self, command: Command) -> Iterable[str]:
        if command.text:
            self._session.set_note("" if command.text == CLEAR else command.text)
        note = self._session.note
        return [f"The author's note: {note}" if note else "There is no author's note."]

    def _summary(self, command: Command) -> Iterable[str]:
        if command.text:
            self._session.edit_summary("" if command.text == CLEAR else command.text)
        summary = self._session.summary
        if summary is None:
            return ["There is no summary; prompts contain the messages themselves."]
        return [f"{lines.counted(summary.covers, 'earlier message')} as a summary: {summary.text}"]

    def _thoughts(self, _: Command) -> Iterable[str]:
        thoughts = last_answer(self._session).made_by.get(REASONING)
        return [str(thoughts) if thoughts else NO_THOUGHTS]

    def _export(self, command: Command) -> Iterable[str]:
        path = export_by_name(self._transcript, self._session.conversation, command.text)
        return [f"Written to {path}."]

    def _why(self, command: Command) -> Iterable[str]:
        answer = last_answer(self._session)
        prompted = self._answers.prompt_of(answer.id)
        if command.text != ALL:
            prompt = lines.prompt(prompted) if prompted else []
            return [*lines.why(len(self._session.messages), answer), *prompt]
        if prompted is None:
            raise MessageError("The prompt of this answer was not saved; /why prints what was.")
        return lines.full_prompt(prompted)
