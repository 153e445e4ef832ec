"""`rolellm chat`: the app; without a terminal, the same conversation in plain lines."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import (
    BaseUrlOption,
    LorebookOption,
    MaxTokensOption,
    ModelOption,
    SeedOption,
    StrategyOption,
    TemperatureOption,
    open_session,
)
from rolellm_tui.cli.output import print_text
from rolellm_tui.cli.say import exchange, read_input, run

if TYPE_CHECKING:
    from rolellm_agents.persona import Persona
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.session import Session

_FIRST_LINE = {"en": "Who are you?", "zh": "你是谁？"}
"""Said when nobody is there to say anything, so that the command proves itself anywhere."""


def chat(
    persona: Annotated[
        str | None, typer.Argument(help="An id, a name, or a persona file; none opens the library.")
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    strategy: StrategyOption = None,
    seed: SeedOption = None,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
    lorebook: LorebookOption = None,
    greeting: Annotated[
        int,
        typer.Option(
            "--greeting", help="Which greeting of a card begins a new conversation; 0 is its own."
        ),
    ] = 0,
    new: Annotated[bool, typer.Option("--new", help="Begin a new conversation, not the last one.")] = False,
) -> None:
    """Talk with a persona in the terminal.

    Without a terminal each line of standard input is a turn; without any, one exchange is held.

    \b
    Examples:
      rolellm chat
      rolellm chat jack-sparrow
      rolellm chat 孙悟空 --new --strategy system
      printf 'Hello.\\nAnd you?\\n' | rolellm chat shrek
    """
    from rolellm_agents.card_persona import with_greeting
    from rolellm_agents.paths import user_paths
    from rolellm_agents.persona import load_persona
    from rolellm_agents.transcript import Transcript

    in_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    first = load_persona(persona) if persona else None
    if first and greeting:
        first = with_greeting(first, greeting)

    with Transcript(user_paths().transcript) as transcript:

        def open_chat(chosen: "Persona", conversation: str | None) -> "Session":
            return open_session(
                chosen,
                transcript,
                model=model,
                base_url=base_url,
                strategy=strategy,
                seed=seed,
                max_tokens=max_tokens,
                temperature=temperature,
                lorebooks=lorebook,
                conversation=conversation,
            )

        if in_terminal:
            from rolellm_tui.app import RoleApp

            failure = RoleApp(open_chat, transcript, first=first, new=new).run()
            if failure:
                raise failure
        else:
            one = first or load_persona("sherlock-holmes")
            going_on = None if new else _latest(transcript, one)
            run(_talk_in_lines(open_chat(one, going_on)))


def _latest(transcript: "Transcript", persona: "Persona") -> str | None:
    conversations = transcript.conversations(persona.id)
    return conversations[0].id if conversations else None


async def _talk_in_lines(session: "Session") -> None:
    persona = session.persona
    said = "" if sys.stdin.isatty() else read_input()
    lines = [line for line in said.splitlines() if line.strip()]
    if not session.messages and persona.greeting:
        print_text(f"{persona.name}: {persona.greeting}\n")
    session.greet()
    for line in lines or [_FIRST_LINE[persona.language]]:
        print_text(f"You: {line}\n")
        print_text(f"{persona.name}: ", end="")
        answer = await exchange(session, line, show=True)
        if answer is None or answer.status == "failed":
            raise typer.Exit(2)
        print_text("")
