"""Converts the saved state of a sequence for a context with a different number of streams.

`llama_state_seq_get_data` writes a mark, the sequence's number, and for each of the model's caches (one, or
two with sliding windows) the number of streams, then for each stream its count of cells and, unless that is
0, the cells. Only one stream holds the sequence. llama.cpp rejects a state whose number of streams differs
from the context's, but nothing else depends on that number (`llama_kv_cache::state_write` in llama.cpp).
"""

import struct
from collections.abc import Iterator

_HEAD = 8
"""Bytes: the mark and the sequence's number."""
_CELL = struct.Struct("<iIi")
"""A cell's position, the number of its sequences, and its sequence."""
_MOST_LAYERS = 10_000


def with_streams(state: bytes, streams: int) -> bytes:
    """The same state for a context with `streams` streams.

    Args:
        state: the saved state of one sequence.
        streams: the number of sequences that the context can hold.

    Raises:
        ValueError: the state's format is unknown, as for some models with more data in each cell.
    """
    try:
        (held,) = struct.unpack_from("<I", state, _HEAD)
        if held == streams:
            return state
        parts = [state[:_HEAD]]
        for count, cells in _caches(memoryview(state), held):
            empty = streams - 1 if count else streams
            parts += [struct.pack("<I", streams), bytes(4 * empty)]
            if count:
                parts += [struct.pack("<I", count), bytes(cells)]
        return b"".join(parts)
    except struct.error as error:
        raise ValueError("the state ends too early") from error


def _caches(state: memoryview, streams: int) -> Iterator[tuple[int, memoryview]]:
    """The number of the sequence's cells in each cache, and their content."""
    place = _HEAD
    while place < len(state):
        if struct.unpack_from("<I", state, place)[0] != streams:
            raise ValueError("a cache has another number of streams")
        place += 4
        found = (0, state[:0])
        for _ in range(streams):
            (count,) = struct.unpack_from("<I", state, place)
            place += 4
            if count:
                if found[0]:
                    raise ValueError("the sequence has cells in two streams")
                end = _end_of_cells(state, place, count)
                found = (count, state[place:end])
                place = end
        yield found
    if place != len(state):
        raise ValueError("the state ends too early")


def _end_of_cells(state: memoryview, place: int, count: int) -> int:
    for number in range(count):
        if _CELL.unpack_from(state, place + number * _CELL.size)[1] != 1:
            raise ValueError("a cell belongs to more than one sequence")
    place += count * _CELL.size
    transposed, layers = struct.unpack_from("<II", state, place)
    if transposed > 1 or not 0 < layers <= _MOST_LAYERS:
        raise ValueError("the cells are followed by something unknown")
    place += 8
    for _ in range(layers):
        place = _end_of_rows(state, place, count)
    for _ in range(layers):
        place = (_end_of_columns if transposed else _end_of_rows)(state, place, count)
    return place


def _end_of_rows(state: memoryview, place: int, count: int) -> int:
    """Skip one layer that is stored by cell: the number type, the bytes of a cell, and the cells."""
    _, size = struct.unpack_from("<iQ", state, place)
    return place + 12 + count * int(size)


def _end_of_columns(state: memoryview, place: int, count: int) -> int:
    """Skip one layer that is stored by dimension: type, bytes of a number, dimensions, and numbers."""
    _, size, width = struct.unpack_from("<iII", state, place)
    return place + 12 + count * int(size) * int(width)
