"""`llama_cpp.Llama`, one call a turn: what LangChain's wrapper does, without the wrapper's own work."""

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
    """A `Engine` that keeps one conversation at a time, which is all that `Llama` can."""

    at_once = 1

    def __init__(self, job: EngineTask) -> None:
        """Load the model with `Llama`'s own settings, but for the threads and the context."""
        self.features = library.features()
        self._llama = _CountingLlama(
            job.weights,
            n_ctx=job.n_ctx,
            n_threads=job.threads,
            n_threads_batch=job.threads,
            verbose=False,
        )

    def turn(self, character: int, prompt: Sequence[int], n: int) -> SpokenTurn:
        """`Llama.generate`, which goes on past end tokens; it keeps what begins like the last prompt."""
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
        """Nothing: it answers when called."""

    def decode_together(self, prompts: Sequence[Sequence[int]], n: int) -> float:
        """One prompt only."""
        (prompt,) = prompts
        answer = self._llama.generate(prompt, temp=0)
        moments = [time.perf_counter() for _ in islice(answer, n)]
        answer.close()
        return together_rate([moments], n)

    def close(self) -> None:
        """Free the model."""
        self._llama.close()


class _CountingLlama(llama_cpp.Llama):
    """Counts the tokens that are computed."""

    evaluated = 0

    def eval(self, tokens: Sequence[int]) -> None:
        self.evaluated += len(tokens)
        super().eval(tokens)


def _forbid_repacking() -> None:
    """`Llama` cannot be told, and with AMX it would crash; this process has no other use for them."""
    default_params = functions.llama_model_default_params

    def without_extra_buffers() -> Any:
        params = default_params()
        params.use_extra_bufts = False
        return params

    functions.llama_model_default_params = without_extra_buffers
