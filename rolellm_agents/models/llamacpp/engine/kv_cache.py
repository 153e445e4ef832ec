"""The KV cache: sequences of computed tokens in a llama.cpp context that grows on demand.

llama.cpp fixes the number and length of a context's sequences when it creates the context, and allocates
all of them at once. So the context starts small. When more answers run at once, or one of them becomes
longer, a larger context replaces it and the sequences move over with their states. A running sequence has a
slot in the context. An idle one may be parked outside of it, where it takes exactly its own size. See
`docs/design/engine.md`.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.engine.context import Context
from rolellm_agents.models.llamacpp.engine.neighbours import moves_together

_MIN_COPIED = 32
"""Recomputing a shared prefix shorter than this is faster than copying it."""
_MAX_DISCARDED = 256
"""A prompt may overwrite a tail of up to this length (an answer, say) after the prefix that it shares."""


@dataclass(eq=False)
class CachedSequence:
    """Tokens whose keys and values are computed."""

    adapter: str | None
    """The adapter (`LlamaModel.load_adapter`) that computed them; other adapters cannot use them."""
    tokens: list[int] = field(default_factory=list)
    slot: int | None = None
    """The context's sequence that holds them; None when the sequence is parked."""
    state: bytes = b""
    """The saved state of a parked sequence."""
    last_used: int = 0
    """The cache's clock at the last use."""


class CacheLimits(NamedTuple):
    """How large a KV cache may become; sizes are in tokens."""

    n_ctx: int
    """The longest sequence."""
    slots: int
    """The most sequences that run at once."""
    idle: int
    """Cells up to which the context grows in order to hold idle sequences."""
    parked: int
    """The most tokens that are parked; the least recently used are evicted first."""
    smallest: int = 1024
    """The shortest slot."""

    def cells_for(self, length: int) -> int:
        """The slot length for `length` tokens: one of a few sizes, so that it seldom changes."""
        cells = min(self.smallest, self.n_ctx)
        while cells < length:
            # 1,024, 1,536, 2,048, 3,072, …
            cells = cells * 3 // 2 if cells & (cells - 1) == 0 else cells * 4 // 3
        return min(cells, self.n_ctx)


class Match(NamedTuple):
    """The cached sequence that shares the longest prefix with a prompt."""

    source: CachedSequence | None
    """None when no sequence shares enough."""
    shared: int
    """The length of the shared prefix."""
    in_place: bool
    """Whether the prompt continues the source itself; otherwise it gets a copy."""


