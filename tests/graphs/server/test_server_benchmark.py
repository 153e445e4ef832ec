"""What `rolellm bench serve` tells of a server under load."""

from typing import Any

import httpx
import pytest
from helpers.api_server import served
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ModelError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_speed.commands import serve as bench_serve
from rolellm_speed.server import measure
from rolellm_speed.server.clients import (
    ClientLoad,
    TimedRequest,
    ask_together,
    load_of,
    percentiles,
    time_together,
)
from rolellm_speed.server.workload import TURNS, Request, conversations


def body_of(asked: Request) -> dict[str, Any]:
    return {"model": asked.persona, "messages": asked.messages}


async def load(clients: int, **options: Any) -> ClientLoad:
    model = ScriptedChatModel(replies=["one two three"], seconds_per_word=0.01)
    async with served(model, strategy="system", **options) as client:
        return await ask_together(f"{client.base_url}/v1", conversations(clients), body_of)


async def test_clients_that_wait_for_their_turn_are_all_answered() -> None:
    told = await load(12, concurrent=2)
    assert (told.clients, told.requests, told.refused) == (12, 12 * TURNS, 0)
    assert 0 < told.first.p50 <= told.first.p95 <= told.first.p99
    assert told.whole.p50 <= told.whole.p95 <= told.whole.p99
    assert told.first.p50 < told.whole.p50


async def test_tokens_are_those_that_the_server_counts() -> None:
    model = ScriptedChatModel(replies=["one two three"])
    async with served(model, strategy="system") as client:
        replies, _ = await time_together(f"{client.base_url}/v1", conversations(1), body_of)
        asked = {**body_of(conversations(1)[0][0]), "stream": False}
        whole = (await client.post("/v1/chat/completions", json=asked)).json()
    assert [answer.tokens for answer in replies if answer] == [whole["usage"]["completion_tokens"]] * TURNS
    assert whole["usage"]["completion_tokens"] > 0


async def test_who_is_refused_is_counted_and_not_timed() -> None:
    told = await load(12, concurrent=1, queue=0)
    assert told.requests == 12 * TURNS
    assert 0 < told.refused < told.requests


async def test_what_fails_otherwise_ends_the_measurement() -> None:
    async with served(ScriptedChatModel(replies=[KeyError("broken")])) as client:
        with pytest.raises(httpx.HTTPStatusError):
            await ask_together(f"{client.base_url}/v1", conversations(1), body_of)


def test_refused_requests_are_no_answers() -> None:
    told = load_of(3, [TimedRequest(0.1, 0.4, 3), None, TimedRequest(0.3, 0.5, 5)], 2.0)
    assert (told.requests, told.refused, told.per_s, told.chunks_per_s) == (3, 1, 1.0, 4.0)
    assert told.first_ms == pytest.approx(200)
    assert told.whole.p99 == pytest.approx(500)
    with pytest.raises(ModelError, match="refused all requests"):
        load_of(1, [None], 1.0)


def test_percentiles_are_those_of_the_nearest_rank() -> None:
    told = percentiles([float(time) for time in range(200, 0, -1)])
    assert (told.p50, told.p95, told.p99) == (100, 190, 198)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=150))
def test_so_many_of_a_hundred_times_are_not_longer(times: list[float]) -> None:
    told = percentiles(times)
    for part, found in ((50, told.p50), (95, told.p95), (99, told.p99)):
        assert found in times
        assert 100 * sum(time <= found for time in times) >= part * len(times)
        assert 100 * sum(time < found for time in times) < part * len(times)


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command_tells_refusals_and_percentiles(
    as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = {"p50": 1234.0, "p95": 2345.0, "p99": 3456.0}
    figures = {"requests": 300, "refused": 7, "per_s": 2.5, "first_ms": 600.0, "chunks_per_s": 80.0}
    row = {"server": "ours", "clients": 100, **figures, "first": times, "whole": {**times, "p99": 9876.0}}
    ratio = {"clients": 100, "per_s": 1.6, "first_ms": 0.2}
    asked: list[Any] = []

    async def measured(clients: Any, **options: Any) -> dict[str, Any]:
        asked.append(clients)
        return {"max_tokens": 32, "rows": [row], "ratios": [ratio]}

    async def overhead(rounds: int) -> dict[str, float]:
        return {"bare_ms": 1.0, "role_ms": 0.2, "graph_ms": 1.5, "server_ms": 1.4}

    monkeypatch.setattr(measure, "measure_servers", measured)
    monkeypatch.setattr(measure, "measure_overhead", overhead)
    bench_serve.serve(clients=[100], as_json=as_json)
    told = capsys.readouterr().out
    assert asked == [[100]]
    if as_json:
        assert '"refused": 7' in told
        assert '"p99": 9876.0' in told
    else:
        assert "REFUSED" in told
        assert told.splitlines()[1].split()[:6] == ["ours", "100", "2.5", "600.0", "80.0", "7"]
        assert "1.23 / 2.35 / 3.46" in told
        assert "1.23 / 2.35 / 9.88" in told
