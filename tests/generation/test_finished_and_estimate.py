"""What is finished of a plan, and what is left to pay for."""

import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from rolellm_agents.runs.budget import Prices, Tokens
from rolellm_agents.runs.estimate import Estimate, estimate_left
from rolellm_agents.runs.folder import open_run
from rolellm_agents.runs.items import FinishedItems

CONFIG = {"generator": "a test"}


def item(read: int = 100, written: int = 10) -> dict[str, Any]:
    return {"text": "x", "tokens": {"read": read, "written": written}, "seconds": 2.0}


def keys(count: int) -> list[str]:
    return [f"item {number}" for number in range(count)]


def test_items_are_found_by_their_numbers_whatever_the_order_they_ended_in(tmp_path: Path) -> None:
    with open_run(tmp_path, CONFIG, in_memory=False) as run:
        finished = FinishedItems(run, lambda: keys(4))
        assert finished.count == 0
        assert finished.get(2) is None
        finished.put(2, "item 2", item(7))
        finished.put(0, "item 0", item(5))
        assert (2 in finished, 1 in finished) == (True, False)
    with open_run(tmp_path, CONFIG, in_memory=False) as run:
        again = FinishedItems(run, lambda: keys(4))
        assert (again.count, again.recorded) == (2, 2)
        assert [number in again for number in range(4)] == [True, False, True, False]
        assert again.get(2)["tokens"]["read"] == 7
        assert (again.tokens, again.seconds) == (Tokens(12, 20), 4.0)
        fewer = FinishedItems(run, lambda: keys(1))
        assert (fewer.count, fewer.recorded) == (1, 2)
        assert fewer.tokens == Tokens(12, 20), "what was paid for is paid for"


def test_a_hundred_thousand_items_take_little_memory(tmp_path: Path) -> None:
    with open_run(tmp_path, CONFIG, in_memory=False) as run:
        tracemalloc.start()
        try:
            finished = FinishedItems(run, lambda: (f"item {number}" for number in range(100_000)))
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held < 2_000_000
        assert 99_999 not in finished


def left(folder: Path, count: int, model_name: str = "openai:m", prices: Prices | None = None) -> Estimate:
    return estimate_left(
        folder,
        lambda: keys(count),
        Tokens(1_000, 50),
        at_once=4,
        model_name=model_name,
        prices=prices,
    )


def test_nothing_begun_is_estimated_by_a_rule_of_thumb(tmp_path: Path) -> None:
    found = left(tmp_path / "none", 40, prices=Prices(1.0, 10.0))
    assert (found.items, found.done, found.calls, found.measured) == (40, 0, 40, False)
    assert found.tokens == Tokens(40_000, 2_000)
    assert found.cost == pytest.approx(0.06)
    assert found.seconds == pytest.approx(2_000 / 50 / 4)
    assert left(tmp_path / "none", 40, "llamacpp:smollm2").seconds > 5 * found.seconds
    assert not (tmp_path / "none").exists()


def test_what_is_done_measures_what_is_left(tmp_path: Path) -> None:
    with open_run(tmp_path, CONFIG, in_memory=False) as run:
        finished = FinishedItems(run, lambda: keys(10))
        for number in range(10):
            finished.put(number, f"item {number}", item())
    found = left(tmp_path, 30)
    assert (found.done, found.calls, found.measured) == (10, 20, True)
    assert found.tokens == Tokens(2_000, 200)
    assert found.seconds == pytest.approx(20 * 2.0 / 4)
    assert left(tmp_path, 10).calls == 0


def test_reading_many_finished_items_is_quick(tmp_path: Path) -> None:
    import json

    with (tmp_path / "items.jsonl").open("w") as file:
        for number in range(20_000):
            file.write(json.dumps({"key": f"item {number}", "value": item()}) + "\n")
    began = time.process_time()
    with open_run(tmp_path, CONFIG, in_memory=False) as run:
        assert FinishedItems(run, lambda: keys(20_000)).count == 20_000
    assert time.process_time() - began < 10
