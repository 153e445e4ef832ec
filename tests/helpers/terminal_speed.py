"""Measure the app in a real terminal: the waiting times in a long conversation, and the memory.

`python tests/helpers/terminal_speed.py [--lines N] [MESSAGES …]` opens conversations of 100, 4,000 and
100,000 messages unless told otherwise, in tmux, with a model behind a server on loopback; N lines (500) are
exchanged in each. Each time goes from the key, or from the word that the server sends, until tmux shows it;
asking tmux takes some milliseconds of it.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.long_conversation import long_record
from helpers.terminal import Terminal, terminal
from helpers.user_files import write_models
from rolellm_agents.config.paths import user_paths
from rolellm_agents.persona import load_persona
from rolellm_agents.recall import knowledge_of
from rolellm_agents.transcript import Transcript

_PERSONA = "sherlock-holmes"
_RARE = "zanzibar"
"""A word of the message in the middle."""
_ROUNDS = 5
_STREAMED = 40
"""Words of an answer whose words are timed."""
_PAUSE = 0.25
_PATIENCE = 300.0
_WRITING = "Say something"


class _WordServer:
    """A model's server: answers at once, or word by word when it is asked to speak slowly."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}
        """When each word of a slow answer was sent."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                line = str(asked.get("messages", [{"content": ""}])[-1]["content"])
                for word in server.words_for(line):
                    delta = {"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}
                    self._say({"id": "c", "object": "chat.completion.chunk", "choices": [delta]})
                self.wfile.write(b"data: [DONE]\n\n")

            def _say(self, chunk: dict[str, object]) -> None:
                self.wfile.write(f"data: {json.dumps(chunk | {'created': 1, 'model': 'm'})}\n\n".encode())
                self.wfile.flush()

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def words_for(self, line: str) -> Iterator[str]:
        """The words of an answer, at the time when they are sent."""
        if "slowly" not in line:
            yield from ["Answered."]
            return
        for number in range(_STREAMED):
            time.sleep(_PAUSE)
            word = f"word{number}."
            self.sent[word] = time.perf_counter()
            yield word

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve while the context lasts."""
        thread = threading.Thread(target=self._http.serve_forever)
        thread.start()
        try:
            yield
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()


def main(lengths: list[int], lines: int) -> None:
    """Print the figures of each length."""
    for length in lengths:
        server = _WordServer()
        with tempfile.TemporaryDirectory(prefix="rolellm-terminal-") as folder, server.running():
            os.environ["ROLELLM_HOME"] = folder
            _make_home(length, server.url)
            print(f"{length:,} messages")
            began = time.perf_counter()
            with terminal("chat", _PERSONA, "--model", "quick") as pane:
                for what, figure in _measured(pane, began, length, server, lines):
                    print(f"  {what}: {figure}", flush=True)


def _make_home(length: int, url: str) -> None:
    words = [word for passage in knowledge_of(load_persona(_PERSONA)) for word in passage.text.split()]
    chance = Random(length)

    def text(place: int) -> str:
        rare = f" {_RARE}" if place == length // 2 else ""
        count = chance.randint(1, 180 if place % 2 else 30)
        return f"Message {place}:{rare} {' '.join(chance.choices(words, k=count))}"

    with Transcript(user_paths().transcript) as transcript:
        transcript.add_record(long_record(length, persona=_PERSONA, text=text))
    write_models(f'[models.quick]\nspec = "openai:fake"\nbase_url = "{url}"\ncontext = 4096\n')


