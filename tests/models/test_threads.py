"""How many threads compute: all on a quiet machine, fewer beside other programs, always the same words."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.engine.context import BatchToken, LlamaContext
from rolellm_agents.models.llamacpp.engine.threads import AdaptiveThreads, FixedThreads, Use, threads_for
from rolellm_agents.models.llamacpp.tuning.settings import Tuning

SECONDS = 20.0
"""No test waits so long, unless what it tests is broken."""


@pytest.mark.parametrize(
    ("most", "free", "threads"),
    [
        (2, 2.0, 2),
        (2, 1.6, 2),
        (2, 1.4, 1),
        (2, 1.0, 1),
        (2, 0.0, 1),
        (8, 6.9, 7),
        (8, -3.0, 1),
        (1, 4.0, 1),
    ],
)
def test_a_step_is_computed_by_as_many_threads_as_there_are_free_processors(
    most: int, free: float, threads: int
) -> None:
    assert threads_for(most, free, can_wait=False) == threads


def test_a_long_step_keeps_its_threads_where_even_one_would_share_its_processor() -> None:
    assert threads_for(8, 0.5, can_wait=True) == 8
    assert threads_for(8, 1.0, can_wait=True) == 1


@given(most=st.integers(1, 256), free=st.floats(-300, 300), more=st.floats(0, 300), can_wait=st.booleans())
def test_there_is_always_a_thread_and_never_one_too_many(
    most: int, free: float, more: float, can_wait: bool
) -> None:
    assert 1 <= threads_for(most, free, can_wait=can_wait) <= most
    assert threads_for(most, free, can_wait=False) <= threads_for(most, free + more, can_wait=False)


def test_threads_go_while_others_use_the_processors_and_come_back() -> None:
    others = [0.0]
    used, looked = [0.0], [time.perf_counter()]

    def busy_seconds() -> float:
        now = time.perf_counter()
        used[0] += others[0] * (now - looked[0])
        looked[0] = now
        return used[0]

    threads = AdaptiveThreads(2, busy_seconds)
    assert threads.for_step(1) == 2
    others[0] = 1000.0
    wait_for(threads, 1)
    assert threads.use == Use(1, 2)
    assert threads.use.is_reduced
    others[0] = 0.0
    wait_for(threads, 2)


def wait_for(threads: AdaptiveThreads, count: int) -> None:
    end = time.monotonic() + SECONDS
    while threads.for_step(1) != count:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_our_own_threads_use_does_not_count_as_others() -> None:
    start = time.perf_counter()
    threads = AdaptiveThreads(2, lambda: 2 * (time.perf_counter() - start))
    worked, end = time.thread_time(), time.perf_counter() + 0.7
    while time.perf_counter() < end:
        threads.for_step(1)
        now = time.thread_time()
        # As if the second thread had computed all the time, whatever the test's machine does meanwhile.
        threads.computed(max(now - worked, 2 * (time.perf_counter() - start)))
        worked = now
    assert threads.use == Use(2, 2)


def test_a_thread_that_follows_another_is_not_taken_for_it() -> None:
    """The engine's thread ends with its work, and Python gives its number to the next one."""
    start = time.perf_counter()
    most = max(2, library.processors())
    threads = AdaptiveThreads(most, lambda: (time.perf_counter() - start) / 4)
    used: set[int] = set()

    def work() -> None:
        end = time.thread_time() + 0.45
        while time.thread_time() < end:
            used.add(threads.for_step(1))

    for _ in range(3):
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    assert used == {most}


def test_a_number_that_was_asked_for_stays() -> None:
    threads = FixedThreads(3)
    assert [threads.for_step(rows) for rows in (1, 256)] == [3, 3]
    assert not threads.use.is_reduced


def test_the_number_of_threads_changes_no_number(small_model: ChatLlamaCpp) -> None:
    model = small_model.load().model
    tokens = model.tokenize("It was a bright cold day in April, and the clocks were striking thirteen.")
    found = []
    for count in (1, 2, 3):
        context = LlamaContext(model, n_ctx=256, sequences=1, tuning=Tuning(), threads=FixedThreads(count))
        context.decode([BatchToken(token, place, 0, True) for place, token in enumerate(tokens)], None)
        read = [context.log_probabilities(row) for row in range(len(tokens))]
        context.decode([BatchToken(tokens[0], len(tokens), 0, True)], None)
        found.append(np.stack([*read, context.log_probabilities(0)]))
        context.close()
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_an_answer_says_how_many_threads_wrote_it(small_model: ChatLlamaCpp) -> None:
    threads = small_model.invoke("Hello").response_metadata["threads"]
    assert 1 <= threads["threads"] <= threads["most"]


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has loaded")
def test_spinning_is_bounded_wherever_openmp_was_not_loaded_before() -> None:
    told = "import os; from rolellm_agents.models.llamacpp import bindings as b; "
    told += "print(b.SPINNING_IS_BOUNDED, 'GOMP_SPINCOUNT' in os.environ)"
    everything = "import rolellm_agents.models.llamacpp.chat; " + told
    assert run(told) == run(everything) == "True False"
    assert run("import llama_cpp; " + told) == "False False"
