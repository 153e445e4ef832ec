"""`rolellm bench serve` and `soak`: a comparison with llama.cpp's own server, and a soak test."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_table, print_text


def serve(
    clients: Annotated[
        list[int] | None,
        typer.Option("--clients", min=1, max=1000, help="Concurrent clients. Repeatable."),
    ] = None,
    turns: Annotated[
        int, typer.Option("--turns", min=1, help="Turns of each conversation; with 1 all ask at once.")
    ] = 3,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=1, help="Maximum length of an answer, in tokens.")
    ] = 32,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="Number of rounds; the best is reported.")
    ] = 2,
    as_json: JsonOption = False,
) -> None:
    """Compare throughput, rejections and latency with llama.cpp's server, and measure our overhead.

    Both get the same weights and prompts: conversations, each with another character. Both answer at
    most 32 requests at a time; further requests wait. Latencies are the 50th, 90th, 95th and 99th
    percentiles. Needs the extra “serve” and xllamacpp (“pip install xllamacpp”).

    \b
    Examples:
      rolellm bench serve
      rolellm bench serve --clients 100 --turns 1 --max-tokens 24 --rounds 3
      rolellm bench serve --clients 1 --clients 8 --clients 32 --json
    """
    import asyncio

    from rolellm_speed.server.measure import measure_servers
    from rolellm_speed.server.overhead import measure_overhead

    measured = asyncio.run(
        measure_servers(
            clients or [1, 8, 32],
            turns=turns,
            max_tokens=max_tokens,
            rounds=rounds,
            progress=lambda text: typer.echo(text, err=True),
        )
    )
    measured["overhead"] = asyncio.run(measure_overhead(100))
    if as_json:
        print_json(measured)
        return
    print_table(_HEADINGS, map(_cells, measured["rows"]))
    for ratio in measured["ratios"]:
        print_text(
            f"{ratio['clients']:.0f} at a time: {ratio['per_s']:.2f} times llama.cpp's requests a second, "
            f"{ratio['first_ms']:.2f} times its time to the first words"
        )
    added = measured["overhead"]
    print_text(
        f"Added to a call: persona {added['role_ms']:.2f} ms, graph {added['graph_ms']:.2f} ms, "
        f"server {added['server_ms']:.2f} ms"
    )
    print_text(
        f"A streamed answer of 100 words: {added['stream_server_cpu_ms']:.1f} ms of the server's processor "
        f"time, {added['stream_role_cpu_ms']:.1f} ms without a server"
    )


_HEADINGS = (
    "SERVER",
    "CLIENTS",
    "REQUESTS/S",
    "FIRST WORDS, MS",
    "CHUNKS/S",
    "REFUSED",
    "FIRST P50/P90/P95/P99, S",
    "END P50/P90/P95/P99, S",
)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """One row of the table."""
    figures = (f"{row[name]:.1f}" for name in ("per_s", "first_ms", "chunks_per_s"))
    times = (
        " / ".join(f"{row[name][part] / 1000:.2f}" for part in ("p50", "p90", "p95", "p99"))
        for name in ("first", "whole")
    )
    return (row["server"], str(row["clients"]), *figures, str(row["refused"]), *times)


def soak(
    requests: Annotated[
        int,
        typer.Option("--requests", min=10, help="Number of requests. An hour has 7,200 at two per second."),
    ] = 7200,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the requests.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Send an hour's worth of mixed requests to the server; check for errors and memory growth.

    \b
    Example:
      rolellm bench soak --json
    """
    import asyncio

    from rolellm_speed.server.soak import soak as measure_soak

    measured = asyncio.run(measure_soak(requests, seed=seed))
    if as_json:
        print_json(measured)
        return
    print_table(("STATUS", "REQUESTS"), ((one, str(count)) for one, count in measured["statuses"].items()))
    print_text(
        f"Memory {measured['warm_mib']:.0f} MiB when warm, {measured['end_mib']:.0f} MiB in the end; "
        f"{measured['server_errors']} errors of the server"
    )
