"""`rolellm serve`: personas and scenes behind an OpenAI-compatible API."""

from typing import Annotated

import typer

from rolellm_tui.cli.options import StrategyOption
from rolellm_tui.output import complain, print_text


def serve(
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Address to listen on. An address that other machines can reach requires an API key.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Port. Default: 8000, or the next free one; 0 picks any free port.",
        ),
    ] = None,
    api_key: Annotated[
        list[str] | None,
        typer.Option(
            "--api-key",
            envvar="ROLELLM_API_KEY",
            help="API key that clients must send. Repeatable. Prefer ROLELLM_API_KEY: other users of "
            "this machine can read command lines.",
            metavar="KEY",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A model spec or a name from models.toml. Repeatable; the first one is the default of "
            "requests that name none.",
            metavar="PROVIDER:NAME",
        ),
    ] = None,
    strategy: StrategyOption = None,
    origin: Annotated[
        list[str] | None,
        typer.Option("--origin", help="Allowed CORS origin. Repeatable; * allows any.", metavar="URL"),
    ] = None,
    concurrent: Annotated[
        int, typer.Option("--concurrent", min=1, max=1024, help="Answers generated at the same time.")
    ] = 32,
    queue: Annotated[
        int,
        typer.Option("--queue", min=0, help="Length of the queue; requests beyond it get status 429."),
    ] = 1024,
    queue_seconds: Annotated[
        float,
        typer.Option(
            "--queue-seconds",
            min=0.1,
            help="Maximum time in the queue, in seconds; then the request gets status 429.",
        ),
    ] = 120.0,
    max_tokens: Annotated[
        int,
        typer.Option(
            "--max-tokens", min=1, help="Maximum length of an answer that a client may request, in tokens."
        ),
    ] = 1024,
    answer_seconds: Annotated[
        float, typer.Option("--answer-seconds", min=1, help="Maximum time for one answer, in seconds.")
    ] = 300.0,
    user: Annotated[
        str | None, typer.Option("--user", help="Name by which characters address clients.")
    ] = None,
) -> None:
    """Serve personas and scenes behind an OpenAI-compatible API.

    The `model` field of a request is a persona's id, or `scene:` followed by a scene's id. `@` and a
    strategy, a model of this server or, in a scene, a seat may follow. The documentation has examples.

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

    def on_ready(url: str) -> None:
        print_text(f"{url}\nThis is the base URL for clients. Ctrl-C finishes running answers and stops.")

    asyncio.run(serve_forever(options, host=host, port=port, on_ready=on_ready))
