"""How much memory a block of code takes at most."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """Count what Python allocates in the block; the function returns the most bytes at once."""
    peak = 0
    tracemalloc.start()
    try:
        yield lambda: peak
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
