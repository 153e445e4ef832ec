"""The engine: many conversations stay in one KV cache, and all running requests share its batches.

One thread at a time computes; it begins with the first request and ends when nothing is left to do.
Everything else, from any thread, only puts jobs into the inbox. `docs/design/engine.md` explains it.
"""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.engine.context import BatchToken
from rolellm_agents.models.llamacpp.engine.jobs import (
    AnswerJob,
    Job,
    PrefillJob,
    ScoringJob,
    StreamItem,
    Vocabulary,
)
from rolellm_agents.models.llamacpp.engine.kv_cache import CachedSequence, KVCache, common_prefix
from rolellm_agents.models.llamacpp.engine.planning import Pending, ReadingPace, plan
from rolellm_agents.models.llamacpp.engine.prompt_cache import PromptCache
from rolellm_agents.models.llamacpp.engine.sampling import Sampler, Sampling

_WORTH_LOADING = 32
"""A prefix on disk must save at least so many tokens."""
_WORTH_WAITING = 64
"""A prompt waits for another one that reads so many tokens of it, and then copies them."""

MakeSampler = Callable[[Sampling, Sequence[int]], Sampler]
"""Makes a sampler for one answer to a prompt."""


@dataclass(frozen=True)
class Counters:
    """What the engine has done so far, in tokens where nothing else is said."""

    requests: int = 0
    steps: int = 0
    prompt: int = 0
    reused: int = 0
    """Of `prompt`: those that were in the KV cache or on disk."""
    evaluated: int = 0
    """Computed, for prompts and answers and ahead of them."""
    generated: int = 0
    read_ahead: int = 0
    """Of `evaluated`: for nobody yet."""
    evicted: int = 0
    """Sequences that had to make room."""
    loaded: int = 0
    """Prefixes taken from disk."""


