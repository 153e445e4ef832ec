"""`rolellm chat`: the app in a terminal or a browser, or plain lines."""

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.chat.arguments import repeated_arguments
from rolellm_tui.cli.chat.say import exchange, read_input, run
from rolellm_tui.cli.options import (
    SessionOptions,
    overriding,
    overriding_flags,
    session_opener,
    with_option_groups,
)
from rolellm_tui.cli.scene.options import SceneOptions, open_ensemble
from rolellm_tui.cli.transcripts import open_transcript
from rolellm_tui.output import print_text

if TYPE_CHECKING:
    from pathlib import Path

    from rolellm_agents.persona import Persona
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.chat.session import Session
    from rolellm_tui.sessions import OpenSession
    from rolellm_tui.staging import OpenStage

_FIRST_PERSONA = "sherlock-holmes"
_FIRST_LINE = {"en": "Who are you?", "zh": "你是谁？"}
"""The sample question, for runs without a terminal and without input."""


@with_option_groups
def chat(
    *,
    context: typer.Context,
    persona: Annotated[
        str | None, typer.Argument(help="Persona id, name or file. Default: open the library.")
    ] = None,
    options: SessionOptions,
    greeting: Annotated[
        int,
        typer.Option(
            "--greeting", help="Number of the card's greeting for a new conversation; 0 is the main one."
        ),
    ] = 0,
    new: Annotated[
        bool, typer.Option("--new", help="Start a new conversation instead of resuming the last one.")
    ] = False,
    as_lines: Annotated[
        bool, typer.Option("--plain", help="Print plain lines of text, for screen readers.")
    ] = False,
    web: Annotated[bool, typer.Option("--web", help="Serve the app to web browsers.")] = False,
    host: Annotated[
        str | None,
        typer.Option(
            "--host", help="With --web: address to listen on. Default: 127.0.0.1.", metavar="NAME"
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="With --web: port. Default: 8000, or the next free one; 0 picks any free port.",
        ),
    ] = None,
) -> None:
    """Talk with a persona in the terminal, or with --web in a browser.

    Without a terminal, each line of standard input is one turn. Without input, a sample question is asked.

    \b
    Examples:
      rolellm chat
      rolellm chat jack-sparrow
      rolellm chat 孙悟空 --new --strategy system
      rolellm chat jack-sparrow --plain
      rolellm chat --web
      printf 'Hello.\\nAnd you?\\n' | rolellm chat shrek
    """
    from rolellm_agents.persona import find_persona, load_persona
    from rolellm_agents.persona.from_card.conversion import with_greeting

    if (host is not None or port is not None) and not web:
        raise typer.BadParameter("It requires --web.", param_hint="--host, --port")
    if web and as_lines:
        raise typer.BadParameter("It cannot be combined with --web.", param_hint="--plain")
    found = find_persona(persona) if persona else None
    first = found.persona if found else None
    first_path = found.path if found and found.origin == "path" else None
    if first and greeting:
        first = with_greeting(first, greeting)

    with open_transcript() as transcript:
        open_chat = session_opener(transcript, options)

        def open_first() -> "tuple[Persona, Session]":
            one = first or load_persona(_FIRST_PERSONA)
            return one, open_chat(one, None if new else _latest(transcript, one))

        if web:
            from rolellm_tui.web.server import serve

            if first:
                open_chat(first, None)  # report errors here instead of in every browser tab
            again = ["chat", *repeated_arguments(context, but=("web", "host", "port"))]
            run(serve(again, host=host or "127.0.0.1", port=port))
        elif as_lines:
            from rolellm_tui.plain.chat import talk_plainly

            talk_plainly(*open_first(), transcript, open_chat, overridden=overriding_flags(options))
        elif has_screen():
            from rolellm_tui.staging import stage_opener

            scene_options = SceneOptions(
                model=options.model,
                base_url=options.base_url,
                strategy=options.strategy,
                max_tokens=options.max_tokens,
                temperature=options.temperature,
                preset=options.preset,
                thinking=options.thinking,
            )
            cast = partial(open_ensemble, options=scene_options)
            open_scene = stage_opener(transcript, cast, seed=options.seed)
            _run_app(
                open_chat,
                open_scene,
                transcript,
                first=first,
                first_path=first_path,
                new=new,
                options=options,
            )
        else:
            run(_talk_in_lines(open_first()[1]))


def _run_app(
    open_session: "OpenSession",
    open_stage: "OpenStage",
    transcript: "Transcript",
    *,
    first: "Persona | None",
    first_path: "Path | None",
    new: bool,
    options: SessionOptions,
) -> None:
    """Run the app.

    Args:
        open_session: opens the session of a chosen persona.
        open_stage: opens the stage of a chosen scene.
        transcript: with all conversations.
        first: persona to open at start.
        first_path: its file if it was named by path.
        new: start a new conversation with it.
        options: the command's options; those that are given override settings.

    Raises:
        RoleLLMError: the app could not start.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.persona.user_persona import current_user_persona
    from rolellm_tui.app import RoleApp
    from rolellm_tui.habits import AppHabits
    from rolellm_tui.places import place_in_environment
    from rolellm_tui.screens.settings import Override
    from rolellm_tui.widgets.library.portrait import find_pixels

    settings = load_settings()
    app = RoleApp(
        open_session,
        transcript,
        first=first,
        first_path=first_path,
        new=new,
        welcome=True,
        pixels=find_pixels(),
        theme=settings.theme,
        user=current_user_persona(settings).name,
        habits=AppHabits.of(settings),
        flags={name: Override(*given) for name, given in overriding(options).items()},
        open_stage=open_stage,
        back_to=place_in_environment(),
    )
    failure = app.run()
    if failure:
        raise failure
    if app.return_code:
        raise typer.Exit(app.return_code)


def has_screen() -> bool:
    """Whether the app can be shown: in a terminal, or by the driver of the web server."""
    return "TEXTUAL_DRIVER" in os.environ or (sys.stdin.isatty() and sys.stdout.isatty())


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
