"""`rolellm serve --workers`: several processes are one server to its clients."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest
from helpers.api_server import PATIENCE, rolellm_serve
from helpers.commands import rolellm

from rolellm_agents.scene import SceneLine
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.shared_state import SharedState, offer
from rolellm_graphs.server.workers import options_of_worker

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

SLOW = "scripted:" + " ".join(f"word{number}" for number in range(40))
BODY = {"model": "sherlock-holmes", "messages": [{"role": "user", "content": "Who are you?"}]}


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"ROLELLM_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}


def ask(url: str, **headers: str) -> int:
    """The status of a request over a connection of its own, so that any worker may get it."""
    return httpx.post(f"{url}/chat/completions", json=BODY, headers=headers, timeout=PATIENCE).status_code


def workers_of(server: int) -> set[int]:
    found = set()
    for child in psutil.Process(server).children():
        with suppress(psutil.Error):  # it may have ended meanwhile
            if "resource_tracker" not in " ".join(child.cmdline()):
                found.add(child.pid)
    return found


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.core
def test_requests_are_counted_for_all_workers_together(home: dict[str, str]) -> None:
    arguments = ("--workers", "3", "--model", "scripted:Good day.", "--requests-per-minute", "5")
    with rolellm_serve(*arguments, environment=home) as (process, url):
        assert len(workers_of(process.pid)) == 3
        assert Counter(ask(url) for _ in range(12)) == {200: 5, 429: 7}


def test_a_worker_that_is_killed_is_replaced_and_counters_go_on(home: dict[str, str]) -> None:
    arguments = ("--workers", "2", "--model", "scripted:Good day.")
    with rolellm_serve(*arguments, environment=home) as (process, url):
        assert [ask(url) for _ in range(6)] == [200] * 6
        before = workers_of(process.pid)
        os.kill(min(before), signal.SIGKILL)
        until(lambda: len(workers_of(process.pid) - before) == 1)
        assert [ask(url) for _ in range(6)] == [200] * 6
        told = httpx.get(url.removesuffix("/v1") + "/metrics").text
        assert "rolellm_answer_seconds_count 12.0" in told
        health = httpx.get(url.removesuffix("/v1") + "/health").json()
        assert (health["answering"], health["waiting"]) == (0, 0)


def test_workers_end_when_their_supervisor_is_killed(home: dict[str, str]) -> None:
    with rolellm_serve("--workers", "2", "--model", "scripted:Good day.", environment=home) as (process, _):
        workers = [psutil.Process(pid) for pid in workers_of(process.pid)]
        process.kill()
        psutil.wait_procs(workers, PATIENCE)
        assert not any(worker.is_running() for worker in workers)


def test_a_stream_ends_whole_after_the_signal_and_nothing_is_left(
    home: dict[str, str], tmp_path: Path
) -> None:
    with rolellm_serve("--workers", "2", "--model", SLOW, environment=home) as (process, url):
        asked = {**BODY, "stream": True}
        with httpx.stream("POST", f"{url}/chat/completions", json=asked, timeout=PATIENCE) as answer:
            parts = answer.iter_text()
            first = next(parts)
            process.terminate()
            heard = first + "".join(parts)
        assert "word39" in heard
        assert heard.rstrip().endswith("data: [DONE]")
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert not list(tmp_path.glob("rolellm-metrics-*"))


def test_a_worker_that_cannot_load_its_model_stops_the_server_with_a_sentence(
    home: dict[str, str], tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF" + bytes(100))
    done = rolellm("serve", "--workers", "2", "--port", "0", "--model", f"llamacpp:{damaged}", env=home)
    assert done.returncode == 2
    assert "damaged.gguf" in done.stderr
    assert "because a worker could not start" in done.stderr
    assert "Traceback" not in done.stderr


def test_conversations_that_are_kept_in_one_process_cannot_be_shared(home: dict[str, str]) -> None:
    done = rolellm("serve", "--workers", "2", "--a2a", env=home)
    assert done.returncode == 2
    assert "--a2a keeps conversations in one process" in done.stderr


def test_limits_are_divided() -> None:
    share = options_of_worker(ServerOptions(concurrent=32, queue=10, body_memory=300), 3)
    assert (share.concurrent, share.queue, share.body_memory) == (11, 4, 100)


def test_workers_see_one_state() -> None:
    state = SharedState()
    address = offer(state)
    one, other = address.connect(), address.connect()
    assert [worker.rates.take("somebody", 2) for worker in (one, other)] == [0, 0]
    assert one.rates.take("somebody", 2) == state.rates.seconds_left("somebody", 2) == 30
    heard = ["juno", "walt"]
    line = SceneLine(id="1", speaker="juno", kind="whisper", audience=heard, text="Not a word.", made_by={})
    one.scenes.keep("scene", [("user", "Hello.")], [line])
    assert other.scenes.find("scene", [("user", "Hello.")]) == [line]
    assert other.scenes.find("scene", [("user", "Nothing.")]) is None
