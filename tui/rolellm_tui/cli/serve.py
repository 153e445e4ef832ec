"""`rolellm serve`: personas and scenes behind an OpenAI-compatible API."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import with_option_groups
from rolellm_tui.cli.serve_options import AccessOptions, AnsweringOptions, ListeningOptions, LoggingOptions
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
@with_option_groups
def serve(
    *,
    context: typer.Context,
    listening: ListeningOptions,
    access: AccessOptions,
    answering: AnsweringOptions,
    logging: LoggingOptions,
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
        from rolellm_graphs.server.endpoint import Endpoint
        from rolellm_graphs.server.options import ServerOptions
        from rolellm_graphs.server.serving import serve as serve_forever
        from rolellm_graphs.server.workers import serve_with_workers

        interfaces = (openai_interface, *_a2a_interfaces(offered=answering.a2a))
    except ModuleNotFoundError as error:
        extra = "a2a" if answering.a2a else "serve"
        complain(f"Serving needs {error.name}; install it with: pip install 'rolellm-agents[{extra}]'")
        raise typer.Exit(2) from error

    if listening.workers > 1 and answering.a2a:
        complain(
            "--a2a keeps conversations in one process; leave out --workers, or start it without --a2a."
        )
        raise typer.Exit(2)
    settings = load_settings()
    options = ServerOptions(
        models=tuple(answering.model or [settings.model]),
        strategy=answering.strategy or settings.strategy,
        user=answering.user or settings.user_name,
        api_keys=keys(access.api_key),
        key_file=access.api_keys,
        requests_per_minute=access.requests_per_minute,
        connections_per_address=access.connections_per_address,
        hosts=tuple(access.allowed_host or ()),
        root_path=access.root_path,
        origins=tuple(access.origin or ()),
        access_log=logging.access_log,
        log_level=logging.log_level,
        concurrent=answering.concurrent,
        queue=answering.queue,
        queue_seconds=answering.queue_seconds,
        max_tokens=answering.max_tokens,
        answer_seconds=answering.answer_seconds,
        tools=answering.tools,
        plain_tasks=answering.plain_tasks,
        embeddings=tuple(answering.embeddings or [DEFAULT_EMBEDDINGS]),
    )

    def on_ready(url: str) -> None:
        print_text(f"{url}\nThis is the base URL for clients. Ctrl-C finishes running answers and stops.")

    endpoint = Endpoint(
        host=listening.host,
        port=listening.port,
        certificate=listening.certificate,
        private_key=listening.private_key,
    )
    if listening.workers > 1:
        serve_with_workers(listening.workers, options, endpoint, interfaces=interfaces, on_ready=on_ready)
    else:
        asyncio.run(serve_forever(options, endpoint, interfaces=interfaces, on_ready=on_ready))


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
