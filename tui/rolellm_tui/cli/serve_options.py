"""Options of `rolellm serve`, in groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from rolellm_tui.cli.options import StrategyOption


@dataclass(frozen=True)
class ListeningOptions:
    """Where a server listens, and how it proves who it is."""

    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Address to listen on. An address that other machines can reach requires an API key.",
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Port. Default: 8000, or the next free one; 0 picks any free port.",
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", help="PEM file with the certificate chain, to serve HTTPS.", metavar="FILE"
        ),
    ] = None
    private_key: Annotated[
        Path | None,
        typer.Option(
            "--private-key",
            help="PEM file with the certificate's key, if it is not in the same file.",
            metavar="FILE",
        ),
    ] = None
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=1,
            max=64,
            help="Number of processes, for models on other servers. Each loads embedded models again, and "
            "gets its share of --concurrent and --queue.",
        ),
    ] = 1


@dataclass(frozen=True)
class AccessOptions:
    """Who may use a server, and how often."""

    api_key: Annotated[
        list[str] | None,
        typer.Option(
            "--api-key",
            help="API key that clients must send. Repeatable. Prefer ROLELLM_API_KEY, which has one key: "
            "other users of this machine can read command lines.",
            metavar="KEY",
        ),
    ] = None
    api_keys: Annotated[
        Path | None,
        typer.Option(
            "--api-keys",
            help="File with the names, hashes, limits and expiry dates of keys; “rolellm serve new-key” "
            "makes its entries. It is read again when it changes.",
            metavar="FILE",
        ),
    ] = None
    origin: Annotated[
        list[str] | None,
        typer.Option("--origin", help="Allowed CORS origin. Repeatable; * allows any.", metavar="URL"),
    ] = None
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host",
            help="Host name of requests that is accepted besides this machine's own, such as a proxy's. "
            "Repeatable. Default: any with API keys, none without.",
            metavar="NAME",
        ),
    ] = None
    root_path: Annotated[
        str,
        typer.Option(
            "--root-path", help="Prefix under which a proxy offers the server.", metavar="/PREFIX"
        ),
    ] = ""
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            "--requests-per-minute",
            min=1,
            help="Maximum number of requests of a client in a minute: of a key without a limit of its own, "
            "or of an address if there are no keys. Default: no limit.",
        ),
    ] = None
    connections_per_address: Annotated[
        int,
        typer.Option(
            "--connections-per-address",
            min=1,
            help="Maximum number of connections of one address, except this machine's own.",
        ),
    ] = 256


@dataclass(frozen=True)
class AnsweringOptions:
    """Which models answer, and within which limits."""

    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A model spec or a name from models.toml. Repeatable; the first one is the default of "
            "requests that name none.",
            metavar="PROVIDER:NAME",
        ),
    ] = None
    strategy: StrategyOption = None
    concurrent: Annotated[
        int, typer.Option("--concurrent", min=1, max=1024, help="Answers generated at the same time.")
    ] = 32
    queue: Annotated[
        int,
        typer.Option("--queue", min=0, help="Length of the queue; requests beyond it get status 429."),
    ] = 1024
    queue_seconds: Annotated[
        float,
        typer.Option(
            "--queue-seconds",
            min=0.1,
            help="Maximum time in the queue, in seconds; then the request gets status 429.",
        ),
    ] = 120.0
    max_tokens: Annotated[
        int,
        typer.Option(
            "--max-tokens", min=1, help="Maximum length of an answer that a client may request, in tokens."
        ),
    ] = 1024
    answer_seconds: Annotated[
        float, typer.Option("--answer-seconds", min=1, help="Maximum time for one answer, in seconds.")
    ] = 300.0
    tools: Annotated[
        Literal["pass", "ignore"] | None,
        typer.Option(
            "--tools",
            help="What happens to tools that clients send. Default: models that can call tools get them, "
            "and the embedded models only if a request requires a call.",
        ),
    ] = None
    plain_tasks: Annotated[
        bool,
        typer.Option(
            "--plain-tasks/--persona-tasks",
            help="Whether the model alone, or the named persona, answers tasks of chat programs, such as a "
            "title for the conversation.",
        ),
    ] = True
    embeddings: Annotated[
        list[str] | None,
        typer.Option(
            "--embeddings",
            help="Embeddings that /v1/embeddings offers. Repeatable. Default: lexical.",
            metavar="NAME",
        ),
    ] = None
    user: Annotated[
        str | None, typer.Option("--user", help="Name by which characters address clients.")
    ] = None
    a2a: Annotated[
        bool,
        typer.Option(
            "--a2a",
            help="Also offer each persona and scene as an agent of the A2A protocol, at /a2a/NAME. The "
            "server then keeps these conversations in memory.",
        ),
    ] = False


@dataclass(frozen=True)
class LoggingOptions:
    """What a server logs."""

    access_log: Annotated[
        Literal["text", "json"] | None,
        typer.Option(
            "--access-log",
            help="Write a line for each request to stdout, as text or JSON, without its contents.",
        ),
    ] = None
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option("--log-level", help="Least severe messages in the log, which goes to stderr."),
    ] = "warning"
