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
from rolellm_agents.models.llamacpp.context import Row

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


class FakeContext:
    """See the module. `gate` holds the first step back until it is opened."""

    def __init__(self, *, n_ctx: int = 48, n_batch: int = 8, sequences: int = 3) -> None:
        self.n_ctx, self.n_batch, self.sequences = n_ctx, n_batch, sequences
        self.gate = threading.Event()
        self.held: list[list[int]] = [[] for _ in range(sequences)]
        self.adapters: list[str | None] = [None] * sequences
        self.batches: list[tuple[str | None, list[Row]]] = []
        self.fail_at: set[int] = set()
        self.closed = False
        self._following: dict[int, int] = {}

    def decode(self, rows: Sequence[Row], adapter: str | None) -> None:
        assert self.gate.wait(20)
        assert 0 < len(rows) <= self.n_batch
        self.batches.append((adapter, list(rows)))
        if len(self.batches) in self.fail_at:
            raise ModelError("llama.cpp could not go on (code -3): broken on purpose")
        self._following.clear()
        for place, row in enumerate(rows):
            held = self.held[row.sequence]
            assert row.position == len(held) < self.n_ctx
            assert not held or self.adapters[row.sequence] == adapter
            self.adapters[row.sequence] = adapter
            held.append(row.token)
            if row.wanted:
                self._following[place] = next_token(held, adapter)

    def choose(self, row: int, sampler: Any) -> int:
        return self._following[row]

    def choose_nearest_end(self, row: int, sampler: Any) -> int:
        return END

    def log_probabilities(self, row: int) -> np.ndarray:
        return np.arange(N_VOCABULARY, dtype=np.float64) - self._following[row]

    def truncate(self, sequence: int, length: int) -> bool:
        assert length <= len(self.held[sequence])
        del self.held[sequence][length:]
        return True

    def save(self, sequence: int) -> bytes:
        return json.dumps([self.held[sequence], self.adapters[sequence]]).encode()

    def restore(self, sequence: int, state: bytes) -> bool:
        self.held[sequence], self.adapters[sequence] = json.loads(state)
        return True

    def close(self) -> None:
        assert not self.closed
        self.closed = True
