"""The engine over a context without a model: whatever it mixes up changes the words."""

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from helpers.fake_context import END, FakeLlama, FakeVocabulary, next_token
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.engine import jobs
from rolellm_agents.models.llamacpp.engine.engine import Engine
from rolellm_agents.models.llamacpp.engine.jobs import AnswerJob, Finished, StreamItem
from rolellm_agents.models.llamacpp.engine.neighbours import groups
from rolellm_agents.models.llamacpp.engine.prompt_cache import PromptCache
from rolellm_agents.models.llamacpp.engine.sampling import Sampling
from rolellm_agents.models.prefill import PrefillProgress

SECONDS = 20.0
"""No test waits so long, unless what it tests is broken."""
A, B = "a.gguf", "b.gguf"


def no_sampler(sampling: Sampling, prompt: Sequence[int]) -> Any:
    return None


def make_engine(context: FakeLlama, prompt_cache: PromptCache | None = None) -> Engine:
    return Engine(context.cache(), FakeVocabulary(), no_sampler, prompt_cache, n_batch=context.n_batch)


@dataclass
class Listener:
    """What was heard of one answer."""

    text: str = ""
    pieces: int = 0
    last: Finished | ModelError | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def hear(self, part: StreamItem) -> None:
        assert self.last is None, "something was told after the end"
        if isinstance(part, str):
            assert part, "an empty piece was told"
            self.text += part
            self.pieces += 1
        else:
            self.last = part
            self.ended.set()

    def finished(self) -> Finished:
        assert self.ended.wait(SECONDS)
        assert isinstance(self.last, Finished), self.last
        return self.last


def alone(prompt: Sequence[int], adapter: str | None, max_tokens: int, n_ctx: int) -> tuple[str, str]:
    """The text and reason of an answer that nothing disturbs."""
    tokens, written = list(prompt), bytearray()
    vocabulary = FakeVocabulary()
    for _ in range(min(max_tokens, n_ctx - len(prompt))):
        token = next_token(tokens, adapter)
        if token == END:
            return written.decode("utf-8", "replace"), "stop"
        written += vocabulary.bytes_of(token)
        tokens.append(token)
    return written.decode("utf-8", "replace"), "length"


def ask(
    engine: Engine, prompt: Sequence[int], adapter: str | None = None, **sampling: Any
) -> tuple[Listener, AnswerJob]:
    listener = Listener()
    return listener, engine.submit(prompt, Sampling(**sampling), listener.hear, adapter=adapter)


@pytest.fixture
def context() -> FakeLlama:
    made = FakeLlama()
    made.backoff.set()
    return made


def test_an_answer_is_what_the_model_alone_would_write(context: FakeLlama) -> None:
    engine = make_engine(context)
    for prompt in ([5], [1, 2, 3], list(range(1, 30))):
        listener, _ = ask(engine, prompt, max_tokens=12)
        finished = listener.finished()
        assert (listener.text, finished.reason) == alone(prompt, None, 12, context.n_ctx)
        assert finished.prompt_tokens == len(prompt)


def test_what_was_read_is_not_read_again(context: FakeLlama) -> None:
    engine = make_engine(context)
    ask(engine, range(1, 21), max_tokens=1)[0].finished()
    finished = ask(engine, range(1, 26), max_tokens=1)[0].finished()
    assert finished.reused_tokens == 20
    assert engine.counters.evaluated == 25


