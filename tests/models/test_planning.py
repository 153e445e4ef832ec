"""How a batch is shared out."""

from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.llamacpp.engine.planning import Pending, PrefillPace, plan

A = "a.gguf"


def job(
    number: int, remaining: int, adapter: str | None = None, *, urgent: bool = True, last_step: int = 0
) -> Pending:
    return Pending(number, remaining, adapter, urgent, last_step)


def test_a_prompt_alone_fills_the_batch() -> None:
    assert plan([job(1, 1000)], 256, 64) == {1: 256}


def test_a_prompt_beside_a_writer_is_read_in_chunks() -> None:
    assert plan([job(1, 1), job(2, 1000)], 256, 64) == {1: 1, 2: 64}


def test_less_is_read_beside_answers_where_reading_is_slow() -> None:
    pace = PrefillPace()
    assert pace.chunk == 64
    for rows, seconds in ((1, 9.0), (64, 0.1)):  # a step of one row says nothing about reading
        pace.update(rows, seconds)
        assert pace.chunk == 64
    for _ in range(30):
        pace.update(64, 64 * 0.01)
    assert pace.chunk == 25  # a quarter of a second
    for _ in range(30):
        pace.update(64, 640.0)
    assert pace.chunk == 8


def test_beside_many_writers_more_is_read_and_never_more_than_fits() -> None:
    def read_beside(writers: int) -> int:
        return plan([*(job(number, 1) for number in range(writers)), job(99, 1000)], 256, 64)[99]

    assert [read_beside(writers) for writers in (1, 7, 8, 12, 31)] == [64, 64, 128, 192, 225]


def test_the_oldest_prompt_gets_half_and_the_shortest_the_rest() -> None:
    assert plan([job(1, 1000), job(2, 900), job(3, 20)], 256, 64) == {1: 128, 3: 20, 2: 108}


def test_a_short_newcomer_does_not_wait_for_a_long_prompt() -> None:
    assert plan([job(1, 8000), job(2, 40)], 256, 64) == {1: 216, 2: 40}


def test_what_is_read_ahead_waits_and_then_goes_in_chunks() -> None:
    assert plan([job(1, 500, urgent=False), job(2, 5)], 256, 64) == {2: 5}
    assert plan([job(1, 500, urgent=False)], 256, 64) == {1: 64}


def test_adapters_take_turns() -> None:
    waiting = [job(1, 1, A, last_step=7), job(2, 1, None, last_step=6), job(3, 1, A, last_step=7)]
    assert plan(waiting, 256, 64) == {2: 1}
    assert plan([*waiting[:1], job(2, 1, None, last_step=8), waiting[2]], 256, 64) == {1: 1, 3: 1}


def test_nothing_to_do() -> None:
    assert plan([], 256, 64) == {}


JOBS = st.lists(
    st.builds(
        job,
        number=st.integers(1, 10**6),
        remaining=st.integers(1, 400),
        adapter=st.sampled_from([None, A]),
        urgent=st.booleans(),
        last_step=st.integers(0, 50),
    ),
    max_size=8,
    unique_by=lambda one: one.number,
)


@given(JOBS, st.integers(9, 300), st.integers(1, 300))
def test_every_batch_fits_has_one_adapter_and_serves_the_oldest(
    jobs: list[Pending], n_batch: int, chunk: int
) -> None:
    shares = plan(jobs, n_batch, chunk)
    by_number = {one.number: one for one in jobs}
    served = [by_number[number] for number in shares]
    assert sum(shares.values()) <= n_batch
    assert all(0 < count <= by_number[number].remaining for number, count in shares.items())
    assert len({one.adapter for one in served}) <= 1
    assert bool(served) == bool(jobs)
    if served:
        ready = [one for one in jobs if one.urgent] or jobs
        assert all(one in ready for one in served)
        group = [one for one in ready if one.adapter == served[0].adapter]
        prefills = [one for one in group if one.remaining > 1]
        assert all(one.number in shares for one in group if one.remaining == 1)
        assert not prefills or min(prefills, key=lambda one: one.number).number in shares
