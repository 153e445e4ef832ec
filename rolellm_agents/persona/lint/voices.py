"""Can the voices be told apart with the names removed? A nearest neighbour has to find a reply's owner.

Each reply in turn is taken away, and the most similar lines among all that is left vote for its owner.
Lines are compared by their words, pairs of words and runs of three and four letters, small words and marks
of punctuation included, weighted by how rare they are (tf-idf, cosine): style lies in the small things.
Names are removed beforehand.
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
"""A word with a capital that does not begin a sentence."""
_ENGLISH = re.compile(r"[a-z]+(?:['’][a-z]+)*|\.\.\.|[.,;:!?…\"“”]", re.IGNORECASE)
_GROUPS = 200
"""Small groups are drawn so often, and their hit rates averaged."""
_NEIGHBOURS = 5


@dataclass(frozen=True)
class VoiceReport:
    """How well the voices of some personas are told apart."""

    personas: int
    replies: int
    hit_rate: float
    """Share of replies whose owner was found among all."""
    chance: float
    """The same, for one who guesses."""
    hit_rate_of_five: float | None
    """Among five personas drawn by chance, on average; `None` when there are no more than five."""
    by_persona: dict[str, float]
    """Each one's own share."""
    taken_for: dict[str, str]
    """Who most of a persona's missed replies were given to, where there are any."""


def check_voices(personas: Sequence[Persona], *, seed: int = 0) -> VoiceReport:
    """Measure how often a reply's nearest lines are its owner's; all personas in one language.

    Args:
        personas: at least two.
        seed: of the draw of fives.
    """
    owners, is_reply, similar = _similarities(personas)
    queries = np.flatnonzero(is_reply)
    everybody = np.arange(len(personas))
    found = _nearest(similar, owners, queries, everybody)
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
        asked = queries[np.isin(owners[queries], five)]
        rates.append((_nearest(similar, owners, asked, five) == owners[asked]).mean())
    return float(np.mean(rates))


def _nearest(
    similar: npt.NDArray[np.float32],
    owners: npt.NDArray[np.int64],
    queries: npt.NDArray[np.int64],
    among: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """For each query the owner whose lines are nearest: the sum of each one's best few similarities."""
    scores = []
    for owner in among:
        columns = np.sort(similar[np.ix_(queries, np.flatnonzero(owners == owner))], axis=1)
        scores.append(columns[:, -_NEIGHBOURS:].sum(axis=1))
    return np.asarray(among[np.argmax(scores, axis=0)])


def _similarities(
    personas: Sequence[Persona],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.float32]]:
    """Each line's owner, whether it is a reply, and all lines' cosines, a line's with itself 0."""
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
    """Rows of unit length, one for each document; units of a single document are left out."""
    held_by = Counter(unit for document in documents for unit in document)
    columns = {unit: number for number, unit in enumerate(u for u, n in held_by.items() if n > 1)}
    weights = np.zeros((len(documents), max(1, len(columns))), np.float32)
    for row, document in enumerate(documents):
        for unit, times in document.items():
            if unit in columns:
                rarity = np.log(len(documents) / held_by[unit])
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
