"""The KV cache: sequences that hold what was read, in a context that grows with what is asked of it.

llama.cpp fixes the number of a context's sequences and their length when the context is made, and takes the
memory for all of them at once. So the context is made small and replaced by a larger one when more answers
run at once or one of them gets longer; the sequences move over with their states. A sequence that is
computed has a slot in the context; what nobody computes may be parked, which takes exactly its own size.
`docs/design/engine.md` explains it.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.engine.context import Context

_WORTH_COPYING = 32
"""A shared prefix shorter than this is read again sooner than copied."""
_WORTH_KEEPING = 256
"""A tail up to this length (an answer, say) may go for a prompt that shares what stands before it."""


@dataclass(eq=False)
class CachedSequence:
    """Tokens whose keys and values are there."""

    adapter: str | None
    """The adapter they were computed with (`LlamaModel.load_adapter`); another's are of no use."""
    tokens: list[int] = field(default_factory=list)
    slot: int | None = None
    """The context's sequence that holds them; None when they are parked."""
    state: bytes = b""
    """What is parked."""
    last_used: int = 0
    """A count that grows with every use of any sequence."""


class CacheLimits(NamedTuple):
    """How large a KV cache may become; sizes are in tokens."""

    n_ctx: int
    """The longest sequence."""
    slots: int
    """The most sequences that are computed at once."""
    idle: int
    """Room up to which the context grows for sequences that nobody computes."""
    parked: int
    """What may be parked; the least recently used goes first."""
    smallest: int = 1024
    """The shortest slot."""

    def cells_for(self, room: int) -> int:
        """The length of slots that hold `room` tokens: of a few sizes, so that they seldom change."""
        cells = min(self.smallest, self.n_ctx)
        while cells < room:
            # 1,024, 1,536, 2,048, 3,072, …
            cells = cells * 3 // 2 if cells & (cells - 1) == 0 else cells * 4 // 3
        return min(cells, self.n_ctx)


class Match(NamedTuple):
    """What a prompt can begin with."""

    source: CachedSequence | None
    """Whose tokens serve it; None when nobody's do."""
    shared: int
    """How many of its first tokens these are."""
    goes_on: bool
    """Whether it continues the source itself; else it gets a copy."""


