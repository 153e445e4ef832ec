"""The engine: many conversations stay in one KV cache, and all running requests share its batches.

A single worker thread computes. It starts with the first request and ends when no job is left. All public
methods are thread-safe, because they only put jobs into the inbox. See `docs/design/engine.md`.
"""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from rolellm_agents.errors import ContextLengthError, ModelError
from rolellm_agents.models.llamacpp.engine.context import BatchToken
from rolellm_agents.models.llamacpp.engine.jobs import (
    AnswerJob,
    Job,
    NeutralJob,
    PrefillJob,
    ScoringJob,
    StreamItem,
    Vocabulary,
)
from rolellm_agents.models.llamacpp.engine.kv_cache import CachedSequence, KVCache, common_prefix
from rolellm_agents.models.llamacpp.engine.planning import Pending, PrefillPace, plan
from rolellm_agents.models.llamacpp.engine.prompt_cache import PromptCache
from rolellm_agents.models.llamacpp.engine.sampling import Sampler, Sampling
from rolellm_agents.models.prefill import PrefillProgress

_MIN_RESTORED = 32
"""The fewest tokens for which a prefix is loaded from the prompt cache."""
_MIN_SHARED = 64
"""A job waits for another job that is computing at least so many tokens of the same prefix."""

SamplerFactory = Callable[[Sampling, Sequence[int]], Sampler]
"""Creates the sampler of one answer from its settings and the prompt."""


@dataclass(frozen=True)
class Counters:
    """The engine's work so far, in tokens unless said otherwise."""

    requests: int = 0
    steps: int = 0
    prompt: int = 0
    reused: int = 0
    """Tokens of `prompt` that were in the KV cache or in the prompt cache."""
    evaluated: int = 0
    """Prefilled and decoded tokens."""
    generated: int = 0
    prefetched: int = 0
    """Tokens of `evaluated` that were prefetched before a request."""
    evicted: int = 0
    """Evicted sequences."""
    loaded: int = 0
    """Prefixes loaded from the prompt cache."""