def test_a_long_prefill_is_reported_and_a_short_one_is_not(
    context: FakeLlama, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(context)

    def reports(prompt: Sequence[int]) -> list[PrefillProgress]:
        heard: list[PrefillProgress] = []
        listener = Listener()
        engine.submit(prompt, Sampling(max_tokens=6), listener.hear, on_prefill=heard.append)
        listener.finished()
        return heard

    monkeypatch.setattr(jobs, "_SHORT_PREFILL", 0.0)
    assert reports(range(1, 31)) == [(8, 30), (16, 30), (24, 30)]
    assert reports(range(1, 41)) == [(38, 40)]  # 30 tokens were kept
    monkeypatch.setattr(jobs, "_SHORT_PREFILL", SECONDS)
    assert reports(range(31, 1, -1)) == []


def test_a_report_of_prefill_that_nobody_can_hear_does_not_stop_the_answer(
    context: FakeLlama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_SHORT_PREFILL", 0.0)

    def closed(_: PrefillProgress) -> None:
        raise RuntimeError("Event loop is closed")

    listener = Listener()
    make_engine(context).submit(range(1, 31), Sampling(max_tokens=6), listener.hear, on_prefill=closed)
    assert listener.finished().reason != "cancelled"


def test_a_resident_of_another_adapter_is_of_no_use(context: FakeLlama) -> None:
    engine = make_engine(context)
    ask(engine, range(1, 21), A, max_tokens=1)[0].finished()
    assert ask(engine, range(1, 21), B, max_tokens=1)[0].finished().reused_tokens == 0
    assert ask(engine, range(1, 21), A, max_tokens=1)[0].finished().reused_tokens == 19


def test_adapters_never_share_a_batch() -> None:
    context = FakeLlama(n_batch=16)
    engine = make_engine(context)
    asked = [ask(engine, [9, 8, 7, n], adapter, max_tokens=9)[0] for n, adapter in enumerate((A, B, None))]
    context.backoff.set()
    for listener in asked:
        listener.finished()
    assert {adapter for adapter, _ in context.batches} == {A, B, None}


def test_running_answers_share_batches_and_nobody_waits_for_a_long_prompt() -> None:
    context = FakeLlama(n_ctx=400, n_batch=128, sequences=2)
    engine = make_engine(context)
    writer = Listener()
    long_one = Listener()
    reader: list[AnswerJob] = []

    def hear(part: StreamItem) -> None:
        writer.hear(part)
        if not reader:
            prompt = [1 + n % 30 for n in range(390)]
            reader.append(engine.submit(prompt, Sampling(max_tokens=1), long_one.hear))

    engine.submit([3, 4], Sampling(max_tokens=30), hear)
    context.backoff.set()
    writer.finished()
    long_one.finished()
    together = [rows for _, rows in context.batches if len({row.sequence for row in rows}) == 2]
    assert len(together) >= 6
    assert max(len(rows) for rows in together) == 65  # 64 of the prompt, one of the answer


def test_answers_that_go_on_after_others_have_ended_become_neighbours() -> None:
    context = FakeLlama(sequences=7, n_batch=32)
    engine = make_engine(context)
    long_ones = (prompt for n in range(1, 31) if alone(prompt := [n, n], None, 25, 48)[1] == "length")
    asked = [(next(long_ones), 25 if place % 2 == 0 else 2) for place in range(7)]
    heard = [ask(engine, prompt, max_tokens=most)[0] for prompt, most in asked]
    context.backoff.set()
    for listener, (prompt, most) in zip(heard, asked, strict=True):
        assert (listener.finished().reason, listener.text) == ("length", alone(prompt, None, most, 48)[0])
    slots = [{row.sequence for row in rows} for _, rows in context.batches]
    assert max(map(len, slots)) == 7
    assert {groups(one) for one in slots if len(one) == 4} == {1}


def test_reading_ahead_makes_the_next_answer_start_at_once(context: FakeLlama) -> None:
    engine = make_engine(context)
    reading = engine.prefetch(list(range(1, 31)))
    while not reading.done:
        threading.Event().wait(0.001)
    assert ask(engine, range(1, 33), max_tokens=1)[0].finished().reused_tokens == 30
    assert engine.counters.prefetched == 30


def test_real_requests_go_before_what_is_read_ahead() -> None:
    context = FakeLlama(n_ctx=400, n_batch=16, sequences=1)
    engine = make_engine(context)
    engine.prefetch([5] * 300)
    listener = Listener()
    ahead_at_the_end: list[int] = []

    def hear(part: StreamItem) -> None:
        ahead_at_the_end.append(engine.counters.prefetched)
        listener.hear(part)

    engine.submit([7, 7, 7], Sampling(max_tokens=4), hear)
    context.backoff.set()
    listener.finished()
    assert ahead_at_the_end[-1] <= 16  # at most the step that had begun


def test_many_who_ask_with_the_same_long_beginning_read_it_once() -> None:
    context = FakeLlama(n_ctx=256, n_batch=32, sequences=5)
    engine = make_engine(context)
    beginning = [1 + n % 30 for n in range(200)]
    asked = [ask(engine, [*beginning, n, n], max_tokens=2)[0] for n in range(1, 6)]
    context.backoff.set()
    for n, listener in enumerate(asked, 1):
        listener.finished()
        assert listener.text == alone([*beginning, n, n], None, 2, context.n_ctx)[0]
    assert engine.counters.evaluated < 2 * len(beginning)


def test_who_waits_for_a_reader_that_is_cancelled_reads_for_itself() -> None:
    context = FakeLlama(n_ctx=256, n_batch=32, sequences=2)
    engine = make_engine(context)
    beginning = [1 + n % 30 for n in range(200)]
    first, answer = ask(engine, [*beginning, 7], max_tokens=2)
    second, _ = ask(engine, [*beginning, 8], max_tokens=2)
    answer.cancel()
    context.backoff.set()
    assert first.finished().reason == "cancelled"
    second.finished()
    assert second.text == alone([*beginning, 8], None, 2, context.n_ctx)[0]


def test_what_is_read_ahead_already_costs_no_step(context: FakeLlama) -> None:
    engine = make_engine(context)
    ask(engine, range(1, 21), max_tokens=3)[0].finished()
    before = engine.counters.evaluated
    reading = engine.prefetch(list(range(1, 15)))
    while not reading.done:
        threading.Event().wait(0.001)
    assert engine.counters.evaluated == before
    assert ask(engine, range(1, 22), max_tokens=1)[0].finished().reused_tokens >= 20


def test_a_score_is_the_log_probability_of_each_token(context: FakeLlama) -> None:
    prompt, continuation = [4, 5, 6], [7, 8, 9]
    expected = [
        float(token - next_token([*prompt, *continuation[:place]], None))
        for place, token in enumerate(continuation)
    ]
    engine = make_engine(context)
    assert engine.score(prompt, continuation).result(SECONDS) == expected
    assert engine.score(prompt, continuation).result(SECONDS) == expected


def test_whoever_gives_a_score_up_does_not_stop_the_engine(context: FakeLlama) -> None:
    engine = make_engine(context)
    given_up = engine.score([4, 5, 6], [7, 8, 9])
    given_up.cancel()
    assert len(engine.score([4, 5, 6], [7, 8]).result(SECONDS)) == 2
    assert len(given_up.result(SECONDS)) == 3


def test_a_cancelled_answer_keeps_what_was_said_and_frees_its_sequence() -> None:
    context = FakeLlama(sequences=1)
    engine = make_engine(context)
    listener = Listener()
    answers: list[AnswerJob] = []

    def hear(part: StreamItem) -> None:
        listener.hear(part)
        if listener.pieces == 2:
            answers[0].cancel()

    answers.append(engine.submit([3, 4, 5], Sampling(max_tokens=30), hear))
    context.backoff.set()
    assert listener.finished().reason == "cancelled"
    whole, _ = alone([3, 4, 5], None, 30, context.n_ctx)
    assert whole.startswith(listener.text)
    assert ask(engine, [9], max_tokens=1)[0].finished().reason in {"length", "stop"}


def test_a_failed_step_fails_its_answers_and_no_later_one(context: FakeLlama) -> None:
    context.fail_at = {2}
    engine = make_engine(context)
    listener, _ = ask(engine, [3, 4], max_tokens=9)
    assert listener.ended.wait(SECONDS)
    assert isinstance(listener.last, ModelError)
    again, _ = ask(engine, [3, 4], max_tokens=9)
    assert again.finished().reused_tokens == 0
    assert again.text == alone([3, 4], None, 9, context.n_ctx)[0]


def test_too_long_a_prompt_is_refused_with_the_numbers(context: FakeLlama) -> None:
    with pytest.raises(ModelError, match=r"48 tokens does not fit into a context of 48"):
        make_engine(context).submit([1] * 48, Sampling(), lambda _: None)


def test_a_closed_engine_ends_what_runs_and_takes_nothing_more() -> None:
    context = FakeLlama()
    engine = make_engine(context)
    listener, _ = ask(engine, [3, 4], max_tokens=500)
    threading.Timer(0.01, context.backoff.set).start()
    engine.close()
    assert listener.finished().reason == "cancelled"
    assert context.closed
    with pytest.raises(ModelError, match="closed"):
        ask(engine, [1])


def test_many_threads_may_ask_at_once(context: FakeLlama) -> None:
    engine = make_engine(context)
    wrong: queue.SimpleQueue[str] = queue.SimpleQueue()

    def ask_ten(first: int) -> None:
        for n in range(10):
            prompt = [1 + first, 1 + n, 2]
            listener, _ = ask(engine, prompt, max_tokens=8)
            listener.finished()
            if listener.text != alone(prompt, None, 8, context.n_ctx)[0]:
                wrong.put(listener.text)

    threads = [threading.Thread(target=ask_ten, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong.empty()


def test_a_second_start_takes_the_fixed_part_from_disk(tmp_path: Path) -> None:
    prompt = [*range(1, 40), 7, 8]
    reused = []
    for _ in range(2):
        context = FakeLlama(n_ctx=64)
        context.backoff.set()
        prompt_cache = PromptCache(tmp_path, "one model", limit=10_000)
        engine = make_engine(context, prompt_cache)
        listener = Listener()
        engine.submit(prompt, Sampling(max_tokens=8), listener.hear, cacheable=38)
        reused.append(listener.finished().reused_tokens)
        prompt_cache.wait()
        assert listener.text == alone(prompt, None, 8, 64)[0]
    assert reused == [0, 38]
    assert engine.counters.loaded == 1


@pytest.mark.parametrize("fixed", [38, 39])
def test_what_is_read_ahead_is_kept_on_disk_and_taken_from_there(tmp_path: Path, fixed: int) -> None:
    for read in (39, 39 - fixed):
        context = FakeLlama(n_ctx=64)
        context.backoff.set()
        prompt_cache = PromptCache(tmp_path, "one model", limit=10_000)
        engine = make_engine(context, prompt_cache)
        reading = engine.prefetch(list(range(1, 40)), cacheable=fixed)
        while not reading.done:
            threading.Event().wait(0.001)
        prompt_cache.wait()
        assert engine.counters.evaluated == read


@dataclass(frozen=True)
class Op:
    """Something that happens at the start, or when some answer has been heard for the n-th time."""

    kind: str
    at: tuple[int, int] | None
    prompt: tuple[int, ...]
    adapter: str | None
    max_tokens: int
    fixed: int


class InMemory(PromptCache):
    """A warm start without a disk."""

    def __init__(self) -> None:
        self.states: dict[tuple[tuple[int, ...], str | None], bytes] = {}

    def load(self, tokens: Sequence[int], adapter: str | None) -> bytes | None:
        return self.states.get((tuple(tokens), adapter))

    def keep(self, tokens: Sequence[int], adapter: str | None, state: bytes) -> None:
        self.states[tuple(tokens), adapter] = state

    def discard(self, tokens: Sequence[int], adapter: str | None) -> None:
        del self.states[tuple(tokens), adapter]


PROMPTS = st.tuples(
    st.sampled_from([(3, 4, 5) * 11, (3, 4, 5, 6), (9,), tuple(range(1, 38)), tuple(range(1, 36))]),
    st.lists(st.integers(1, 39), max_size=9),
).map(lambda parts: (*parts[0], *parts[1]))
OPS = st.builds(
    Op,
    kind=st.sampled_from(["answer", "answer", "answer", "prefetch", "score", "cancel"]),
    at=st.none() | st.tuples(st.integers(0, 5), st.integers(1, 6)),
    prompt=PROMPTS,
    adapter=st.sampled_from([None, A, B]),
    max_tokens=st.integers(1, 60),
    fixed=st.sampled_from([0, 0, 33, 36, 99]),
)


class Run:
    """One schedule, played: every op happens in the engine's thread or before its first step."""

    def __init__(self, ops: Sequence[Op], context: FakeLlama) -> None:
        self.ops = ops
        self.context = context
        self.prompt_cache = InMemory()
        self.engine = make_engine(context, self.prompt_cache)
        self.asked: list[tuple[Op, Listener, AnswerJob]] = []
        self.scores: list[Any] = []
        self.played: set[int] = set()

    def play(self, moment: tuple[int, int] | None) -> None:
        for place, op in enumerate(self.ops):
            if op.at == moment and place not in self.played:
                self.played.add(place)
                self._do(op)

    def _do(self, op: Op) -> None:
        if op.kind == "answer":
            self._ask(op)
        elif op.kind == "prefetch":
            fixed = min(op.fixed, len(op.prompt))
            self.engine.prefetch(op.prompt, adapter=op.adapter, cacheable=fixed)
        elif op.kind == "score" and len(op.prompt) > 1:
            self.scores.append(self.engine.score(op.prompt[:1], op.prompt[1:], adapter=op.adapter))
        elif op.kind == "cancel" and self.asked:
            self.asked[len(op.prompt) % len(self.asked)][2].cancel()

    def _ask(self, op: Op) -> None:
        listener, number = Listener(), len(self.asked)

        def hear(part: StreamItem) -> None:
            listener.hear(part)
            self.play((number, listener.pieces))

        sampling = Sampling(max_tokens=op.max_tokens)
        fixed = min(op.fixed, len(op.prompt))
        answer = self.engine.submit(op.prompt, sampling, hear, adapter=op.adapter, cacheable=fixed)
        self.asked.append((op, listener, answer))


LLAMAS = st.builds(
    FakeLlama,
    sequences=st.integers(1, 5),
    n_batch=st.integers(5, 16),
    smallest=st.sampled_from([8, 24, 48]),
    idle=st.integers(0, 250),
    parked=st.integers(0, 250),
    memory=st.sampled_from([110, 200, 10**6]),
    states_move=st.sampled_from([True, True, False]),
)


@examples(10)
@given(st.lists(OPS, min_size=1, max_size=12), LLAMAS)
def test_no_schedule_loses_doubles_or_mixes_a_token(ops: list[Op], context: FakeLlama) -> None:
    """Contexts come, grow and go meanwhile."""
    run = Run(ops, context)
    run.play(None)
    context.backoff.set()
    check(run)
    while run.engine._worker is not None:
        threading.Event().wait(0.001)
    run.engine.release()
    assert context.closed
    for op, _, _ in run.asked[:4]:
        again, _ = ask(run.engine, op.prompt, op.adapter, max_tokens=op.max_tokens)
        again.finished()
        assert again.text == alone(op.prompt, op.adapter, op.max_tokens, context.n_ctx)[0]
    run.engine.close()
    assert context.closed
    assert run.engine.counters.evaluated == sum(len(rows) for _, rows in context.batches)


def check(run: Run) -> None:
    place = 0
    while place < len(run.asked):
        op, listener, answer = run.asked[place]
        finished = listener.finished()
        text, reason = alone(op.prompt, op.adapter, op.max_tokens, run.context.n_ctx)
        if finished.reason == "cancelled":
            assert answer.cancelled
            assert text.startswith(listener.text.rstrip("\ufffd"))
        else:
            assert (listener.text, finished.reason) == (text, reason)
        place += 1
    for score in run.scores:
        assert score.result(SECONDS)


def test_an_idle_engine_gives_its_context_back_and_goes_on_from_what_is_parked() -> None:
    context = FakeLlama(n_ctx=64)
    context.backoff.set()
    engine = Engine(context.cache(), FakeVocabulary(), no_sampler, n_batch=8, idle_seconds=0.01)
    ask(engine, range(1, 39), max_tokens=1)[0].finished()
    end = time.monotonic() + SECONDS
    while not context.closed:
        assert time.monotonic() < end
        time.sleep(0.001)
    assert ask(engine, range(1, 40), max_tokens=1)[0].finished().reused_tokens == 38
    engine.close()


def test_a_conversation_that_finds_no_memory_is_told_so_and_others_go_on() -> None:
    context = FakeLlama(n_ctx=48, smallest=8, memory=30)
    context.backoff.set()
    engine = make_engine(context)
    listener, _ = ask(engine, range(1, 39), max_tokens=1)
    assert listener.ended.wait(SECONDS)
    assert isinstance(listener.last, ModelError)
    assert "not enough memory for a conversation of 39 tokens; set a smaller n_ctx" in str(listener.last)
    assert ask(engine, [5, 6, 7], max_tokens=4)[0].finished().prompt_tokens == 3