class Engine:
    """Requests in, text out; see the module."""

    def __init__(
        self,
        cache: KVCache,
        vocabulary: Vocabulary,
        make_sampler: MakeSampler,
        prompt_cache: PromptCache | None = None,
        *,
        n_batch: int = 256,
        idle_seconds: float = 60.0,
    ) -> None:
        """Use `cache`, which nobody else may touch from now on.

        Args:
            cache: where sequences are kept.
            vocabulary: what tokens mean.
            make_sampler: makes a sampler for each answer.
            prompt_cache: the beginnings of prompts on disk, if they are kept.
            n_batch: tokens computed in one step, as the cache's contexts allow.
            idle_seconds: after so long without a request the context's memory is given back.
        """
        self.counters = Counters()
        self._cache = cache
        self._vocabulary = vocabulary
        self._make_sampler = make_sampler
        self._prompt_cache = prompt_cache
        self._n_batch = n_batch
        self._pace = ReadingPace()
        self._idle_seconds = idle_seconds
        self._idle_timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._inbox: list[Job] = []
        self._worker: threading.Thread | None = None
        self._closed = False
        self._waiting: list[Job] = []
        self._running: list[Job] = []
        self._count = 0

    def submit(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        hear: Callable[[StreamItem], None],
        *,
        adapter: str | None = None,
        fixed: int = 0,
    ) -> AnswerJob:
        """Ask for an answer; it can be cancelled by its `cancel`.

        Args:
            prompt: at least one token, fewer than the context holds.
            sampling: how tokens are chosen and when to end.
            hear: called in the engine's thread with each piece of text, then with a `Finished` or an
                error; no piece ends inside a character, and no part of a stop string is told.
            adapter: LoRA weights, for this request only, by `LlamaModel.load_adapter`'s name.
            fixed: how many of the prompt's first tokens will come again and are worth keeping on disk.

        Raises:
            ModelError: the prompt does not fit, the grammar cannot be read, or the engine is closed.
        """
        self._check_length(prompt)
        answer = AnswerJob(
            prompt,
            adapter,
            sampling=sampling,
            sampler=self._make_sampler(sampling, prompt),
            vocabulary=self._vocabulary,
            n_ctx=self._cache.limits.n_ctx,
            hear=hear,
            fixed=fixed,
        )
        self._put(answer)
        return answer

    def prefetch(self, tokens: Sequence[int], *, adapter: str | None = None, fixed: int = 0) -> PrefillJob:
        """Read `tokens` ahead while nobody waits for anything; it can be cancelled by its `cancel`.

        `adapter` and `fixed` are as for `submit`.

        Raises:
            ModelError: they do not fit into the context, or the engine is closed.
        """
        self._check_length(tokens)
        reading = PrefillJob(tokens, adapter, fixed=fixed)
        self._put(reading)
        return reading

    def score(
        self, prompt: Sequence[int], continuation: Sequence[int], *, adapter: str | None = None
    ) -> Future[list[float]]:
        """The natural logarithm of each continuation token's probability, given all before it.

        Raises:
            ModelError: one of the two is empty, they do not fit, or the engine is closed.
        """
        if not prompt or not continuation:
            raise ModelError("A score needs at least one token before and one to score.")
        self._check_length([*prompt, *continuation])
        scoring = ScoringJob(prompt, continuation, adapter)
        self._put(scoring)
        return scoring.result

    def close(self) -> None:
        """Cancel what is running, and give the memory back."""
        with self._lock:
            self._closed = True
            worker = self._worker
            if self._idle_timer:
                self._idle_timer.cancel()
        if worker and worker is not threading.current_thread():
            worker.join()
        self._cache.close()

    def release(self) -> None:
        """Give the context's memory back if nothing runs; what was read of conversations is parked."""
        with self._lock:
            if self._worker is None and not self._closed:
                self._cache.release()

    # Taking in

    def _check_length(self, tokens: Sequence[int]) -> None:
        if not 0 < len(tokens) < self._cache.limits.n_ctx:
            raise ModelError(
                f"A prompt of {len(tokens):,} tokens does not fit into a context of "
                f"{self._cache.limits.n_ctx:,}; shorten it, or set a larger n_ctx."
            )

    def _put(self, job: Job) -> None:
        with self._lock:
            if self._closed:
                raise ModelError("The model is closed; get it anew.")
            self._count += 1
            job.number = self._count
            self._inbox.append(job)
            if self._idle_timer:
                self._idle_timer.cancel()
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="llama.cpp")
                self._worker.start()

    # The worker's own

    def _work(self) -> None:
        try:
            while self._take_in():
                self._drop_cancelled()
                self._admit()
                self._reserve()
                if self._running:
                    self._step()
        except BaseException as error:
            self._break_down(error)
            raise

    def _break_down(self, error: BaseException) -> None:
        """Nobody may wait forever for what can no longer come."""
        with self._lock:
            self._closed = True
            jobs = [*self._inbox, *self._waiting, *self._running]
        for job in jobs:
            job.fail(ModelError(f"The engine broke down ({error!r}); please report it."))

    def _take_in(self) -> bool:
        """Whether there is something to do; if not, the worker ends."""
        with self._lock:
            self._waiting += self._inbox
            self._inbox.clear()
            if self._closed or not threading.main_thread().is_alive():
                for job in (*self._waiting, *self._running):
                    job.cancel()
            if self._waiting or self._running:
                return True
            self._worker = None
            if not self._closed:
                # By a weak reference: a timer must not keep a forgotten model in memory.
                self._idle_timer = threading.Timer(self._idle_seconds, _release, [weakref.ref(self)])
                self._idle_timer.daemon = True
                # Where no thread can be started, the memory stays taken, which is no reason to break down.
                with contextlib.suppress(RuntimeError):
                    self._idle_timer.start()
            return False

    def _drop_cancelled(self) -> None:
        for job in (*self._waiting, *self._running):
            if job.cancelled and not job.done:
                job.end()
        self._forget_done()

    def _forget_done(self) -> None:
        self._waiting = [job for job in self._waiting if not job.done]
        self._running = [job for job in self._running if not job.done]

    def _admit(self) -> None:
        """Give waiting jobs a sequence, those somebody waits for first."""
        for job in sorted(self._waiting, key=lambda job: (not job.urgent, job.number)):
            if isinstance(job, PrefillJob) and self._cache.known(job.tokens, job.adapter) == len(
                job.tokens
            ):
                job.end()
                continue
            if self._is_being_read(job):
                continue
            try:
                sequence = self._take_sequence(job)
            except ModelError as error:
                job.fail(error)
                continue
            if sequence is None:
                break
            self._settle(job, sequence)
            self._running.append(job)
            if not job.unread:  # all of it came from disk
                job.end()
        self._waiting = [job for job in self._waiting if not job.done and job.is_waiting]
        self._forget_done()

    def _is_being_read(self, job: Job) -> bool:
        """Whether another job is reading a long beginning of this one's prompt, to be copied soon."""
        if job.reader is not None and not job.reader.done and job.reader.read < job.reader_shares:
            return True
        beginning = job.tokens[:_WORTH_WAITING]
        for other in self._running:
            readable = other.adapter == job.adapter and (other.urgent or not job.urgent)
            if readable and other.tokens[:_WORTH_WAITING] == beginning:
                shared = common_prefix(other.tokens, job.tokens)
                known = max(other.read, self._cache.known(job.tokens, job.adapter))
                if shared - known >= _WORTH_WAITING:
                    job.reader, job.reader_shares = other, shared
                    return True
        job.reader = None  # who reads waits for somebody else no more, and keeps nobody's tokens
        return False

    def _take_sequence(self, job: Job) -> CachedSequence | None:
        """A sequence for a job, if one is free; what is read ahead gives way to what somebody waits for."""
        evicted = self._cache.evicted
        sequence = self._cache.take(
            job.tokens[: job.first_wanted],
            job.adapter,
            room=job.room,
            busy=[other.sequence for other in self._running if other.urgent or not job.urgent],
            wanted=sum(other.urgent for other in (*self._running, *self._waiting)),
        )
        self._note(evicted=self._cache.evicted - evicted)
        for other in self._running:
            if other.sequence is sequence or other.sequence.slot is None:
                other.end()
        self._read_what_was_lost()
        return sequence

    def _reserve(self) -> None:
        """Let the context grow where an answer becomes longer than it was allowed to."""
        for job in self._running:
            try:
                self._cache.reserve(
                    job.sequence, len(job.tokens), [other.sequence for other in self._running]
                )
            except ModelError as error:
                job.fail(error)
        self._read_what_was_lost()
        self._forget_done()

    def _read_what_was_lost(self) -> None:
        """Some models' states do not move to a context of another size."""
        for job in self._running:
            if len(job.sequence.tokens) < job.read:
                job.read_again(len(job.sequence.tokens))

    def _settle(self, job: Job, sequence: CachedSequence) -> None:
        """Compute the job in a sequence that holds what they share."""
        job.sequence = sequence
        self._load_fixed(job, sequence)
        job.read = job.reused = len(sequence.tokens)
        if isinstance(job, AnswerJob):
            self._note(requests=1, prompt=len(job.tokens), reused=job.reused)

    def _load_fixed(self, job: Job, sequence: CachedSequence) -> None:
        """Take the prompt's fixed part from disk if that spares reading, or note that it goes there."""
        if self._prompt_cache is None or job.fixed - len(sequence.tokens) < _WORTH_LOADING:
            return
        fixed = job.tokens[: job.fixed]
        state = self._prompt_cache.load(fixed, job.adapter)
        if state is None:
            job.stop_at = job.fixed
        elif self._cache.load(sequence, fixed, state):
            self._note(loaded=1)
        else:
            self._prompt_cache.discard(fixed, job.adapter)

    def _step(self) -> None:
        """Compute one batch and hand out what came of it."""
        pending = [
            Pending(job.number, job.unread, job.adapter, job.urgent, job.last_step) for job in self._running
        ]
        shares = plan(pending, self._n_batch, self._pace.chunk)
        # In the order of slots: llama.cpp computes neighbours at once.
        served = sorted((job for job in self._running if job.number in shares), key=_slot)
        rows = [row for job in served for row in _rows(job, shares[job.number])]
        began = time.perf_counter()
        try:
            self._cache.context.decode(rows, served[0].adapter)
        except ModelError as error:
            for job in served:
                self._cache.truncate(job.sequence, 0)
                job.fail(error)
            return
        self._pace.note(len(rows), time.perf_counter() - began)
        self._note(
            steps=1,
            evaluated=len(rows),
            read_ahead=sum(shares[job.number] for job in served if not job.urgent),
        )
        first_row = 0
        for job in served:
            self._take_results(job, shares[job.number], first_row)
            first_row += shares[job.number]

    def _take_results(self, job: Job, count: int, first_row: int) -> None:
        """Move the job on past `count` tokens, which are rows of the last batch from `first_row` on."""
        begin, end = job.read, job.read + count
        job.sequence.tokens += job.tokens[begin:end]
        self._cache.touch(job.sequence)
        job.read, job.last_step = end, self.counters.steps
        if end == job.stop_at and self._prompt_cache is not None:
            self._prompt_cache.keep(job.tokens[:end], job.adapter, self._cache.save(job.sequence))
        try:
            for wanted in range(max(begin, job.first_wanted), end):
                job.take(self._cache.context, first_row + wanted - begin)
                self._note(generated=isinstance(job, AnswerJob))
        except ModelError as error:
            job.fail(error)
        if not job.done and not job.unread:
            job.end()

    def _note(self, **more: int) -> None:
        now = self.counters
        self.counters = replace(now, **{name: getattr(now, name) + count for name, count in more.items()})


def _rows(job: Job, count: int) -> list[BatchToken]:
    return [
        BatchToken(job.tokens[position], position, _slot(job), position >= job.first_wanted)
        for position in range(job.read, job.read + count)
    ]


def _slot(job: Job) -> int:
    if job.sequence.slot is None:
        raise RuntimeError("a running job has no slot")
    return job.sequence.slot


def _release(engine: "weakref.ref[Engine]") -> None:
    if (found := engine()) is not None:
        found.release()
