"""A context without a model: what follows is a fixed function of all that a sequence holds.

Whatever the engine does wrong with sequences (a lost, doubled or foreign token, a mixed adapter) changes
that function's argument, and with it the text; what llama.cpp would refuse is refused here.
"""

import json
import threading
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.engine.context import BatchToken
from rolellm_agents.models.llamacpp.engine.kv_cache import CacheLimits, KVCache

END = 0
N_VOCABULARY = 40
PIECES = [b"", b"\xc3", b"\xa9", b"\xf0\x9f", b"\x99\x82", *(bytes([97 + n]) for n in range(26))]
PIECES += [b" "] * (N_VOCABULARY - len(PIECES))


def next_token(tokens: Sequence[int], adapter: str | None) -> int:
    """The model: any token, the end in one case of forty."""
    return zlib.crc32(json.dumps([list(tokens), str(adapter)]).encode()) % N_VOCABULARY


class FakeVocabulary:
    """Letters, and characters in halves."""

    def bytes_of(self, token: int) -> bytes:
        return PIECES[token]

    def is_end(self, token: int) -> bool:
        return token == END


class FakeLlama:
    """Makes contexts, and records what they compute. `backoff` holds the first step back until it opens."""

    def __init__(
        self,
        *,
        n_ctx: int = 48,
        n_batch: int = 8,
        sequences: int = 3,
        smallest: int | None = None,
        idle: int | None = None,
        parked: int | None = None,
        memory: int = 10**6,
        states_move: bool = True,
    ) -> None:
        """A model of which `sequences` conversations of `n_ctx` tokens are computed at once.

        Args:
            n_ctx: the longest sequence.
            n_batch: rows of a step.
            sequences: how many are computed at once.
            smallest: the shortest slot; all are `n_ctx` long when None.
            idle: room up to which contexts grow for sequences that nobody computes; all when None.
            parked: tokens that may be parked; as many as fit into the largest context when None.
            memory: tokens that all contexts may take.
            states_move: whether a context takes another one's states.
        """
        self.n_ctx, self.n_batch, self.sequences = n_ctx, n_batch, sequences
        room = n_ctx * sequences
        self.limits = CacheLimits(
            n_ctx=n_ctx,
            slots=sequences,
            idle=room if idle is None else idle,
            parked=room if parked is None else parked,
            smallest=smallest or n_ctx,
        )
        self.memory = memory
        self.states_move = states_move
        self.backoff = threading.Event()
        self.batches: list[tuple[str | None, list[BatchToken]]] = []
        self.fail_at: set[int] = set()
        self.contexts: list[FakeContext] = []

    def cache(self) -> KVCache:
        return KVCache(self.make_context, self.limits, free_cells=lambda: self.memory - self.taken)

    def make_context(self, slots: int, cells: int) -> "FakeContext":
        assert 0 < slots <= self.sequences
        assert 0 < cells <= self.n_ctx
        assert self.closed, "two contexts at once take twice the memory"
        self.contexts.append(FakeContext(self, slots, cells))
        return self.contexts[-1]

    @property
    def taken(self) -> int:
        return sum(one.sequences * one.n_ctx for one in self.contexts if not one.closed)

    @property
    def closed(self) -> bool:
        return all(one.closed for one in self.contexts)


class FakeContext:
    """See the module."""

    def __init__(self, llama: FakeLlama, slots: int, cells: int) -> None:
        self.llama = llama
        self.n_ctx, self.n_batch, self.sequences = cells, llama.n_batch, slots
        self.held: list[list[int]] = [[] for _ in range(slots)]
        self.adapters: list[str | None] = [None] * slots
        self.closed = False
        self._following: dict[int, int] = {}

    def decode(self, rows: Sequence[BatchToken], adapter: str | None) -> None:
        assert self.llama.backoff.wait(20)
        assert not self.closed
        assert 0 < len(rows) <= self.n_batch
        self.llama.batches.append((adapter, list(rows)))
        if len(self.llama.batches) in self.llama.fail_at:
            raise ModelError("llama.cpp failed (code -3): broken on purpose")
        self._following.clear()
        for place, row in enumerate(rows):
            held = self.held[row.sequence]
            assert row.position == len(held) < self.n_ctx
            assert not held or self.adapters[row.sequence] == adapter
            self.adapters[row.sequence] = adapter
            held.append(row.token)
            if row.logits:
                self._following[place] = next_token(held, adapter)

    def choose(self, row: int, sampler: Any) -> int:
        return self._following[row]

    def choose_nearest_end(self, row: int, sampler: Any) -> int:
        return END

    def logits(self, row: int) -> np.ndarray:
        found = np.zeros(N_VOCABULARY, dtype=np.float32)
        found[self._following[row]] = 1
        return found

    def log_probabilities(self, row: int) -> np.ndarray:
        return np.arange(N_VOCABULARY, dtype=np.float64) - self._following[row]

    def truncate(self, sequence: int, length: int) -> bool:
        assert not self.closed
        assert length <= len(self.held[sequence])
        del self.held[sequence][length:]
        return True

    def save(self, sequence: int) -> bytes:
        assert not self.closed
        return json.dumps([self.held[sequence], self.adapters[sequence], self.sequences]).encode()

    def restore(self, sequence: int, state: bytes) -> bool:
        assert not self.closed
        self.held[sequence] = []
        tokens, adapter, sequences = json.loads(state)
        if len(tokens) > self.n_ctx or (sequences != self.sequences and not self.llama.states_move):
            return False
        self.held[sequence], self.adapters[sequence] = tokens, adapter
        return True

    def close(self) -> None:
        assert not self.closed
        self.closed = True
