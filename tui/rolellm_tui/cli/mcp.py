"""`rolellm mcp`: personas and scenes for clients of the Model Context Protocol."""

from pathlib import Path
from typing import Annotated

import typer

from rolellm_tui.cli.options import ModelOption, StrategyOption
from rolellm_tui.cli.serve import keys
from rolellm_tui.output import complain, print_text


def mcp(
    model: ModelOption = None,
    strategy: StrategyOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Offer this persona or, as in scene:last-booth, this scene. Repeatable. Default: all.",
            metavar="NAME",
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Name by which characters address clients.")
    ] = None,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=1, help="Maximum length of an answer, in tokens.")
    ] = 1024,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over streamable HTTP instead of stdin and stdout.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="With --http: address to listen on. An address that other machines can reach requires an "
            "API key.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="With --http: port. Default: 8000, or the next free one; 0 picks any free port.",
        ),
    ] = None,
    api_key: Annotated[
        list[str] | None,
        typer.Option(
            "--api-key",
            help="With --http: API key that clients must send. Repeatable. Prefer ROLELLM_API_KEY, which "
            "has one key: other users of this machine can read command lines.",
            metavar="KEY",
        ),
    ] = None,
    api_keys: Annotated[
        Path | None,
        typer.Option(
            "--api-keys",
            help="With --http: file with the names, hashes, limits and expiry dates of keys; “rolellm "
            "serve new-key” makes its entries. It is read again when it changes.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Offer personas and scenes to clients of the Model Context Protocol (MCP).

    Clients such as Claude Desktop and VS Code start this command themselves and talk with it over stdin and
    stdout. The documentation has their configuration.

    \b
    Examples:
      rolellm mcp
      rolellm mcp --only sherlock-holmes --only scene:last-booth
      rolellm mcp --http --port 9000
    """
    import asyncio

    from rolellm_agents.config.settings import load_settings

    try:
        from rolellm_graphs.mcp.http import PATH, mcp_interface
        from rolellm_graphs.mcp.stdio import serve_stdio
        from rolellm_graphs.server.endpoint import Endpoint
        from rolellm_graphs.server.options import ServerOptions
        from rolellm_graphs.server.serving import serve
    except ModuleNotFoundError as error:
        complain(f"MCP needs {error.name}; install it with: pip install 'rolellm-agents[mcp]'")
        raise typer.Exit(2) from error

    settings = load_settings()
    options = ServerOptions(
        models=(model or settings.model,),
        offered=tuple(only or ()),
        strategy=strategy or settings.strategy,
        user=user or settings.user_name,
        api_keys=keys(api_key) if http else (),
        key_file=api_keys if http else None,
        max_tokens=max_tokens,
    )
    if not http:
        asyncio.run(serve_stdio(options))
        return

    def on_ready(url: str) -> None:
        print_text(f"{url}\nThis is the URL for clients. Ctrl-C finishes running answers and stops.")

    endpoint = Endpoint(host=host, port=port, base=PATH)
    asyncio.run(serve(options, endpoint, interfaces=(mcp_interface,), on_ready=on_ready))
