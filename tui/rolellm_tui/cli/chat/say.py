"""`rolellm say`: send one line to a persona and print the answer."""

import asyncio
import io
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rolellm_tui.cli.options import (
    JsonOption,
    SessionOptions,
    open_session,
    overriding_flags,
    session_opener,
    with_option_groups,
)
from rolellm_tui.cli.transcripts import open_transcript
from rolellm_tui.output import StreamedText, complain, print_json

if TYPE_CHECKING:
    from rolellm_agents.persona import Persona
    from rolellm_agents.transcript import Message, Transcript
    from rolellm_graphs.chat.session import Session

Result = TypeVar("Result")


@with_option_groups
def say(
    *,
    persona: Annotated[str, typer.Argument(help="Persona id, name or file.")],
    text: Annotated[
        str | None,
        typer.Argument(
            help="The line to send; - reads standard input. Optional with -i.", show_default=False
        ),
    ] = None,
    options: SessionOptions,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", "-c", metavar="ID", help="Continue this conversation."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Save the exchange in the history.")
    ] = True,
    interactive: Annotated[
        bool,
        typer.Option("--interactive", "-i", help="Go on talking, line by line, in the same window."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Send one line to a persona and print the answer while it is generated.

    With -i, a conversation follows. It stays in the terminal's scrollback.

    \b
    Examples:
      rolellm say abraham-lincoln "What keeps you going?"
      rolellm say 李白 "今晚喝什么？" --strategy system
      rolellm say -i jack-sparrow
      cat letter.txt | rolellm say "Sherlock Holmes" - --json
      rolellm say shrek "Hello" --model openai:qwen3 --base-url http://127.0.0.1:8080/v1
    """
    from rolellm_agents.errors import MessageError
    from rolellm_agents.persona import load_persona
    from rolellm_agents.transcript import Transcript

    if interactive and (as_json or text == "-"):
        raise typer.BadParameter("It needs a person at a terminal, not - or --json.", param_hint="-i")
    if text is None and not interactive:
        raise MessageError("There is nothing to send; add a text, or -i for a conversation.")
    line = read_input() if text == "-" else text or ""
    addressee = load_persona(persona)
    with open_transcript() if keep else Transcript(None) as transcript:
        earlier = _conversation_with(addressee, transcript, conversation) if conversation else None
        session = open_session(addressee, transcript, options, conversation=earlier)
        if interactive:
            from rolellm_tui.plain.chat import talk_plainly

            talk_plainly(
                addressee,
                session,
                transcript,
                session_opener(transcript, options),
                first=line,
                overridden=overriding_flags(options),
            )
            return
        if note := session.notice:
            complain(note)
        answer = run(exchange(session, line, show=not as_json))
        if as_json and answer:
            print_json(_as_json(session, answer))
        if answer is None or answer.status == "failed":
            raise typer.Exit(2)


def _conversation_with(persona: "Persona", transcript: "Transcript", reference: str) -> str:
    from rolellm_agents.errors import MessageError

    found = transcript.find_conversation(reference)
    if found.persona != persona.id:
        raise MessageError(
            f"The conversation {found.id} is with {found.persona}, not with {persona.id}; "
            f"“rolellm history list --persona {persona.id}” shows theirs."
        )
    return found.id


def read_input() -> str:
    """Read all of standard input.

    Raises:
        MessageError: standard input is not UTF-8 text.
    """
    from rolellm_agents.errors import MessageError

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise MessageError("Standard input is not UTF-8 text; convert it first.") from error


def run(talk: Coroutine[Any, Any, Result]) -> Result:
    """Run a conversation until it ends, or until a signal or a closed output interrupts it.

    Messages up to that point are saved. SIGTERM exits with 143.
    """
    try:
        return asyncio.run(talk)
    except asyncio.CancelledError:
        raise typer.Exit(128 + signal.SIGTERM) from None
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python reports the error again on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None


async def exchange(session: "Session", line: str, *, show: bool) -> "Message | None":
    """Send a line and return the answer, or None. With `show`, print it while it is generated."""
    from rolellm_graphs.events import MessageDone, TokenDelta, TurnFailed
    from rolellm_tui.plain.waiting_lines import waiting_lines

    _cancel_on_sigterm()
    answer: Message | None = None
    shown = StreamedText()
    with waiting_lines(session.voice.model) as waiting:
        async with aclosing(session.send(line)) as events:
            async for event in events:
                waiting.take(event)
                match event:
                    case TokenDelta(text=text) if show:
                        shown.print_part(text)
                    case MessageDone(message=message) if message.speaker == session.persona.id:
                        answer = message
                    case TurnFailed(error=error, message=answer):
                        if show and answer:
                            shown.end()
                        complain(str(error))
                        return answer
    if show:
        shown.end()
    return answer


def _cancel_on_sigterm() -> None:
    """Let SIGTERM cancel the task as Ctrl-C does, so that the partial answer is saved."""
    task = asyncio.current_task()
    if task is not None and sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _as_json(session: "Session", answer: "Message") -> dict[str, Any]:
    from rolellm_agents.models.prices import cost_of, prices_of

    prices = prices_of(session.model_name)
    return {
        "persona": session.persona.id,
        "model": session.model_name,
        "strategy": session.strategy,
        "text": answer.text,
        "status": answer.status,
        "usage": answer.usage,
        **({"cost": cost_of(answer.usage, prices)} if prices and answer.usage else {}),
        "made_by": dict(answer.made_by),
        "conversation": answer.conversation,
        "message": answer.id,
    }