class KVCache:
    """The sequences and the context that holds them; not thread-safe. See the module's docstring."""

    def __init__(
        self,
        make_context: Callable[[int, int], Context],
        limits: CacheLimits,
        free_cells: Callable[[], int],
    ) -> None:
        """Allocate nothing yet.

        Args:
            make_context: creates a context from a number of sequences and their length in tokens.
            limits: the largest sizes.
            free_cells: returns for how many more tokens there is memory now.
        """
        self.limits = limits
        self.evicted = 0
        """How many sequences were evicted so far."""
        self._make_context = make_context
        self._free_cells = free_cells
        self._context: Context | None = None
        self._slots = self._cells = 0
        self._cached: list[CachedSequence] = []
        self._clock = 0
        self._restores = True
        """Whether the context has taken every saved state so far; some models' do not."""

    @property
    def context(self) -> Context:
        """The current context; `acquire` and `reserve` may replace it."""
        if self._context is None:
            raise RuntimeError("no sequence was acquired")
        return self._context

    @property
    def size(self) -> tuple[int, int]:
        """The number of slots, and how many tokens each of them can hold."""
        return self._slots, self._cells

    def cached_prefix(self, tokens: Sequence[int], adapter: str | None) -> int:
        """How many of the first `tokens` any sequence holds."""
        return max((shared_prefix(sequence, tokens, adapter) for sequence in self._cached), default=0)

    def acquire(
        self,
        tokens: Sequence[int],
        adapter: str | None,
        *,
        length: int,
        busy: Collection[CachedSequence],
        demand: int = 1,
    ) -> CachedSequence | None:
        """A sequence with a slot that holds the longest cached prefix of a prompt, and nothing else.

        Args:
            tokens: the prompt, or the part of it that may come from the cache.
            adapter: the adapter that computes it.
            length: the sequence's final length in tokens.
            busy: sequences that must keep their slots.
            demand: how many slots will be needed at once.

        Returns:
            The sequence; None when all slots are busy.

        Raises:
            ModelError: there is not enough memory even for this sequence alone.
        """
        match = longest_prefix(self._cached, tokens, adapter, busy)
        sequence = match.source if match.in_place and match.source else CachedSequence(adapter)
        if not self._ensure_slot(sequence, length, busy, demand):
            return None
        if match.source is not None and not match.in_place and match.source.tokens:
            self._copy(match.source, sequence, match.shared)
        elif len(sequence.tokens) > match.shared:
            self.truncate(sequence, match.shared)
        self.touch(sequence)
        self._evict_parked()
        return sequence

    def reserve(self, sequence: CachedSequence, length: int, busy: Collection[CachedSequence]) -> None:
        """Make sure that slots hold `length` tokens.

        Raises:
            ModelError: there is not enough memory.
        """
        if length > self._cells and not self._resize(self._slots, self.limits.cells_for(length), busy):
            raise self._out_of_memory(length)

    def gather(self, running: Collection[CachedSequence]) -> None:
        """Give the sequences that run neighbouring slots, if they are scattered; see `neighbours`.

        Args:
            running: the sequences that the next steps compute.
        """
        holders = {sequence.slot: sequence for sequence in self._cached if sequence.slot is not None}
        slots = {sequence.slot for sequence in running if sequence.slot is not None}
        for move in moves_together(slots, self._slots):
            if not self._restores:
                return
            moved, holder = holders[move.source], holders.get(move.target)
            self._park(moved)
            if holder is not None:
                self._park(holder)
                self._unpark(holder, move.source)
            self._unpark(moved, move.target)

    def truncate(self, sequence: CachedSequence, length: int) -> None:
        """Keep the first `length` tokens of a sequence with a slot; none if the model cannot rewind."""
        if sequence.slot is None:
            raise RuntimeError("the sequence has no slot")
        kept = self.context.truncate(sequence.slot, length)
        del sequence.tokens[length if kept else 0 :]

    def save(self, sequence: CachedSequence) -> bytes:
        """The state of a sequence."""
        return sequence.state if sequence.slot is None else self.context.save(sequence.slot)

    def load(self, sequence: CachedSequence, tokens: Sequence[int], state: bytes) -> bool:
        """Load the saved state of `tokens` into a sequence with a slot; False if it does not fit."""
        if sequence.slot is None:
            raise RuntimeError("the sequence has no slot")
        fits = self.context.restore(sequence.slot, state)
        sequence.tokens = list(tokens) if fits else []
        return fits

    def touch(self, sequence: CachedSequence) -> None:
        """Mark a sequence as most recently used."""
        self._clock += 1
        sequence.last_used = self._clock

    def release(self) -> None:
        """Free the context while nothing runs; sequences within the limit stay parked."""
        budget = self.limits.parked
        for sequence in sorted(self._cached, key=_last_used, reverse=True):
            budget -= len(sequence.tokens)
            if budget >= 0:  # decided before parking: until it is closed, the context takes its memory too
                self._park(sequence)
        self._evict_parked()
        self.close()

    def clear(self) -> None:
        """Evict every sequence and free all memory, while nothing runs."""
        self.close()
        self.evicted += len(self._cached)
        for sequence in self._cached:
            sequence.tokens, sequence.state = [], b""
        self._cached.clear()

    def close(self) -> None:
        """Free the context and the sequences in it."""
        if self._context is not None:
            self._context.close()
        self._context = None
        self._slots = self._cells = 0
        for sequence in [sequence for sequence in self._cached if sequence.slot is not None]:
            sequence.slot, sequence.tokens = None, []
            self._cached.remove(sequence)

    def _ensure_slot(
        self, sequence: CachedSequence, length: int, busy: Collection[CachedSequence], demand: int
    ) -> bool:
        """Give the sequence a slot of at least `length` tokens; False if there is none."""
        slots, cells = self._slots, max(self._cells, self.limits.cells_for(length))
        kept = {*busy, sequence}
        if sequence.slot is None and self._empty_slot() is None:
            more = min(self.limits.slots, max(2 * slots, demand, 1))
            # Beyond the limit for idle sequences, evict the least recently used rather than grow.
            if len(busy) == slots or more * cells <= self.limits.idle:
                slots = more
        if len(kept) > slots:
            return False
        if not self._resize(slots, cells, kept) and not self._resize(
            *self._minimal_size(length, busy), kept
        ):
            if busy:
                return False
            self.clear()
            if not self._resize(*self._minimal_size(length, busy), kept):
                raise self._out_of_memory(length)
        if sequence.slot is None:
            self._assign_slot(sequence)
        return True

    def _minimal_size(self, length: int, busy: Collection[CachedSequence]) -> tuple[int, int]:
        """The smallest context for one sequence more than the busy ones."""
        cells = self.limits.cells_for(length)
        return len(busy) + 1, max(cells, self._cells) if busy else cells

    def _resize(self, slots: int, cells: int, kept: Collection[CachedSequence]) -> bool:
        """Resize the context and keep slots for all of `kept`; False if there is not enough memory."""
        before = self._slots, self._cells
        held = sorted((sequence for sequence in self._cached if sequence.slot is not None), key=_slot)
        if (slots, cells) != before:
            more = slots * cells - self._slots * self._cells
            if more + sum(len(sequence.tokens) for sequence in held) > self._free_cells():
                return False
        idle = sorted((sequence for sequence in held if sequence not in kept), key=_last_used)
        for sequence in idle[: max(0, len(idle) + len(kept) - slots)]:
            self._park(sequence)
        return (slots, cells) == before or self._move(
            [sequence for sequence in held if sequence.slot is not None], slots, cells
        )

    def _move(self, moving: Sequence[CachedSequence], slots: int, cells: int) -> bool:
        """Move sequences into a new context; on lack of memory, return False and keep the old size."""
        before = self._slots, self._cells
        for sequence in moving:
            sequence.state = self.save(sequence)
            sequence.slot = None
        self._replace_context(slots, cells)
        created = self._context is not None
        if not created and before[0]:
            self._replace_context(*before)
        for sequence in moving:
            self._assign_slot(sequence)
        return created

    def _replace_context(self, slots: int, cells: int) -> None:
        """Create a new context; leave none if llama.cpp has not enough memory for it."""
        if self._context is not None:
            self._context.close()
        self._context, self._slots, self._cells = None, 0, 0
        try:
            self._context = self._make_context(slots, cells)
        except ModelError:
            return
        self._slots, self._cells = slots, cells

    def _empty_slot(self) -> int | None:
        taken = {sequence.slot for sequence in self._cached}
        return next((slot for slot in range(self._slots) if slot not in taken), None)

    def _assign_slot(self, sequence: CachedSequence) -> None:
        """Put a sequence into an empty slot, and restore its parked state."""
        slot = self._empty_slot()
        if slot is None:
            raise RuntimeError("no slot is empty")
        if sequence not in self._cached:
            self._cached.append(sequence)
        self._unpark(sequence, slot)

    def _unpark(self, sequence: CachedSequence, slot: int) -> None:
        """Restore a sequence's parked state in an empty slot."""
        sequence.slot = slot
        state, sequence.state = sequence.state, b""
        if sequence.tokens and not self.context.restore(slot, state):
            sequence.tokens.clear()
            self._restores = False

    def _copy(self, source: CachedSequence, target: CachedSequence, length: int) -> None:
        """Copy the first `length` tokens of `source` to `target`."""
        if self.load(target, source.tokens, self.save(source)):
            self.truncate(target, length)

    def _park(self, sequence: CachedSequence) -> None:
        """Save a sequence's state and free its slot."""
        if sequence.slot is None:
            return
        sequence.state = self.context.save(sequence.slot)
        self.context.truncate(sequence.slot, 0)
        sequence.slot = None

    def _evict_parked(self) -> None:
        """Evict the least recently used parked sequences beyond the limit."""
        parked = sorted(
            (sequence for sequence in self._cached if sequence.slot is None), key=_last_used, reverse=True
        )
        budget = self.limits.parked
        for sequence in parked:
            budget -= len(sequence.tokens)
            if budget < 0 or len(sequence.tokens) < _MIN_COPIED:
                self._cached.remove(sequence)
                self.evicted += 1

    def _out_of_memory(self, length: int) -> ModelError:
        return ModelError(
            f"There is not enough memory for a conversation of {length:,} tokens; set a smaller n_ctx for "
            "the model in models.toml, or close other programs."
        )