class KVCache:
    """See the module. For one thread at a time."""

    def __init__(
        self, make_context: Callable[[int, int], Context], limits: CacheLimits, room_left: Callable[[], int]
    ) -> None:
        """Nothing is allocated yet.

        Args:
            make_context: makes a context from a number of sequences and their length in tokens.
            limits: how large it may become.
            room_left: for how many more tokens there is memory now.
        """
        self.limits = limits
        self.evicted = 0
        """Sequences that had to go."""
        self._make_context = make_context
        self._room_left = room_left
        self._context: Context | None = None
        self._slots = self._cells = 0
        self._cached: list[CachedSequence] = []
        self._clock = 0

    @property
    def context(self) -> Context:
        """The context as it is now; it changes when a sequence is taken or reserves room."""
        if self._context is None:
            raise RuntimeError("no sequence was taken")
        return self._context

    @property
    def size(self) -> tuple[int, int]:
        """How many slots there are, and how many tokens each of them can hold."""
        return self._slots, self._cells

    def known(self, tokens: Sequence[int], adapter: str | None) -> int:
        """How many of the first `tokens` some sequence holds."""
        return max((shared_prefix(one, tokens, adapter) for one in self._cached), default=0)

    def take(
        self,
        tokens: Sequence[int],
        adapter: str | None,
        *,
        room: int,
        busy: Collection[CachedSequence],
        wanted: int = 1,
    ) -> CachedSequence | None:
        """A sequence with a slot that holds the longest known beginning of a prompt, and nothing else.

        Args:
            tokens: the prompt, or as much of it as may be taken from the cache.
            adapter: what it is computed with.
            room: tokens that the sequence will come to.
            busy: sequences that must keep their slots.
            wanted: slots that are going to be asked for at once.

        Returns:
            The sequence; None when it must wait until a busy one is done.

        Raises:
            ModelError: there is no memory for it, even alone.
        """
        match = longest_prefix(self._cached, tokens, adapter, busy)
        sequence = match.source if match.goes_on and match.source else CachedSequence(adapter)
        if not self._give_slot(sequence, room, busy, wanted):
            return None
        if match.source is not None and not match.goes_on and match.source.tokens:
            self._copy(match.source, sequence, match.shared)
        elif len(sequence.tokens) > match.shared:
            self.truncate(sequence, match.shared)
        self.touch(sequence)
        self._drop_parked()
        return sequence

    def reserve(self, sequence: CachedSequence, room: int, busy: Collection[CachedSequence]) -> None:
        """Make sure that a sequence with a slot can come to `room` tokens.

        Raises:
            ModelError: there is no memory for it.
        """
        if room > self._cells and not self._resize(self._slots, self.limits.cells_for(room), busy):
            raise self._too_little(room)

    def truncate(self, sequence: CachedSequence, length: int) -> None:
        """Keep the first `length` tokens of a sequence with a slot; none if the model cannot step back."""
        if sequence.slot is None:
            raise RuntimeError("the sequence has no slot")
        kept = self.context.truncate(sequence.slot, length)
        del sequence.tokens[length if kept else 0 :]

    def save(self, sequence: CachedSequence) -> bytes:
        """The state of a sequence."""
        return sequence.state if sequence.slot is None else self.context.save(sequence.slot)

    def load(self, sequence: CachedSequence, tokens: Sequence[int], state: bytes) -> bool:
        """Let a sequence with a slot hold `tokens`, whose state this is; False if it does not fit."""
        if sequence.slot is None:
            raise RuntimeError("the sequence has no slot")
        fits = self.context.restore(sequence.slot, state)
        sequence.tokens = list(tokens) if fits else []
        return fits

    def touch(self, sequence: CachedSequence) -> None:
        """Note that a sequence is used."""
        self._clock += 1
        sequence.last_used = self._clock

    def release(self) -> None:
        """Give the context's memory back, while nobody computes; what fits the limit stays parked."""
        room = self.limits.parked
        for sequence in sorted(self._cached, key=_last_used, reverse=True):
            room -= len(sequence.tokens)
            if room >= 0:  # not first all and then less: the context still takes its memory
                self._park(sequence)
        self._drop_parked()
        self.close()

    def clear(self) -> None:
        """Forget every sequence and give all memory back, while nobody computes."""
        self.close()
        self.evicted += len(self._cached)
        for sequence in self._cached:
            sequence.tokens, sequence.state = [], b""
        self._cached.clear()

    def close(self) -> None:
        """Give the context's memory back, and whatever is in it."""
        if self._context is not None:
            self._context.close()
        self._context = None
        self._slots = self._cells = 0
        for sequence in [one for one in self._cached if one.slot is not None]:
            sequence.slot, sequence.tokens = None, []
            self._cached.remove(sequence)

    def _give_slot(
        self, sequence: CachedSequence, room: int, busy: Collection[CachedSequence], wanted: int
    ) -> bool:
        """Whether the sequence has a slot of at least `room` tokens now."""
        slots, cells = self._slots, max(self._cells, self.limits.cells_for(room))
        kept = {*busy, sequence}
        if sequence.slot is None and self._empty_slot() is None:
            more = min(self.limits.slots, max(2 * slots, wanted, 1))
            # Beyond what may lie idle, who was used least recently makes room sooner than more is taken.
            if len(busy) == slots or more * cells <= self.limits.idle:
                slots = more
        if len(kept) > slots:
            return False
        if not self._resize(slots, cells, kept) and not self._resize(*self._least(room, busy), kept):
            if busy:
                return False
            self.clear()
            if not self._resize(*self._least(room, busy), kept):
                raise self._too_little(room)
        if sequence.slot is None:
            self._settle(sequence)
        return True

    def _least(self, room: int, busy: Collection[CachedSequence]) -> tuple[int, int]:
        """The smallest context for one sequence more than those that keep their slots."""
        cells = self.limits.cells_for(room)
        return len(busy) + 1, max(cells, self._cells) if busy else cells

    def _resize(self, slots: int, cells: int, kept: Collection[CachedSequence]) -> bool:
        """Have a context of this size with a slot for all of `kept`; False if there is no memory for it."""
        before = self._slots, self._cells
        held = sorted((one for one in self._cached if one.slot is not None), key=_slot)
        if (slots, cells) != before:
            more = slots * cells - self._slots * self._cells
            if more + sum(len(one.tokens) for one in held) > self._room_left():
                return False
        idle = sorted((one for one in held if one not in kept), key=_last_used)
        for sequence in idle[: max(0, len(idle) + len(kept) - slots)]:
            self._park(sequence)
        return (slots, cells) == before or self._move(
            [one for one in held if one.slot is not None], slots, cells
        )

    def _move(self, moving: Sequence[CachedSequence], slots: int, cells: int) -> bool:
        """Replace the context by another, into which these go; False, and all as before, without memory."""
        before = self._slots, self._cells
        for sequence in moving:
            sequence.state = self.save(sequence)
            sequence.slot = None
        self._replace_context(slots, cells)
        made = self._context is not None
        if not made and before[0]:
            self._replace_context(*before)
        for sequence in moving:
            self._settle(sequence)
        return made

    def _replace_context(self, slots: int, cells: int) -> None:
        """A new context; none if llama.cpp has no memory for it."""
        if self._context is not None:
            self._context.close()
        self._context, self._slots, self._cells = None, 0, 0
        try:
            self._context = self._make_context(slots, cells)
        except ModelError:
            return
        self._slots, self._cells = slots, cells

    def _empty_slot(self) -> int | None:
        taken = {one.slot for one in self._cached}
        return next((slot for slot in range(self._slots) if slot not in taken), None)

    def _settle(self, sequence: CachedSequence) -> None:
        """Put a sequence into an empty slot, with what was parked of it."""
        sequence.slot = self._empty_slot()
        if sequence.slot is None:
            raise RuntimeError("no slot is empty")
        if sequence not in self._cached:
            self._cached.append(sequence)
        state, sequence.state = sequence.state, b""
        if sequence.tokens and not self.context.restore(sequence.slot, state):
            sequence.tokens.clear()

    def _copy(self, source: CachedSequence, target: CachedSequence, length: int) -> None:
        """Let `target` begin with the first `length` tokens of `source`."""
        if self.load(target, source.tokens, self.save(source)):
            self.truncate(target, length)

    def _park(self, sequence: CachedSequence) -> None:
        """Take a sequence out of its slot."""
        if sequence.slot is None:
            return
        sequence.state = self.context.save(sequence.slot)
        self.context.truncate(sequence.slot, 0)
        sequence.slot = None

    def _drop_parked(self) -> None:
        """Forget the least recently used of what is parked, as far as it is too much."""
        parked = sorted((one for one in self._cached if one.slot is None), key=_last_used, reverse=True)
        room = self.limits.parked
        for sequence in parked:
            room -= len(sequence.tokens)
            if room < 0 or len(sequence.tokens) < _WORTH_COPYING:
                self._cached.remove(sequence)
                self.evicted += 1

    def _too_little(self, room: int) -> ModelError:
        return ModelError(
            f"There is no memory for a conversation of {room:,} tokens; set a smaller n_ctx for the model "
            "in models.toml, or close other programs."
        )


