"""`rolellm serve`: personas and scenes behind an OpenAI-compatible API."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rolellm_tui.cli.options import StrategyOption
from rolellm_tui.output import complain, print_text

if TYPE_CHECKING:
    from rolellm_graphs.server.app import Interface

app = typer.Typer(
    name="serve",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.command("new-key")
def new_key(
    name: Annotated[str, typer.Argument(help="Name of the key, for metrics and logs.")],
) -> None:
    """Make an API key, and the entry for the file of --api-keys.

    The entry has only the key's hash. It is printed on stdout, so that >> keys.toml appends it to a file.
    The key itself is shown once, on stderr.

    \b
    Example:
      rolellm serve new-key phone
    """
    from rolellm_graphs.server.api_keys import entry_of
    from rolellm_graphs.server.api_keys import new_key as make_key

    key = make_key()
    entry = entry_of(name, key)
    print(f"The key, which is not shown again: {key}", file=sys.stderr, flush=True)  # noqa: T201
    print_text(entry)


@app.callback()
def serve(
    context: typer.Context,
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
            help="API key that clients must send. Repeatable. Prefer ROLELLM_API_KEY, which has one key: "
            "other users of this machine can read command lines.",
            metavar="KEY",
        ),
    ] = None,
    api_keys: Annotated[
        Path | None,
        typer.Option(
            "--api-keys",
            help="File with the names, hashes, limits and expiry dates of keys; “rolellm serve new-key” "
            "makes its entries. It is read again when it changes.",
            metavar="FILE",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", help="PEM file with the certificate chain, to serve HTTPS.", metavar="FILE"
        ),
    ] = None,
    private_key: Annotated[
        Path | None,
        typer.Option(
            "--private-key",
            help="PEM file with the certificate's key, if it is not in the same file.",
            metavar="FILE",
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
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host",
            help="Host name of requests that is accepted besides this machine's own, such as a proxy's. "
            "Repeatable. Default: any with API keys, none without.",
            metavar="NAME",
        ),
    ] = None,
    root_path: Annotated[
        str,
        typer.Option(
            "--root-path", help="Prefix under which a proxy offers the server.", metavar="/PREFIX"
        ),
    ] = "",
    access_log: Annotated[
        Literal["text", "json"] | None,
        typer.Option(
            "--access-log",
            help="Write a line for each request to stdout, as text or JSON, without its contents.",
        ),
    ] = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option("--log-level", help="Least severe messages in the log, which goes to stderr."),
    ] = "warning",
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
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            "--requests-per-minute",
            min=1,
            help="Maximum number of requests of a client in a minute: of a key without a limit of its own, "
            "or of an address if there are no keys. Default: no limit.",
        ),
    ] = None,
    connections_per_address: Annotated[
        int,
        typer.Option(
            "--connections-per-address",
            min=1,
            help="Maximum number of connections of one address, except this machine's own.",
        ),
    ] = 256,
    max_tokens: Annotated[
        int,
        typer.Option(
            "--max-tokens", min=1, help="Maximum length of an answer that a client may request, in tokens."
        ),
    ] = 1024,
    answer_seconds: Annotated[
        float, typer.Option("--answer-seconds", min=1, help="Maximum time for one answer, in seconds.")
    ] = 300.0,
    tools: Annotated[
        Literal["pass", "ignore"] | None,
        typer.Option(
            "--tools",
            help="What happens to tools that clients send. Default: models that can call tools get them, "
            "and the embedded models only if a request requires a call.",
        ),
    ] = None,
    plain_tasks: Annotated[
        bool,
        typer.Option(
            "--plain-tasks/--persona-tasks",
            help="Whether the model alone, or the named persona, answers tasks of chat programs, such as a "
            "title for the conversation.",
        ),
    ] = True,
    embeddings: Annotated[
        list[str] | None,
        typer.Option(
            "--embeddings",
            help="Embeddings that /v1/embeddings offers. Repeatable. Default: lexical.",
            metavar="NAME",
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Name by which characters address clients.")
    ] = None,
    a2a: Annotated[
        bool,
        typer.Option(
            "--a2a",
            help="Also offer each persona and scene as an agent of the A2A protocol, at /a2a/NAME. The "
            "server then keeps these conversations in memory.",
        ),
    ] = False,
) -> None:
    """Serve personas and scenes behind an OpenAI-compatible API.

    The `model` field of a request is a persona's id, or `scene:` followed by a scene's id. `@` and a
    strategy, a model of this server or, in a scene, a seat may follow. The documentation has examples.

    \b
    Examples:
      rolellm serve
      ROLELLM_API_KEY="a long secret" rolellm serve --host 0.0.0.0 --port 9000
      rolellm serve --model llamacpp:rolesmol --model openai:gpt-4o-mini
    """
    if context.invoked_subcommand is not None:
        return
    import asyncio

    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.recall.embeddings import DEFAULT_EMBEDDINGS

    try:
        from rolellm_graphs.server.app import openai_interface
        from rolellm_graphs.server.options import ServerOptions
        from rolellm_graphs.server.serving import serve as serve_forever

        interfaces = (openai_interface, *_a2a_interfaces(offered=a2a))
    except ModuleNotFoundError as error:
        extra = "a2a" if a2a else "serve"
        complain(f"Serving needs {error.name}; install it with: pip install 'rolellm-agents[{extra}]'")
        raise typer.Exit(2) from error

    settings = load_settings()
    options = ServerOptions(
        models=tuple(model or [settings.model]),
        strategy=strategy or settings.strategy,
        user=user or settings.user_name,
        api_keys=keys(api_key),
        key_file=api_keys,
        requests_per_minute=requests_per_minute,
        connections_per_address=connections_per_address,
        hosts=tuple(allowed_host or ()),
        root_path=root_path,
        access_log=access_log,
        log_level=log_level,
        origins=tuple(origin or ()),
        concurrent=concurrent,
        queue=queue,
        queue_seconds=queue_seconds,
        max_tokens=max_tokens,
        answer_seconds=answer_seconds,
        tools=tools,
        plain_tasks=plain_tasks,
        embeddings=tuple(embeddings or [DEFAULT_EMBEDDINGS]),
    )

    def on_ready(url: str) -> None:
        print_text(f"{url}\nThis is the base URL for clients. Ctrl-C finishes running answers and stops.")

    asyncio.run(
        serve_forever(
            options,
            interfaces=interfaces,
            host=host,
            port=port,
            certificate=certificate,
            private_key=private_key,
            on_ready=on_ready,
        )
    )


def _a2a_interfaces(*, offered: bool) -> "tuple[Interface, ...]":
    if not offered:
        return ()
    from rolellm_graphs.a2a.interface import a2a_interface

    return (a2a_interface,)


def keys(given: list[str] | None) -> tuple[str, ...]:
    """The keys of the command line, or else the one of the environment, blanks included.

    Typer would split the variable at blanks, because the option is repeatable.
    """
    return tuple(key for key in given or [os.environ.get("ROLELLM_API_KEY", "")] if key)
