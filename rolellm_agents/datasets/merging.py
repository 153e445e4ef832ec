"""Merge samples: each question to a role once, with all its answers."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from rolellm_agents.datasets.keys import digest, question_key
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.datasets.writing import clean


@dataclass
class MergeCounts:
    """Progress of a merge."""

    read: int = 0
    written: int = 0
    repeated: int = 0
    """Rows without a new answer."""
    joined: int = 0
    """Rows whose new answers were added to an earlier row."""


def merge_samples(read: Callable[[], Iterator[Sample]], counts: MergeCounts) -> Iterator[Sample]:
    """Yield each question to a role once, in the order of first occurrence.

    Reads the samples three times, and keeps only repeated questions in memory.

    `read` returns a new iterator over the same samples at each call; `counts` is updated for each sample.
    """
    times = Counter(_key(sample) for sample in read())
    joined: dict[bytes, Sample] = {}
    for sample in read():
        if times[key := _key(sample)] > 1:
            held = joined.get(key)
            joined[key] = clean(sample) if held is None else _joined(held, clean(sample), counts)
    for sample in read():
        counts.read += 1
        key = _key(sample)
        if times[key] == 1 or key in joined:
            counts.written += 1
            held = joined.pop(key, None)
            yield clean(sample) if held is None else held


def join(samples: Sequence[Sample]) -> Sample:
    """Join samples of the same question to a role into one, with each answer once, in order.

    A reference without a type takes the first known type. Of other fields the first value is kept; lists
    are concatenated.

    Args:
        samples: clean samples, at least one.
    """
    first = samples[0]
    types: dict[str, str] = {}
    for sample in samples:
        for reference, kind in zip_longest(sample.references, sample.types, fillvalue=""):
            types[reference] = types.get(reference) or kind
    known = next(filter(None, types.values()), "")
    return Sample(
        first.role,
        first.question,
        tuple(types),
        first.kind,
        tuple(kind or known for kind in types.values()) if known else (),
        first.language,
        _extras(samples),
    )


def _key(sample: Sample) -> bytes:
    return digest(sample.language, sample.kind, sample.role, question_key(sample.question))


def _joined(held: Sample, sample: Sample, counts: MergeCounts) -> Sample:
    if set(held.references).issuperset(sample.references):
        counts.repeated += 1
    else:
        counts.joined += 1
    return join([held, sample])


def _extras(samples: Sequence[Sample]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for sample in samples:
        for key, value in sample.extra.items():
            held = merged.setdefault(key, value)
            if isinstance(held, list) and isinstance(value, list):
                merged[key] = held + [item for item in value if item not in held]
    return merged
