"""`rolellm say`: one line to a persona, its answer as it comes."""

import asyncio
import io
import os
import signal
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rolellm_tui.cli.options import (
    BaseUrlOption,
    EmbeddingsOption,
    JsonOption,
    LorebookOption,
    MaxTokensOption,
    ModelOption,
    RecallOption,
    RememberOption,
    SeedOption,
    StrategyOption,
    TemperatureOption,
    open_session,
)
from rolellm_tui.output import complain, print_json, print_text

if TYPE_CHECKING:
    from rolellm_agents.persona import Persona
    from rolellm_agents.transcript import Message, Transcript
    from rolellm_graphs.chat.session import Session

Result = TypeVar("Result")


def say(
    persona: Annotated[str, typer.Argument(help="An id, a name, or a persona file.")],
    text: Annotated[str, typer.Argument(help="What to say; - reads standard input.")],
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    strategy: StrategyOption = None,
    seed: SeedOption = None,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
    lorebook: LorebookOption = None,
    recall: RecallOption = None,
    embeddings: EmbeddingsOption = None,
    remember: RememberOption = None,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", "-c", metavar="ID", help="Go on with this conversation."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Keep the exchange in the history.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Say something to a persona and print the answer as it comes.

    \b
    Examples:
      rolellm say abraham-lincoln "What keeps you going?"
      rolellm say 李白 "今晚喝什么？" --strategy system
      cat letter.txt | rolellm say "Sherlock Holmes" - --json
      rolellm say shrek "Hello" --model openai:qwen3 --base-url http://127.0.0.1:8080/v1
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.persona import load_persona
    from rolellm_agents.transcript import Transcript

    line = read_input() if text == "-" else text
    spoken_to = load_persona(persona)
    with Transcript(user_paths().transcript if keep else None) as transcript:
        going_on = _conversation_with(spoken_to, transcript, conversation) if conversation else None
        session = open_session(
            spoken_to,
            transcript,
            model=model,
            base_url=base_url,
            strategy=strategy,
            seed=seed,
            max_tokens=max_tokens,
            temperature=temperature,
            lorebooks=lorebook,
            recall=recall,
            embeddings=embeddings,
            remember=remember,
            conversation=going_on,
        )
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
    """Standard input, whole.

    Raises:
        MessageError: it is not UTF-8 text.
    """
    from rolellm_agents.errors import MessageError

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise MessageError("Standard input is not UTF-8 text; convert it first.") from error


def run(talk: Coroutine[Any, Any, Result]) -> Result:
    """Run a conversation to its end, or to where a signal or a closed output ends it.

    By then what was said is kept. SIGTERM exits with 143, as it does where nobody handles it.
    """
    try:
        return asyncio.run(talk)
    except asyncio.CancelledError:
        raise typer.Exit(128 + signal.SIGTERM) from None
    except BrokenPipeError:
        # Whoever read our output has enough; Python would complain once more while closing it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None


async def exchange(session: "Session", line: str, *, show: bool) -> "Message | None":
    """Send a line and, with `show`, print the answer as it comes; None when there is none."""
    from rolellm_graphs.events import MessageDone, TokenDelta, TurnFailed

    _end_like_interrupted()
    answer: Message | None = None
    events = session.send(line)
    try:
        async for event in events:
            match event:
                case TokenDelta(text=text) if show:
                    print_text(text, end="")
                case MessageDone(message=message) if message.speaker == session.persona.id:
                    answer = message
                case TurnFailed(error=error, message=answer):
                    if show and answer:
                        print_text("")
                    complain(str(error))
                    return answer
    finally:
        await events.aclose()
    if show:
        print_text("")
    return answer


def _end_like_interrupted() -> None:
    """Let SIGTERM cancel the task as Ctrl-C does, so that what was said is kept as stopped."""
    task = asyncio.current_task()
    if task is not None and sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _as_json(session: "Session", answer: "Message") -> dict[str, Any]:
    return {
        "persona": session.persona.id,
        "model": session.model_name,
        "strategy": session.strategy,
        "text": answer.text,
        "status": answer.status,
        "usage": answer.usage,
        "made_by": dict(answer.made_by),
        "conversation": answer.conversation,
        "message": answer.id,
    }
