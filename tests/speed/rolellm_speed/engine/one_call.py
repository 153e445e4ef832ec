"""`llama_cpp.Llama` with one call per turn, like LangChain's wrapper, but without its overhead."""

import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

import llama_cpp
from llama_cpp import llama_cpp as functions

from rolellm_agents.models.llamacpp import library
from rolellm_speed.engine.system import EngineTask, SpokenTurn, together_rate


def open_engine(job: EngineTask) -> "OneCall":
    """Load the model."""
    if not library.repacking_is_safe():
        _forbid_repacking()
    return OneCall(job)


class OneCall:
    """An `EngineUnderTest` with one cached conversation, which is the limit of `Llama`."""

    at_once = 1

    def __init__(self, job: EngineTask) -> None:
        """Load the model with `Llama`'s default settings, except for threads and context."""
        self.features = library.features()
        self._llama = _CountingLlama(
            job.weights,
            n_ctx=job.n_ctx,
            n_threads=job.threads,
            n_threads_batch=job.threads,
            verbose=False,
        )

    def turn(self, character: int, prompt: Sequence[int], n: int) -> SpokenTurn:
        """Call `Llama.generate`, which continues after end tokens and reuses the last prompt's prefix."""
        began = time.perf_counter()
        before = self._llama.evaluated
        answer = self._llama.generate(prompt, temp=0)
        tokens = [next(answer)]
        first = time.perf_counter() - began
        evaluated = self._llama.evaluated - before
        tokens += islice(answer, n - 1)
        answer.close()
        return SpokenTurn(tokens, first, evaluated)

    def between(self, heard: Sequence[Sequence[int]]) -> None:
        """Do nothing, because `Llama` has no prefetch."""

    def decode_together(self, prompts: Sequence[Sequence[int]], n: int) -> float:
        """Decode one prompt; `Llama` supports no more."""
        (prompt,) = prompts
        answer = self._llama.generate(prompt, temp=0)
        moments = [time.perf_counter() for _ in islice(answer, n)]
        answer.close()
        return together_rate([moments], n)

    def close(self) -> None:
        """Free the model."""
        self._llama.close()


class _CountingLlama(llama_cpp.Llama):
    """Counts the computed tokens."""

    evaluated = 0

    def eval(self, tokens: Sequence[int]) -> None:
        self.evaluated += len(tokens)
        super().eval(tokens)


def _forbid_repacking() -> None:
    """Disable repacked weights, which crash with AMX; `Llama` has no option for this."""
    default_params = functions.llama_model_default_params

    def without_extra_buffers() -> Any:
        params = default_params()
        params.use_extra_bufts = False
        return params

    functions.llama_model_default_params = without_extra_buffers
