"""Sequences that run get neighbouring slots, and nothing in them changes."""

from helpers.fake_context import FakeLlama
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.llamacpp.engine.context import BatchToken
from rolellm_agents.models.llamacpp.engine.kv_cache import CachedSequence, KVCache
from rolellm_agents.models.llamacpp.engine.neighbours import MOST_GROUPS, groups, moves_together

SLOTS = 12


@given(st.sets(st.integers(0, SLOTS - 1)))
def test_scattered_slots_become_neighbours_by_the_fewest_moves(running: set[int]) -> None:
    moves = moves_together(running, SLOTS)
    if groups(running) <= MOST_GROUPS:
        assert moves == []
        return
    sources, targets = {move.source for move in moves}, {move.target for move in moves}
    assert sources <= running
    assert not targets & running
    after = running - sources | targets
    assert len(after) == len(running)
    assert groups(after) == 1
    windows = [{*range(first, first + len(running))} for first in range(SLOTS - len(running) + 1)]
    assert len(moves) == min(len(window - running) for window in windows)


def test_groups_are_neighbours() -> None:
    assert [groups(slots) for slots in ((), {3}, {3, 4}, {3, 5}, {0, 1, 4, 7, 8})] == [0, 1, 1, 2, 3]


def filled(llama: FakeLlama, count: int) -> tuple[KVCache, list[CachedSequence]]:
    """A cache with so many sequences, each in a slot and with other tokens."""
    llama.backoff.set()
    cache = llama.cache()
    sequences: list[CachedSequence] = []
    for number in range(count):
        tokens = [number + 1] * (number + 3)
        sequence = cache.acquire(tokens, None, length=len(tokens), busy=sequences, demand=count)
        assert sequence is not None
        assert sequence.slot is not None
        rows = [BatchToken(token, place, sequence.slot, False) for place, token in enumerate(tokens)]
        cache.context.decode(rows, None)
        sequence.tokens += tokens
        sequences.append(sequence)
    return cache, sequences


def test_running_and_idle_sequences_keep_their_tokens_when_they_move() -> None:
    llama = FakeLlama(sequences=7, n_batch=16)
    cache, sequences = filled(llama, 7)
    running = sequences[0::2]
    cache.gather(running)
    slots = {one.slot for one in running if one.slot is not None}
    assert (len(slots), groups(slots)) == (4, 1)
    assert len({one.slot for one in sequences}) == 7
    for number, one in enumerate(sequences):
        assert one.slot is not None
        assert one.tokens == llama.contexts[-1].held[one.slot] == [number + 1] * (number + 3)


def test_a_model_whose_states_cannot_be_restored_is_moved_once_and_never_again() -> None:
    llama = FakeLlama(sequences=7, n_batch=16)
    cache, sequences = filled(llama, 7)
    llama.contexts[-1].restore = lambda *_: False  # type: ignore[method-assign]
    cache.gather(sequences[0::2])
    assert sum(not one.tokens for one in sequences) == 2  # the moved one, and the one whose place it took
    slots = [one.slot for one in sequences]
    cache.gather([sequences[0], sequences[3], sequences[6]])
    assert [one.slot for one in sequences] == slots
