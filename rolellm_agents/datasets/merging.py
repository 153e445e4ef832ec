"""Several sources as one: each question to a role once, with all its answers."""

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
    """What a merge has done so far."""

    read: int = 0
    written: int = 0
    repeated: int = 0
    """Rows that said nothing new."""
    joined: int = 0
    """Rows whose other answers went to the row that asked the same."""


def merge_samples(read: Callable[[], Iterator[Sample]], counts: MergeCounts) -> Iterator[Sample]:
    """Each question to a role once, in the order of their first rows.

    The samples are read three times, and only what is asked more than once is held, joined already.

    Args:
        read: gives all samples anew, the same each time.
        counts: is kept up to date.
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
    """Samples that ask a role the same as one, with each answer once, in the order they come in.

    A reference keeps its type, and takes the first there is when it has none. Of what else the rows say
    the first counts; lists are put together.

    Args:
        samples: clean ones, at least one.
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
                merged[key] = held + [one for one in value if one not in held]
    return merged