def longest_prefix(
    cached: Sequence[CachedSequence],
    tokens: Sequence[int],
    adapter: str | None,
    busy: Collection[CachedSequence],
) -> Match:
    """Who holds the longest beginning of a prompt, and whether the prompt may go on in its place.

    Args:
        cached: all sequences.
        tokens: the prompt.
        adapter: what it is computed with.
        busy: sequences that can only be copied from.
    """
    shared = {one: shared_prefix(one, tokens, adapter) for one in cached}
    best = max(shared.values(), default=0)
    nearest = [
        one
        for one in cached
        if one not in busy and shared[one] == best > 0 and len(one.tokens) - best <= _WORTH_KEEPING
    ]
    if nearest:
        return Match(min(nearest, key=lambda one: len(one.tokens)), best, goes_on=True)
    if best < _WORTH_COPYING:
        return Match(None, 0, goes_on=False)
    return Match(next(one for one in cached if shared[one] == best), best, goes_on=False)


def shared_prefix(sequence: CachedSequence, tokens: Sequence[int], adapter: str | None) -> int:
    """How many of the first `tokens` the sequence holds, computed with the same adapter."""
    return common_prefix(sequence.tokens, tokens) if sequence.adapter == adapter else 0


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two prompts begin with in common."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _last_used(sequence: CachedSequence) -> int:
    return sequence.last_used


def _slot(sequence: CachedSequence) -> int:
    return -1 if sequence.slot is None else sequence.slot