def _measured(
    pane: Terminal, began: float, length: int, server: _WordServer, lines: int
) -> Iterator[tuple[str, str]]:
    first, last, middle = "Message 0:", f"Message {length - 1}:", f"Message {length // 2}:"
    yield "open, from a new process", _ms([_since(began, pane, last, _WRITING)])
    time.sleep(3)  # the app prepares the model and the next prompt
    yield "memory", _mib(pane)

    jumps = [(_after(pane, ["C-Home"], first), _after(pane, ["C-End"], last)) for _ in range(_ROUNDS)]
    yield "jump to the start", _ms([start for start, _ in jumps])
    yield "jump to the end", _ms([end for _, end in jumps])

    yield "find a word in the conversation", _ms([_find(pane, last, middle) for _ in range(_ROUNDS)])

    keys = []
    for letter in "abcdefghijklmnopqrst":
        typed = "abcdefghijklmnopqrst"[: ord(letter) - ord("a") + 1]
        keys.append(_after(pane, [letter], f"│ {typed}"))
        time.sleep(0.1)
    yield "key until drawn", _ms(keys)
    pane.press(*["BSpace"] * 20)
    _until(pane, _WRITING)

    yield "line until drawn; until answered", _ms_pairs([_exchange(pane, n) for n in range(_ROUNDS)])

    yield "word until drawn", _ms(_words(pane, server))

    before = _mib(pane)
    for number in range(_ROUNDS, _ROUNDS + lines):
        _exchange(pane, number)
    yield f"memory before and after {lines} lines", f"{before}, {_mib(pane)}"

    pane.press("C-s")
    _until(pane, "Search")
    yield "search in all conversations", _ms([_after(pane, [*_RARE], middle)])
    yield "open the message that was found", _ms([_after(pane, ["Enter"], middle, _WRITING)])
    pane.press("C-q")
    pane.exit_code()


def _find(pane: Terminal, last: str, middle: str) -> float:
    """Seconds until the message with the rare word is drawn; then the end is shown again."""
    pane.press("C-f")
    _until(pane, "  / ")
    pane.press("C-u")
    _until(pane, "search text")
    seconds = _after(pane, [*_RARE], middle)
    pane.press("Escape")
    _wait(pane, lambda screen: "  / " not in screen)
    pane.press("C-End")
    _until(pane, last)
    pane.press("C-Down")
    return seconds


def _exchange(pane: Terminal, number: int) -> tuple[float, float]:
    """Seconds until a line is drawn in the conversation, and until its answer is."""
    line = f"Line {number} of today"
    pane.type(line)
    _until(pane, f"│ {line}")
    began = time.perf_counter()
    pane.press("Enter")
    drawn = _since(began, pane, _WRITING, line)
    _wait(pane, lambda screen: "Answered." in screen.partition(line)[2] and "esc Stop" not in screen)
    return drawn, time.perf_counter() - began


def _words(pane: Terminal, server: _WordServer) -> list[float]:
    """Seconds until each word of an answer is drawn."""
    pane.type("Speak slowly")
    _until(pane, "│ Speak slowly")
    pane.press("Enter")
    times = []
    for number in range(_STREAMED):
        word = f"word{number}."
        _until(pane, word)
        times.append(time.perf_counter() - server.sent[word])
    _wait(pane, lambda screen: "esc Stop" not in screen)
    return times


def _after(pane: Terminal, keys: list[str], *texts: str) -> float:
    """Seconds from a press of keys until texts are shown."""
    began = time.perf_counter()
    pane.press(*keys)
    return _since(began, pane, *texts)


def _since(began: float, pane: Terminal, *texts: str) -> float:
    _until(pane, *texts)
    return time.perf_counter() - began


def _until(pane: Terminal, *texts: str) -> None:
    _wait(pane, lambda screen: all(text in screen for text in texts))


def _wait(pane: Terminal, holds: Callable[[str], bool]) -> None:
    ends = time.monotonic() + _PATIENCE
    while not holds(shown := pane.screen()):
        assert time.monotonic() < ends, shown


def _ms(seconds: list[float]) -> str:
    milliseconds = [1_000 * one for one in seconds]
    if len(milliseconds) == 1:
        return f"{milliseconds[0]:,.0f} ms"
    slow = quantiles(milliseconds, n=20, method="inclusive")[-1]
    return f"median {median(milliseconds):,.0f} ms, p95 {slow:,.0f} ms, most {max(milliseconds):,.0f} ms"


def _ms_pairs(pairs: list[tuple[float, float]]) -> str:
    return "; ".join(_ms(list(column)) for column in zip(*pairs, strict=True))


def _mib(pane: Terminal) -> str:
    return f"{pane.memory() / 2**20:.0f} MiB"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("messages", type=int, nargs="*", default=[100, 4_000, 100_000])
    given = parser.parse_args()
    main(given.messages, given.lines)
