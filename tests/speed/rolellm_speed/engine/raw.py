"""A minimal loop over llama.cpp's C functions: the upper bound for Python code on the same build.

Each character has its own sequence in the KV cache, only new tokens are computed, and the settings are the
best known. There are no samplers, no queue and no text.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.engine.context import CACHE_TYPES
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_speed.engine.system import EngineTask, SpokenTurn, together_rate
from rolellm_speed.engine.workload import shared_prefix

_BATCH = 512


def open_engine(job: EngineTask) -> "RawLoop":
    """Load the model."""
    return RawLoop(job)


class RawLoop:
    """The minimal `EngineUnderTest`."""

    def __init__(self, job: EngineTask) -> None:
        """Load the model and allocate the context."""
        self.at_once = job.sequences
        self.features = library.features()
        self._model = LlamaModel(Path(job.weights))
        self._ends = [token for token in range(self._model.n_vocabulary) if self._model.is_end(token)]
        self._context = llama_cpp.llama_init_from_model(self._model.handle, _context_params(job))
        if not self._context:
            raise ModelError(f"There is no memory for {job.sequences} × {job.n_ctx:,} tokens of context.")
        self._batch = llama_cpp.llama_batch_init(_BATCH, 0, 1)
        self._held: list[list[int]] = [[] for _ in range(job.sequences)]

    def turn(self, character: int, prompt: Sequence[int], n: int) -> SpokenTurn:
        """Prefill the new part of the prompt, then decode token by token."""
        began = time.perf_counter()
        evaluated, row = self._read(character, prompt)
        tokens = [self._choose(row)]
        first = time.perf_counter() - began
        while len(tokens) < n:
            self._decode([(character, tokens[-1])])
            tokens.append(self._choose(0))
        return SpokenTurn(tokens, first, evaluated)

    def between(self, heard: Sequence[Sequence[int]]) -> None:
        """Do nothing, because prefilling earlier would take the same time."""

    def decode_together(self, prompts: Sequence[Sequence[int]], n: int) -> float:
        """Decode all prompts in one batch per step, with one row for each prompt."""
        for sequence, prompt in enumerate(prompts):
            self._read(sequence, prompt[:-1])
        last = [prompt[-1] for prompt in prompts]
        moments = []
        for _ in range(n):
            self._decode(list(enumerate(last)))
            last = [self._choose(row) for row in range(len(prompts))]
            moments.append(time.perf_counter())
        return together_rate([moments] * len(prompts), n)

    def close(self) -> None:
        """Free the context."""
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self._context)
        self._model.close()

    def _read(self, sequence: int, prompt: Sequence[int]) -> tuple[int, int]:
        """Prefill a prompt; returns the number of computed tokens and the row of the answer's logits."""
        held = self._held[sequence]
        # The last token is always computed, because the answer needs its logits.
        common = min(shared_prefix(held, prompt), len(prompt) - 1)
        if common < len(held):
            memory = llama_cpp.llama_get_memory(self._context)
            llama_cpp.llama_memory_seq_rm(memory, sequence, common, -1)
            del held[common:]
        new = prompt[common:]
        for start in range(0, len(new), _BATCH):
            part = new[start : start + _BATCH]
            self._decode([(sequence, token) for token in part], all_wanted=False)
        return len(new), len(part) - 1

    def _decode(self, rows: Sequence[tuple[int, int]], *, all_wanted: bool = True) -> None:
        """Append a token to each row's sequence; compute logits for all rows, or for the last one only."""
        batch = self._batch
        batch.n_tokens = len(rows)
        for place, (sequence, token) in enumerate(rows):
            held = self._held[sequence]
            batch.token[place] = token
            batch.pos[place] = len(held)
            batch.seq_id[place][0] = sequence
            batch.n_seq_id[place] = 1
            batch.logits[place] = all_wanted or place == len(rows) - 1
            held.append(token)
        failed = llama_cpp.llama_decode(self._context, batch)
        if failed:
            raise ModelError(f"llama.cpp failed (code {failed}): {library.LOG.first_error()}")

    def _choose(self, row: int) -> int:
        pointer = llama_cpp.llama_get_logits_ith(self._context, row)
        logits = np.ctypeslib.as_array(pointer, shape=(self._model.n_vocabulary,))
        logits[self._ends] = -np.inf
        return int(logits.argmax())


def _context_params(job: EngineTask) -> Any:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = job.n_ctx * job.sequences
    params.n_seq_max = job.sequences
    params.kv_unified = False
    params.n_batch = params.n_ubatch = _BATCH
    params.n_threads = params.n_threads_batch = job.threads
    params.flash_attn_type = (
        llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        if job.flash_attention
        else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    params.type_k = params.type_v = CACHE_TYPES[job.cache_type]
    return params
