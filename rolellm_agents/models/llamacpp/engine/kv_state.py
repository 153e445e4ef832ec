"""The state of one sequence, as llama.cpp writes it, fitted to a context with another number of streams.

`llama_state_seq_get_data` writes a mark, the sequence's number, and for each of the model's caches (one, or
two with sliding windows) the number of streams, then for each stream its count of cells and, unless that is
0, the cells. One stream alone holds the sequence. llama.cpp refuses a state whose number of streams is not
its own; nothing else depends on it (`llama_kv_cache::state_write` in llama.cpp's source).
"""

import struct
from collections.abc import Iterator

_HEAD = 8
"""Bytes: the mark and the sequence's number."""
_CELL = struct.Struct("<iIi")
"""A cell's position, how many sequences share it, and the one that does."""
_MOST_LAYERS = 10_000


def with_streams(state: bytes, streams: int) -> bytes:
    """The same state for a context with `streams` streams.

    Args:
        state: of one sequence.
        streams: one for each sequence that the context can hold.

    Raises:
        ValueError: the state is not of the known form; some models' states have more in each cell.
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
    """How many cells the sequence has in each cache, and what they hold."""
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
    """Past one layer's numbers, written cell by cell: their type, a cell's bytes, and the cells."""
    _, size = struct.unpack_from("<iQ", state, place)
    return place + 12 + count * int(size)


def _end_of_columns(state: memoryview, place: int, count: int) -> int:
    """Past one layer's numbers, written dimension by dimension: type, a number's bytes, dimensions."""
    _, size, width = struct.unpack_from("<iII", state, place)
    return place + 12 + count * int(size) * int(width)
