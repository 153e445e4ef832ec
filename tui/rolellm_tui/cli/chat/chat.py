"""`rolellm chat`: the app, in a terminal or in a browser; the same conversation in plain lines."""

import os
import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.chat.arguments import given_again
from rolellm_tui.cli.chat.say import exchange, read_input, run
from rolellm_tui.cli.options import (
    BaseUrlOption,
    EmbeddingsOption,
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
from rolellm_tui.cli.scene.options import open_ensemble
from rolellm_tui.output import print_text

if TYPE_CHECKING:
    from rolellm_agents.persona import Persona
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.chat.session import Session
    from rolellm_tui.app import OpenSession
    from rolellm_tui.staging import OpenStage

_FLAGS = {
    "model": "--model",
    "strategy": "--strategy",
    "temperature": "--temperature",
    "max_tokens": "--max-tokens",
    "recall_method": "--recall",
    "embeddings": "--embeddings",
}
_FIRST_PERSONA = "sherlock-holmes"
_FIRST_LINE = {"en": "Who are you?", "zh": "你是谁？"}
"""Said when nobody is there to say anything, so that the command proves itself anywhere."""


def chat(
    context: typer.Context,
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
    recall: RecallOption = None,
    embeddings: EmbeddingsOption = None,
    remember: RememberOption = None,
    greeting: Annotated[
        int,
        typer.Option(
            "--greeting", help="Which greeting of a card begins a new conversation; 0 is its own."
        ),
    ] = 0,
    new: Annotated[bool, typer.Option("--new", help="Begin a new conversation, not the last one.")] = False,
    as_lines: Annotated[
        bool, typer.Option("--plain", help="Lines of text only, as screen readers like them.")
    ] = False,
    web: Annotated[bool, typer.Option("--web", help="Serve the app to browsers on this machine.")] = False,
    host: Annotated[
        str | None,
        typer.Option(
            "--host", help="With --web: where to listen; 127.0.0.1 when not given.", metavar="NAME"
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="With --web: 8000 or the next that is free when not given; 0 is any.",
        ),
    ] = None,
) -> None:
    """Talk with a persona in the terminal, or with --web in a browser.

    Without a terminal each line of standard input is a turn; without any, one exchange is held.

    \b
    Examples:
      rolellm chat
      rolellm chat jack-sparrow
      rolellm chat 孙悟空 --new --strategy system
      rolellm chat jack-sparrow --plain
      rolellm chat --web
      printf 'Hello.\\nAnd you?\\n' | rolellm chat shrek
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.persona import load_persona
    from rolellm_agents.persona.from_card.conversion import with_greeting
    from rolellm_agents.transcript import Transcript

    if (host is not None or port is not None) and not web:
        raise typer.BadParameter("It says where to serve; give --web too.", param_hint="--host, --port")
    if web and as_lines:
        raise typer.BadParameter("A browser shows the whole app; give one of both.", param_hint="--plain")
    first = load_persona(persona) if persona else None
    if first and greeting:
        first = with_greeting(first, greeting)

    with Transcript(user_paths().transcript) as transcript:

        def open_chat(
            chosen: "Persona",
            conversation: str | None,
            *,
            strategy: str | None = strategy,
            model: str | None = model,
        ) -> "Session":
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
                recall=recall,
                embeddings=embeddings,
                remember=remember,
                conversation=conversation,
            )

        def open_first() -> "Session":
            one = first or load_persona(_FIRST_PERSONA)
            return open_chat(one, None if new else _latest(transcript, one))

        if web:
            from rolellm_tui.web.server import serve

            if first:
                open_chat(first, None)  # tells here, and not in every tab, what cannot be had
            again = ["chat", *given_again(context, but=("web", "host", "port"))]
            run(serve(again, host=host or "127.0.0.1", port=port))
        elif as_lines:
            from rolellm_tui.plain.chat import talk_plainly

            talk_plainly(open_first(), transcript)
        elif has_screen():
            from rolellm_tui.staging import stage_opener

            given = {"model": model, "strategy": strategy, "temperature": temperature}
            given |= {"max_tokens": max_tokens, "recall_method": recall, "embeddings": embeddings}
            with_these = partial(
                open_ensemble,
                model=model,
                strategy=strategy,
                base_url=base_url,
                max_tokens=max_tokens,
                temperature=temperature,
            )
            open_scene = stage_opener(transcript, with_these, seed=seed)
            _run_app(open_chat, open_scene, transcript, first=first, new=new, given=given)
        else:
            run(_talk_in_lines(open_first()))


def _run_app(
    open_session: "OpenSession",
    open_stage: "OpenStage",
    transcript: "Transcript",
    *,
    first: "Persona | None",
    new: bool,
    given: Mapping[str, object],
) -> None:
    """Show the app until the person leaves it.

    Args:
        open_session: makes the session for a chosen persona.
        open_stage: makes the stage for a chosen scene.
        transcript: where the conversations are.
        first: whom to talk with at once.
        new: begin a new conversation with them.
        given: what the flags say of settings, by the setting's name; None for a flag that is not there.

    Raises:
        RoleLLMError: it could not begin.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.persona.user_persona import current_user_persona
    from rolellm_tui.app import RoleApp
    from rolellm_tui.screens.settings import Override
    from rolellm_tui.widgets.library.portrait import find_pixels

    settings = load_settings()
    app = RoleApp(
        open_session,
        transcript,
        first=first,
        new=new,
        welcome=True,
        pixels=find_pixels(),
        theme=settings.theme,
        user=current_user_persona(settings).name,
        flags={name: Override(_FLAGS[name], value) for name, value in given.items() if value is not None},
        open_stage=open_stage,
    )
    failure = app.run()
    if failure:
        raise failure


def has_screen() -> bool:
    """Whether the app can be shown: in a terminal, or in a browser by the driver that its server names."""
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