def longest_prefix(
    cached: Sequence[CachedSequence],
    tokens: Sequence[int],
    adapter: str | None,
    busy: Collection[CachedSequence],
) -> Match:
    """Find the sequence with the longest prefix of a prompt, and whether the prompt may continue in place.

    Sequences in `busy` can only be copied from.
    """
    shared = {sequence: shared_prefix(sequence, tokens, adapter) for sequence in cached}
    best = max(shared.values(), default=0)
    nearest = [
        sequence
        for sequence in cached
        if sequence not in busy
        and shared[sequence] == best > 0
        and len(sequence.tokens) - best <= _MAX_DISCARDED
    ]
    if nearest:
        return Match(min(nearest, key=lambda sequence: len(sequence.tokens)), best, in_place=True)
    if best < _MIN_COPIED:
        return Match(None, 0, in_place=False)
    return Match(next(sequence for sequence in cached if shared[sequence] == best), best, in_place=False)


def shared_prefix(sequence: CachedSequence, tokens: Sequence[int], adapter: str | None) -> int:
    """How many of the first `tokens` the sequence holds for the same adapter."""
    return common_prefix(sequence.tokens, tokens) if sequence.adapter == adapter else 0


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the longest common prefix of two prompts."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _last_used(sequence: CachedSequence) -> int:
    return sequence.last_used


def _slot(sequence: CachedSequence) -> int:
    return -1 if sequence.slot is None else sequence.slot
