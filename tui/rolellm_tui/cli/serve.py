"""`rolellm serve`: the cast and the scenes for every client of OpenAI's API."""

from typing import Annotated

import typer

from rolellm_tui.cli.options import StrategyOption
from rolellm_tui.output import complain, print_text


def serve(
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; wider than this machine needs a key.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="8000 or the next that is free; 0 is any."),
    ] = None,
    api_key: Annotated[
        list[str] | None,
        typer.Option(
            "--api-key",
            envvar="ROLELLM_API_KEY",
            help="What clients must send; several may be given. Better in ROLELLM_API_KEY: others on this "
            "machine can read a command line.",
            metavar="KEY",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A model spec or a name from models.toml; the first of several is the one that is used "
            "when a request names none.",
            metavar="PROVIDER:NAME",
        ),
    ] = None,
    strategy: StrategyOption = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            "--origin", help="A web page's origin whose scripts may ask (CORS); * is any.", metavar="URL"
        ),
    ] = None,
    concurrent: Annotated[
        int, typer.Option("--concurrent", min=1, max=1024, help="Answers at a time; others wait.")
    ] = 32,
    queue: Annotated[
        int,
        typer.Option(
            "--queue", min=0, help="Requests that may wait, clients in turn; further requests get 429."
        ),
    ] = 1024,
    queue_seconds: Annotated[
        float,
        typer.Option("--queue-seconds", min=0.1, help="The longest that a request may wait; then 429."),
    ] = 120.0,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=1, help="The longest answer that may be asked for.")
    ] = 1024,
    answer_seconds: Annotated[
        float, typer.Option("--answer-seconds", min=1, help="The longest that an answer may take.")
    ] = 300.0,
    user: Annotated[str | None, typer.Option("--user", help="What characters call who asks.")] = None,
) -> None:
    """Serve personas and scenes behind an OpenAI-compatible API.

    `model` in requests is a persona's id or `scene:` and a scene's; `@` and a strategy, a model of
    this server, or in a scene a seat, may follow it. README shows how it is asked.

    \b
    Examples:
      rolellm serve
      rolellm serve --host 0.0.0.0 --port 9000 --api-key "$ROLELLM_API_KEY"
      rolellm serve --model llamacpp:rolesmol --model openai:gpt-4o-mini
    """
    import asyncio

    from rolellm_agents.config.settings import load_settings

    try:
        from rolellm_graphs.server.options import ServerOptions
        from rolellm_graphs.server.serving import serve as serve_forever
    except ModuleNotFoundError as error:
        complain(f"Serving needs {error.name}; install it with: pip install 'rolellm-agents[serve]'")
        raise typer.Exit(2) from error

    settings = load_settings()
    options = ServerOptions(
        models=tuple(model or [settings.model]),
        strategy=strategy or settings.strategy,
        user=user or settings.user_name,
        api_keys=tuple(key for key in api_key or () if key),
        origins=tuple(origin or ()),
        concurrent=concurrent,
        queue=queue,
        queue_seconds=queue_seconds,
        max_tokens=max_tokens,
        answer_seconds=answer_seconds,
    )

    def tell(url: str) -> None:
        print_text(
            f"{url}\nThis is the base URL for clients. Ctrl-C here ends it when its answers have ended."
        )

    asyncio.run(serve_forever(options, host=host, port=port, tell=tell))
