"""Send many streaming chat requests at once to `rolellm serve`: how long does each client wait?

`python tests/helpers/burst_speed.py` starts the server with the embedded base model, in a process of its
own on loopback, and sends 100 requests at once, whose prompts differ from their first word on. It prints
the refused requests, the percentiles of the times to the first words and to the end of the answer, and the
tokens and processor time of all. `--against llama.cpp` then does the same with llama.cpp's own server and
the same weights (package xllamacpp), and `--against URL` with a running OpenAI-compatible server; the URL
includes `/v1`. `--model SPEC` takes another model; `scripted:…` leaves only the costs of the server.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.api_server import rolellm_serve
from rolellm_graphs.server.options import ServerOptions
from rolellm_speed.server.clients import TimedRequest, percentile, time_together
from rolellm_speed.server.measure import llama_served
from rolellm_speed.server.workload import Request

_LLAMA = "llama.cpp"
_PARTS = (50, 90, 99)
_INSTRUCTION = {"role": "system", "content": "You tell stories."}


def main(model: str, against: str | None, clients: int, max_tokens: int) -> None:
    """Measure one server after the other, and print the figures of each."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["ROLELLM_HOME"] = home
        with rolellm_serve("--model", model) as (process, url):
            _measure("rolellm serve", url, "plain", process.pid, clients, max_tokens)
        if against is None:
            return
        with _other(against, model, clients) as (url, pid):
            _measure(against, url, _first_model(url), pid, clients, max_tokens)


def _other(against: str, model: str, clients: int) -> AbstractContextManager[tuple[str, int | None]]:
    """The server to compare with, and its process id, which is unknown for a URL."""
    if against != _LLAMA:
        return nullcontext((against, None))
    slots = min(clients, ServerOptions().concurrent)  # as many answers at a time as `rolellm serve`
    return llama_served(model, slots=slots, clients=clients)


def _first_model(url: str) -> str:
    listed = httpx.get(f"{url}/models").raise_for_status().json()
    return str(listed["data"][0]["id"])


def _measure(title: str, url: str, model: str, pid: int | None, clients: int, max_tokens: int) -> None:
    def body_of(asked: Request) -> dict[str, Any]:
        settings = {"max_tokens": max_tokens, "temperature": 0, "seed": 1}
        return {"model": model, "messages": asked.messages, **settings}

    talks = [[_request(number)] for number in range(clients + 1)]
    asyncio.run(time_together(url, talks[clients:], body_of))  # whatever is loaded at the first request
    before = _processor_seconds(pid)
    replies, passed = asyncio.run(time_together(url, talks[:clients], body_of))
    spent = _processor_seconds(pid) - before
    print(f"{title}: {clients} requests at once, load of the machine {os.getloadavg()[0]:.1f}")
    _report(replies, passed, spent if pid else None)


def _request(number: int) -> Request:
    asked = {"role": "user", "content": f"{number + 11} candles burn in the hall. Who lit them, and why?"}
    return Request("plain", [_INSTRUCTION, asked], [])


def _processor_seconds(pid: int | None) -> float:
    if pid is None:
        return 0.0
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def _report(replies: Sequence[TimedRequest | None], passed: float, spent: float | None) -> None:
    answers = [answer for answer in replies if answer is not None]
    print(f"  refused {len(replies) - len(answers)}")
    if not answers:
        return
    print(f"  first words: {_percentiles([answer.first_s for answer in answers])}")
    print(f"  end: {_percentiles([answer.whole_s for answer in answers])}")
    tokens = sum(answer.tokens for answer in answers)
    print(f"  {tokens:,} tokens in {passed:.1f} s, {tokens / passed:.1f} a second")
    if spent is not None:
        print(f"  processor time {spent:.2f} s, {1000 * spent / len(answers):.1f} ms an answer")


def _percentiles(seconds: Sequence[float]) -> str:
    return ", ".join(f"p{part} {percentile(seconds, part):.2f} s" for part in _PARTS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="llamacpp:smollm2")
    parser.add_argument("--against", metavar=f"{_LLAMA}|URL")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--max-tokens", type=int, default=24)
    given = parser.parse_args()
    main(given.model, given.against, given.clients, given.max_tokens)
