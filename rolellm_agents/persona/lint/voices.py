"""Measure how distinct the voices of personas are: a nearest-neighbour classifier finds a reply's persona.

Each reply in turn is held out, and the most similar of the other lines vote for its persona. The features
of a line are words, pairs of words and character n-grams of three and four, with function words and
punctuation, weighted by tf-idf and compared by cosine. Names are removed first.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rolellm_agents.persona import Persona
from rolellm_agents.persona.lint.speech import spoken_lines
from rolellm_agents.text.language import Language

_NAMES = re.compile(r"(?<=[^.!?…:\"“”\n] )(?!I\b)[A-Z][\w'’-]*")
"""A capitalised word that does not begin a sentence."""
_ENGLISH = re.compile(r"[a-z]+(?:['’][a-z]+)*|\.\.\.|[.,;:!?…\"“”]", re.IGNORECASE)
_GROUPS = 200
"""Number of sampled groups whose hit rates are averaged."""
_NEIGHBOURS = 5


@dataclass(frozen=True)
class VoiceReport:
    """How distinct the voices of some personas are."""

    personas: int
    replies: int
    hit_rate: float
    """Share of replies that were assigned to their persona among all."""
    chance: float
    """The expected hit rate of a random guess."""
    hit_rate_of_five: float | None
    """The mean hit rate among five sampled personas; `None` when there are no more than five."""
    by_persona: dict[str, float]
    """Hit rate by persona."""
    taken_for: dict[str, str]
    """The persona to which most of a persona's misses were assigned."""


def check_voices(personas: Sequence[Persona], *, seed: int = 0) -> VoiceReport:
    """Measure how often a reply's nearest lines belong to its persona.

    Args:
        personas: at least two, in one language.
        seed: the seed for sampling groups of five.
    """
    owners, is_reply, similar = _similarities(personas)
    queries = np.flatnonzero(is_reply)
    found = _nearest(similar, owners, queries, np.arange(len(personas)))
    hits = found == owners[queries]
    missed: dict[int, Counter[int]] = {}
    for query, owner in zip(queries[~hits], found[~hits], strict=True):
        missed.setdefault(int(owners[query]), Counter())[int(owner)] += 1
    return VoiceReport(
        personas=len(personas),
        replies=len(queries),
        hit_rate=float(hits.mean()),
        chance=1 / len(personas),
        hit_rate_of_five=_rate_of_five(similar, owners, queries, seed) if len(personas) > 5 else None,
        by_persona={
            persona.id: float(hits[owners[queries] == number].mean())
            for number, persona in enumerate(personas)
            if (owners[queries] == number).any()
        },
        taken_for={
            personas[number].id: personas[counted.most_common(1)[0][0]].id
            for number, counted in missed.items()
        },
    )


def _rate_of_five(
    similar: npt.NDArray[np.float32],
    owners: npt.NDArray[np.int64],
    queries: npt.NDArray[np.int64],
    seed: int,
) -> float:
    draw = random.Random(seed)  # noqa: S311 (a sample, no secret)
    rates = []
    for _ in range(_GROUPS):
        five = np.array(draw.sample(range(int(owners.max()) + 1), 5))
        own = queries[np.isin(owners[queries], five)]
        rates.append((_nearest(similar, owners, own, five) == owners[own]).mean())
    return float(np.mean(rates))


def _nearest(
    similar: npt.NDArray[np.float32],
    owners: npt.NDArray[np.int64],
    queries: npt.NDArray[np.int64],
    among: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """The owner with the nearest lines for each query, by the sum of its highest similarities."""
    scores = []
    for owner in among:
        columns = np.sort(similar[np.ix_(queries, np.flatnonzero(owners == owner))], axis=1)
        scores.append(columns[:, -_NEIGHBOURS:].sum(axis=1))
    return np.asarray(among[np.argmax(scores, axis=0)])


def _similarities(
    personas: Sequence[Persona],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.float32]]:
    """The owner of each line, whether it is a reply, and the cosines of all pairs with a zero diagonal."""
    owners, is_reply, documents = [], [], []
    for number, persona in enumerate(personas):
        for line in spoken_lines(persona):
            owners.append(number)
            is_reply.append(line.place.startswith("reply"))
            documents.append(Counter(_UNITS[persona.language](line.text, persona)))
    weights = _tf_idf(documents)
    similar = weights @ weights.T
    np.fill_diagonal(similar, 0)
    return np.array(owners), np.array(is_reply), similar


def _tf_idf(documents: Sequence[Counter[str]]) -> npt.NDArray[np.float32]:
    """One row of unit length for each document; units that occur in one document only are left out."""
    frequency = Counter(unit for document in documents for unit in document)
    columns = {unit: number for number, unit in enumerate(u for u, n in frequency.items() if n > 1)}
    weights = np.zeros((len(documents), max(1, len(columns))), np.float32)
    for row, document in enumerate(documents):
        for unit, times in document.items():
            if unit in columns:
                rarity = np.log(len(documents) / frequency[unit])
                weights[row, columns[unit]] = (1 + np.log(times)) * rarity
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    normalized: npt.NDArray[np.float32] = weights / np.maximum(lengths, np.float32(1e-9))
    return normalized


def _english_units(text: str, persona: Persona) -> list[str]:
    own = re.compile(rf"\b(?:{'|'.join(map(re.escape, persona.name.split()))})\b", re.IGNORECASE)
    nameless = " ".join(_NAMES.sub(" ", own.sub(" ", text)).lower().split())
    words = _ENGLISH.findall(nameless)
    letters = (nameless[at : at + size] for size in (3, 4) for at in range(len(nameless) - size + 1))
    return [*words, *(f"{first} {second}" for first, second in pairwise(words)), *letters]


def _chinese_units(text: str, persona: Persona) -> list[str]:
    characters = re.sub(r"\s", "", text.replace(persona.name, ""))
    return [*characters, *(characters[at : at + 2] for at in range(len(characters) - 1))]


_UNITS: dict[Language, Callable[[str, Persona], list[str]]] = {"en": _english_units, "zh": _chinese_units}
