"""This project's engine, as `ChatLlamaCpp` uses it."""

import queue
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.bindings import llama_cpp
from rolellm_agents.models.llamacpp.engine.context import LlamaContext
from rolellm_agents.models.llamacpp.engine.engine import Engine
from rolellm_agents.models.llamacpp.engine.jobs import Finished, StreamItem
from rolellm_agents.models.llamacpp.engine.kv_cache import CacheLimits, KVCache
from rolellm_agents.models.llamacpp.engine.sampling import Sampler, Sampling
from rolellm_agents.models.llamacpp.engine.threads import AdaptiveThreads
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.tuning.settings import tuning_for
from rolellm_speed.engine.system import EngineTask, SpokenTurn, together_rate


def open_engine(job: EngineTask) -> "Ours":
    """Load the model."""
    return Ours(job)


class Ours:
    """This project's `EngineUnderTest`."""

    def __init__(self, job: EngineTask) -> None:
        """Load the model with the settings calibrated for it, or the defaults."""
        self.at_once = job.sequences
        self.features = library.features()
        self._model = LlamaModel(Path(job.weights))
        self._tuning = tuning_for(Path(job.weights))
        self._threads = AdaptiveThreads(job.threads)
        room = job.sequences * job.n_ctx
        limits = CacheLimits(n_ctx=job.n_ctx, slots=job.sequences, idle=room, parked=room)
        # Twice the size, because a move to a larger context keeps both in memory.
        cache = KVCache(self._make_context, limits, free_cells=lambda: 2 * room)
        sampler = _EndlessSampler(self._model)
        self._engine = Engine(cache, _NumberVocabulary(), lambda *_: sampler, n_batch=self._tuning.n_batch)
        self._evaluated = 0

    def turn(self, character: int, prompt: Sequence[int], n: int) -> SpokenTurn:
        """Generate one line."""
        ((tokens, moments),), began = self._ask([prompt], n)
        counted = self._engine.counters
        evaluated, self._evaluated = counted.evaluated - self._evaluated - (n - 1), counted.evaluated
        return SpokenTurn(tokens, moments[0] - began, evaluated)

    def between(self, heard: Sequence[Sequence[int]]) -> None:
        """Prefetch all characters' next prompts, as a chat does while a person reads."""
        for reading in [self._engine.prefetch(tokens) for tokens in heard]:
            while not reading.done:
                time.sleep(0.001)

    def decode_together(self, prompts: Sequence[Sequence[int]], n: int) -> float:
        """Submit all prompts at once."""
        answers, _ = self._ask(prompts, n)
        return together_rate([moments for _, moments in answers], n)

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _make_context(self, slots: int, cells: int) -> LlamaContext:
        return LlamaContext(
            self._model, n_ctx=cells, sequences=slots, tuning=self._tuning, threads=self._threads
        )

    def _ask(
        self, prompts: Sequence[Sequence[int]], n: int
    ) -> tuple[list[tuple[list[int], list[float]]], float]:
        """The tokens of each answer with their arrival times, and the time of the requests."""
        began = time.perf_counter()
        collectors = [_AnswerCollector() for _ in prompts]
        for collector, prompt in zip(collectors, prompts, strict=True):
            self._engine.submit(prompt, Sampling(temperature=0, max_tokens=n), collector.add)
        return [collector.result() for collector in collectors], began


class _AnswerCollector:
    """Collects the parts of one answer with their arrival times."""

    def __init__(self) -> None:
        self._parts: queue.SimpleQueue[tuple[StreamItem, float]] = queue.SimpleQueue()

    def add(self, part: StreamItem) -> None:
        self._parts.put((part, time.perf_counter()))

    def result(self) -> tuple[list[int], list[float]]:
        tokens: list[int] = []
        moments: list[float] = []
        while True:
            part, moment = self._parts.get()
            if isinstance(part, Finished):
                return tokens, moments
            if not isinstance(part, str):
                raise part
            tokens += map(int, part.split())
            moments.append(moment)


class _NumberVocabulary:
    """A vocabulary in which a token's text is its number, and without end tokens."""

    def bytes_of(self, token: int) -> bytes:
        return f"{token} ".encode()

    def is_end(self, token: int) -> bool:
        return False


class _EndlessSampler(Sampler):
    """Chooses the most probable token that is not an end token."""

    def __init__(self, model: LlamaModel) -> None:
        """Collect the end tokens; no llama.cpp sampler is needed."""
        self._n_vocabulary = model.n_vocabulary
        self._ends = [token for token in range(model.n_vocabulary) if model.is_end(token)]

    def choose(self, context: Any, row: int) -> int:
        """See `Sampler`."""
        pointer = llama_cpp.llama_get_logits_ith(context, row)
        logits = np.ctypeslib.as_array(pointer, shape=(self._n_vocabulary,))
        logits[self._ends] = -np.inf
        return int(logits.argmax())
