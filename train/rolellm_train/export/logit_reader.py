"""Logits after each token of a text, from llama.cpp; the engine computes only those after the last one."""

import ctypes
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.bindings import llama_cpp
from rolellm_agents.models.llamacpp.model import LlamaModel

_BATCH: Final = 512


class LogitReader:
    """A llama.cpp context with one sequence, for a model with or without an adapter."""

    def __init__(self, model: LlamaModel, adapter: Path | None, *, n_ctx: int) -> None:
        """Create a context of `n_ctx` tokens.

        Raises:
            ModelError: there is not enough memory, or the adapter does not fit the model.
        """
        self.model = model
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = n_ctx
        params.n_seq_max = 1
        params.n_batch = params.n_ubatch = _BATCH
        params.n_threads = params.n_threads_batch = library.processors()
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self._handle = llama_cpp.llama_init_from_model(model.handle, params)
        if not self._handle:
            raise ModelError(
                f"There is not enough memory for {n_ctx:,} tokens with {model.path.name}; free some."
            )
        self._batch = llama_cpp.llama_batch_init(_BATCH, 0, 1)
        weakref.finalize(self, llama_cpp.llama_batch_free, self._batch)
        # Keeps the model alive as long as its context.
        self.close = weakref.finalize(self, _free, self._handle, model)
        self._length = 0
        if adapter is not None:
            self._use(adapter)

    def logits(self, ids: Sequence[int], last: int) -> "np.ndarray":
        """Compute the logits after each of the last tokens of a text.

        Args:
            ids: the token ids of the text, at most as many as the context holds.
            last: the number of last tokens.

        Returns:
            An array of 32-bit floats, shape `last` × vocabulary.

        Raises:
            ModelError: llama.cpp failed.
        """
        self._forget()
        first = max(0, len(ids) - last)
        parts: list[np.ndarray] = []
        for start in range(0, len(ids), _BATCH):
            part = ids[start : start + _BATCH]
            self._decode(part, first_needed=first - start)
            parts += [self._row(position) for position in range(max(0, first - start), len(part))]
        return np.stack(parts)

    def greedy(self, ids: Sequence[int], limit: int) -> str:
        """Decode a reply greedily.

        Args:
            ids: the token ids of the prompt; prompt and reply must fit into the context.
            limit: the maximum length of the reply in tokens.

        Raises:
            ModelError: llama.cpp failed.
        """
        token = int(self.logits(ids, 1)[0].argmax())
        reply: list[int] = []
        while len(reply) < limit and not self.model.is_end(token):
            reply.append(token)
            if len(reply) < limit:
                self._decode([token], first_needed=0)
                token = int(self._row(0).argmax())
        return b"".join(map(self.model.bytes_of, reply)).decode("utf-8", "replace").strip()

    def _use(self, adapter: Path) -> None:
        handle = self.model.adapters[self.model.load_adapter(adapter)]
        array = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(handle)
        if llama_cpp.llama_set_adapters_lora(self._handle, array, 1, (ctypes.c_float * 1)(1.0)):
            raise ModelError(f"The adapter {adapter} cannot be used with {self.model.path.name}.")

    def _forget(self) -> None:
        memory = llama_cpp.llama_get_memory(self._handle)
        llama_cpp.llama_memory_seq_rm(memory, 0, -1, -1)
        self._length = 0

    def _decode(self, ids: Sequence[int], *, first_needed: int) -> None:
        batch = self._batch
        batch.n_tokens = len(ids)
        for position, token in enumerate(ids):
            batch.token[position], batch.pos[position] = token, self._length + position
            batch.seq_id[position][0], batch.n_seq_id[position] = 0, 1
            batch.logits[position] = position >= first_needed
        library.LOG.clear()
        failed = llama_cpp.llama_decode(self._handle, batch)
        if failed:
            raise ModelError(f"llama.cpp failed (code {failed}): {library.LOG.first_error()}")
        self._length += len(ids)

    def _row(self, position: int) -> "np.ndarray":
        pointer = llama_cpp.llama_get_logits_ith(self._handle, position)
        row: np.ndarray = np.ctypeslib.as_array(pointer, shape=(self.model.n_vocabulary,)).copy()
        return row


def _free(handle: Any, _: LlamaModel) -> None:
    llama_cpp.llama_free(handle)