class Engine:
    """Schedules requests of any thread over one KV cache."""

    def __init__(
        self,
        cache: KVCache,
        vocabulary: Vocabulary,
        make_sampler: SamplerFactory,
        prompt_cache: PromptCache | None = None,
        *,
        n_batch: int = 256,
        idle_seconds: float = 60.0,
    ) -> None:
        """Take ownership of `cache`.

        Args:
            cache: the sequences.
            vocabulary: maps tokens to text.
            make_sampler: creates a sampler for each answer.
            prompt_cache: stores prompt prefixes on disk; None stores none.
            n_batch: the maximum number of tokens of one step; the cache's contexts must allow as many.
            idle_seconds: seconds without a request after which the context's memory is freed.
        """
        self.counters = Counters()
        self._cache = cache
        self._vocabulary = vocabulary
        self._make_sampler = make_sampler
        self._prompt_cache = prompt_cache
        self._n_batch = n_batch
        self._pace = PrefillPace()
        self._idle_seconds = idle_seconds
        self._idle_timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._inbox: list[Job] = []
        self._worker: threading.Thread | None = None
        self._closed = False
        self._waiting: list[Job] = []
        self._running: list[Job] = []
        self._submitted = 0

    def submit(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        on_item: Callable[[StreamItem], None],
        *,
        on_prefill: Callable[[PrefillProgress], object] | None = None,
        adapter: str | None = None,
        cacheable: int = 0,
        neutral: Sequence[int] = (),
    ) -> AnswerJob:
        """Request an answer.

        Args:
            prompt: at least one token, fewer than the context holds.
            sampling: sampling parameters and stopping criteria.
            on_item: called in the engine's thread with each piece of text, then with a `Finished` or an
                error; no piece ends inside a character or contains a part of a stop string.
            on_prefill: called in the engine's thread while the prompt is computed, if that takes longer
                than half a second.
            adapter: LoRA weights for this request, by `LlamaModel.load_adapter`'s name.
            cacheable: length of the prompt's prefix that belongs into the prompt cache.
            neutral: a prompt with which the answer is contrasted; empty for none.

        Returns:
            The job, whose `cancel` ends the answer.

        Raises:
            ModelError: a prompt does not fit, the grammar is invalid, the engine is closed, or has only one
                sequence for an answer with contrast.
        """
        self._check_length(prompt)
        if neutral:
            self._check_length(neutral)
            if self._cache.limits.slots < 2:
                raise ModelError(
                    "An answer with contrast needs two sequences; set sequences to 2 or more, or to 0."
                )
        answer = AnswerJob(
            prompt,
            adapter,
            sampling=sampling,
            sampler=self._make_sampler(sampling, prompt),
            vocabulary=self._vocabulary,
            n_ctx=self._cache.limits.n_ctx,
            on_item=on_item,
            on_prefill=on_prefill,
            cacheable=cacheable,
            neutral=neutral,
        )
        self._enqueue(answer)
        return answer

    def prefetch(
        self, tokens: Sequence[int], *, adapter: str | None = None, cacheable: int = 0
    ) -> PrefillJob:
        """Prefill `tokens` while no request is pending; the job's `cancel` stops it.

        `adapter` and `cacheable` are as for `submit`.

        Raises:
            ModelError: the tokens do not fit into the context, or the engine is closed.
        """
        self._check_length(tokens)
        job = PrefillJob(tokens, adapter, cacheable=cacheable)
        self._enqueue(job)
        return job

    def score(
        self, prompt: Sequence[int], continuation: Sequence[int], *, adapter: str | None = None
    ) -> Future[list[float]]:
        """The natural logarithm of each continuation token's probability, given all tokens before it.

        Raises:
            ModelError: one of the two is empty, they do not fit, or the engine is closed.
        """
        if not prompt or not continuation:
            raise ModelError("A score needs a prompt and a continuation of at least one token each.")
        self._check_length([*prompt, *continuation])
        scoring = ScoringJob(prompt, continuation, adapter)
        self._enqueue(scoring)
        return scoring.result

    def close(self) -> None:
        """Cancel all jobs and free the memory."""
        with self._lock:
            self._closed = True
            worker = self._worker
            if self._idle_timer:
                self._idle_timer.cancel()
        if worker and worker is not threading.current_thread():
            worker.join()
        self._cache.close()

    def release(self) -> None:
        """Free the context if nothing runs; its sequences are parked."""
        with self._lock:
            if self._worker is None and not self._closed:
                self._cache.release()

    # Called from any thread

    def _check_length(self, tokens: Sequence[int]) -> None:
        if not 0 < len(tokens) < self._cache.limits.n_ctx:
            raise ContextLengthError(
                f"A prompt of {len(tokens):,} tokens does not fit into a context of "
                f"{self._cache.limits.n_ctx:,}; shorten it, or set a larger n_ctx."
            )

    def _enqueue(self, job: Job) -> None:
        with self._lock:
            if self._closed:
                raise ModelError("The model is closed; load it again.")
            self._number(job)
            if isinstance(job, AnswerJob) and job.neutral:
                self._number(job.neutral)
            self._inbox.append(job)
            if self._idle_timer:
                self._idle_timer.cancel()
            if self._worker is None:
                self._worker = threading.Thread(target=self._run, name="llama.cpp")
                self._worker.start()

    def _number(self, job: Job) -> None:
        self._submitted += 1
        job.number = self._submitted

    # Called from the worker thread

    def _run(self) -> None:
        try:
            while self._drain_inbox():
                self._drop_cancelled()
                self._admit()
                self._reserve()
                self._gather()
                if self._running:
                    self._step()
        except BaseException as error:
            self._fail_all(error)
            raise

    def _fail_all(self, error: BaseException) -> None:
        """Fail every job, so that no caller waits forever."""
        with self._lock:
            self._closed = True
            jobs = [*self._inbox, *self._waiting, *self._running]
        for job in jobs:
            job.fail(ModelError(f"The engine failed ({error!r}); please report it."))

    def _drain_inbox(self) -> bool:
        """Move new jobs to the waiting queue; return False, and end the worker, if there is no job."""
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
                # A weak reference, because a timer must not keep an unused model in memory.
                self._idle_timer = threading.Timer(self._idle_seconds, _release, [weakref.ref(self)])
                self._idle_timer.daemon = True
                # If no thread can be started, the memory stays allocated, which does no other harm.
                with contextlib.suppress(RuntimeError):
                    self._idle_timer.start()
            return False

    def _drop_cancelled(self) -> None:
        for job in (*self._waiting, *self._running):
            if job.cancelled and not job.done:
                job.end()
        self._remove_done()

    def _remove_done(self) -> None:
        self._waiting = [job for job in self._waiting if not job.done]
        self._running = [
            job
            for job in self._running
            if not (job.done or (isinstance(job, NeutralJob) and job.answer.done))
        ]

    def _admit(self) -> None:
        """Start waiting jobs as far as there are sequences, urgent ones first."""
        for job in sorted(self._waiting, key=lambda job: (not job.urgent, job.number)):
            if isinstance(job, PrefillJob) and self._cache.cached_prefix(job.tokens, job.adapter) == len(
                job.tokens
            ):
                job.end()
                continue
            if self._waits_for_prefix(job):
                continue
            try:
                sequence = self._acquire_sequence(job)
            except ModelError as error:
                job.fail(error)
                continue
            if sequence is None:
                break
            self._start(job, sequence)
            self._running.append(job)
            if isinstance(job, AnswerJob):
                if job.neutral and not self._admit_neutral(job, job.neutral):
                    break
                self._count_up(requests=1, prompt=len(job.tokens), reused=job.reused)
            if not job.remaining:  # restored completely from the prompt cache
                job.end()
        self._waiting = [job for job in self._waiting if not job.done and job.is_waiting]
        self._remove_done()

    def _admit_neutral(self, answer: AnswerJob, neutral: NeutralJob) -> bool:
        """Start the neutral prompt of an answer that was just started.

        Without a sequence for it, the answer waits again, so that two such answers never wait for each
        other.
        """
        try:
            sequence = self._acquire_sequence(neutral)
        except ModelError as error:
            answer.fail(error)
            return True
        if sequence is None:
            self._running.remove(answer)
            answer.wait_again()
            return False
        self._start(neutral, sequence)
        self._running.append(neutral)
        return True

    def _waits_for_prefix(self, job: Job) -> bool:
        """Whether a running job is computing a long prefix of this prompt, which can be copied soon."""
        if (
            job.prefix_source is not None
            and not job.prefix_source.done
            and job.prefix_source.computed < job.shared_prefix
        ):
            return True
        beginning = job.tokens[:_MIN_SHARED]
        for other in self._running:
            readable = other.adapter == job.adapter and (other.urgent or not job.urgent)
            if readable and other.tokens[:_MIN_SHARED] == beginning:
                shared = common_prefix(other.tokens, job.tokens)
                known = max(other.computed, self._cache.cached_prefix(job.tokens, job.adapter))
                if shared - known >= _MIN_SHARED:
                    job.prefix_source, job.shared_prefix = other, shared
                    return True
        job.prefix_source = None  # a running job must not keep another one in memory
        return False

    def _acquire_sequence(self, job: Job) -> CachedSequence | None:
        """A sequence for a job, if one is free; an urgent job may take a prefetch's."""
        evicted = self._cache.evicted
        sequence = self._cache.acquire(
            job.tokens[: job.first_logits],
            job.adapter,
            length=job.max_length,
            busy=[other.sequence for other in self._running if other.urgent or not job.urgent],
            demand=sum(other.urgent for other in (*self._running, *self._waiting)),
        )
        self._count_up(evicted=self._cache.evicted - evicted)
        for other in self._running:
            if other.sequence is sequence or other.sequence.slot is None:
                other.end()
        self._recompute_lost()
        return sequence

    def _reserve(self) -> None:
        """Grow the context for constrained answers that exceed their limit."""
        for job in self._running:
            try:
                self._cache.reserve(
                    job.sequence, len(job.tokens), [other.sequence for other in self._running]
                )
            except ModelError as error:
                job.fail(error)
        self._recompute_lost()
        self._remove_done()

    def _gather(self) -> None:
        """Bring the running sequences together, which llama.cpp then computes in one piece.

        What is read ahead has many tokens for each step, for which a move saves little.
        """
        self._cache.gather([job.sequence for job in self._running if job.urgent])
        self._recompute_lost()

    def _recompute_lost(self) -> None:
        """Recompute lost sequences: some models' states do not fit a context of another size."""
        for job in self._running:
            if len(job.sequence.tokens) < job.computed:
                job.recompute_from(len(job.sequence.tokens))

    def _start(self, job: Job, sequence: CachedSequence) -> None:
        """Run the job in a sequence that holds a prefix of its tokens."""
        job.sequence = sequence
        self._restore_prefix(job, sequence)
        job.computed = job.reused = len(sequence.tokens)

    def _restore_prefix(self, job: Job, sequence: CachedSequence) -> None:
        """Load the prompt's cacheable prefix from disk if that saves prefill, or plan to save it there."""
        if self._prompt_cache is None or job.cacheable - len(sequence.tokens) < _MIN_RESTORED:
            return
        cacheable = job.tokens[: job.cacheable]
        state = self._prompt_cache.load(cacheable, job.adapter)
        if state is None:
            job.checkpoint = job.cacheable
        elif self._cache.load(sequence, cacheable, state):
            self._count_up(loaded=1)
        else:
            self._prompt_cache.discard(cacheable, job.adapter)

    def _step(self) -> None:
        """Compute one batch and process its logits."""
        pending = [
            Pending(job.number, job.remaining, job.adapter, job.urgent, job.last_step)
            for job in self._running
            if job.remaining
        ]
        shares = plan(pending, self._n_batch, self._pace.chunk)
        # In the order of slots, because llama.cpp computes neighbouring slots together.
        served = sorted((job for job in self._running if job.number in shares), key=_slot)
        rows = [row for job in served for row in _rows(job, shares[job.number])]
        started = time.perf_counter()
        try:
            self._cache.context.decode(rows, served[0].adapter)
        except ModelError as error:
            for job in served:
                self._cache.truncate(job.sequence, 0)
                job.fail(error)
            return
        self._pace.update(len(rows), time.perf_counter() - started)
        self._count_up(
            steps=1,
            evaluated=len(rows),
            prefetched=sum(shares[job.number] for job in served if not job.urgent),
        )
        first_row = 0
        for job in served:
            self._process_results(job, shares[job.number], first_row)
            first_row += shares[job.number]

    def _process_results(self, job: Job, count: int, first_row: int) -> None:
        """Advance the job by `count` tokens, whose rows in the last batch begin at `first_row`."""
        begin, end = job.computed, job.computed + count
        job.sequence.tokens += job.tokens[begin:end]
        self._cache.touch(job.sequence)
        job.computed, job.last_step = end, self.counters.steps
        job.report_prefill()
        if end == job.checkpoint and self._prompt_cache is not None:
            self._prompt_cache.keep(job.tokens[:end], job.adapter, self._cache.save(job.sequence))
        try:
            for position in range(max(begin, job.first_logits), end):
                job.process_logits(self._cache.context, first_row + position - begin)
                self._count_up(generated=isinstance(job, AnswerJob))
        except ModelError as error:
            job.fail(error)
        if not job.done and not job.remaining and not job.is_paused:
            job.end()

    def _count_up(self, **increments: int) -> None:
        now = self.counters
        self.counters = replace(now, **{name: getattr(now, name) + n for name, n in increments.items()})


def _rows(job: Job, count: int) -> list[BatchToken]:
    return [
        BatchToken(job.tokens[position], position, _slot(job), position >= job.first_logits)
        for position in range(job.computed, job.computed + count)
    ]


def _slot(job: Job) -> int:
    if job.sequence.slot is None:
        raise RuntimeError("a running job has no slot")
    return job.sequence.slot


def _release(engine: "weakref.ref[Engine]") -> None:
    if (found := engine()) is not None:
        found.release()
