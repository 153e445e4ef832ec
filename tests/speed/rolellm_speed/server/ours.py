"""`python -m rolellm_speed.server.ours SPEC CONCURRENT`: our server, for a benchmark."""

import asyncio
import sys

from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.serving import serve
from rolellm_speed.server.workload import STRATEGY


def main() -> None:
    """Serve until the process is terminated; the first printed line is the base URL."""
    options = ServerOptions(models=(sys.argv[1],), strategy=STRATEGY, concurrent=int(sys.argv[2]))
    asyncio.run(serve(options, port=0, patience=1, on_ready=lambda url: print(url, flush=True)))


if __name__ == "__main__":
    main()
