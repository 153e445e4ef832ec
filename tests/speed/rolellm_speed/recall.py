"""Measures the accuracy of each recall method on RoleBench, and its speed on generated lines."""

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rolellm_agents.datasets import Sample, find_file, read_samples
from rolellm_agents.persona import Persona, list_personas
from rolellm_agents.recall.bm25 import Bm25Index
from rolellm_agents.recall.chroma import ChromaIndex, ChromaStore
from rolellm_agents.recall.embeddings import NamedEmbeddings, get_embeddings
from rolellm_agents.recall.fusion import FusedIndex
from rolellm_agents.recall.index import Index
from rolellm_agents.recall.passages import Passage, demonstrations_of, knowledge_of
from rolellm_agents.recall.recaller import without_name
from rolellm_agents.text.language import Language

Progress = Callable[[str], None]

_POOL = 50
"""Number of a role's answers among which a question is looked up."""
_QUERIES = 20
_SCRATCH = "rolellm-recall-"
_LEAST_WORDS, _MOST_WORDS = 8, 30


def measure_finding(
    folder: Path, embeddings: Sequence[str], language: Language, progress: Progress
) -> list[dict[str, Any]]:
    """Measure for each method how often a role-specific question finds its own answer among its role's.

    Args:
        folder: a folder of RoleBench.
        embeddings: names of embeddings; each is measured alone and fused with BM25.
        language: language of the questions.
        progress: called with a description of each step.

    Returns:
        `method`, `embeddings`, `hit@1`, `hit@5` and `n` for each method.

    Raises:
        RoleBenchError: the folder contains no role-specific questions.
        ModelError: the embeddings cannot be used.
    """
    pools = _pools(folder, language)
    rows = [_hits("bm25", "", pools, lambda passages, _: Bm25Index(passages, language), progress)]
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, ignore_cleanup_errors=True) as scratch:
        store = ChromaStore(folder=Path(scratch))
        for name in embeddings:
            chosen = get_embeddings(name)

            def by_vectors(
                passages: Sequence[Passage], owner: str, chosen: NamedEmbeddings = chosen
            ) -> Index:
                return ChromaIndex(passages, owner, chosen, store)

            def by_both(passages: Sequence[Passage], owner: str, chosen: NamedEmbeddings = chosen) -> Index:
                vectors = ChromaIndex(passages, owner, chosen, store)
                return FusedIndex([Bm25Index(passages, language), vectors])

            rows.append(_hits("chroma", name, pools, by_vectors, progress))
            rows.append(_hits("hybrid", name, pools, by_both, progress))
    return rows


def measure_speed(sizes: Sequence[int], embeddings: str, progress: Progress) -> list[dict[str, Any]]:
    """Measure indexing and searching of generated lines, by words and by vectors.

    Returns:
        `method`, `lines`, `index_s` and `query_ms` (the median of 20) for each method and size.
    """
    chosen = get_embeddings(embeddings)

    def by_words(passages: Sequence[Passage], _: Path) -> Index:
        return Bm25Index(passages, "en")

    def by_vectors(passages: Sequence[Passage], folder: Path) -> Index:
        return ChromaIndex(passages, "made-up", chosen, ChromaStore(folder=folder))

    rows = []
    for size in sizes:
        lines = _made_up_lines(size)
        passages = [Passage("knowledge", line, "made up", number) for number, line in enumerate(lines)]
        for method, make in (("bm25", by_words), ("chroma", by_vectors)):
            progress(f"{method}, {size:,} lines …")
            with tempfile.TemporaryDirectory(prefix=_SCRATCH, ignore_cleanup_errors=True) as scratch:
                rows.append({"method": method, "lines": size, **_times(make, passages, Path(scratch))})
    return rows


def _times(
    make: Callable[[Sequence[Passage], Path], Index], passages: Sequence[Passage], folder: Path
) -> dict[str, float]:
    began = time.perf_counter()
    index = make(passages, folder)
    indexed = time.perf_counter() - began
    return {"index_s": round(indexed, 2), "query_ms": round(_query_ms(index), 2)}


def _pools(folder: Path, language: Language) -> dict[str, list[Sample]]:
    """The role-specific samples of each role, split into pools."""
    samples: dict[str, list[Sample]] = {}
    for part in ("train", "test"):
        file = find_file(folder, part, kind="role_specific", language=language)
        for sample in read_samples(file):
            samples.setdefault(sample.role, []).append(sample)
    return {
        f"{role}/{start}": of_role[start : start + _POOL]
        for role, of_role in samples.items()
        for start in range(0, len(of_role), _POOL)
    }


def _hits(
    method: str,
    embeddings: str,
    pools: dict[str, list[Sample]],
    make: Callable[[Sequence[Passage], str], Index],
    progress: Progress,
) -> dict[str, Any]:
    progress(" ".join((method, embeddings)))
    first = among_five = asked = 0
    for number, samples in enumerate(pools.values()):
        role = Persona(id="role", name=samples[0].role, language=samples[0].language, description="-")
        passages = [
            Passage("demonstration", sample.references[0], role.name, place)
            for place, sample in enumerate(samples)
        ]
        index = make(passages, f"pool-{number}")
        for sample in samples:
            found = index.search(without_name(sample.question, role), 5)
            texts = [hit.passage.text for hit in found]
            first += texts[:1] == [sample.references[0]]
            among_five += sample.references[0] in texts
            asked += 1
    return {
        "method": method,
        "embeddings": embeddings,
        "hit@1": round(first / asked, 3),
        "hit@5": round(among_five / asked, 3),
        "n": asked,
    }


def _query_ms(index: Index) -> float:
    times = []
    for query in _made_up_lines(_QUERIES, seed=1):
        began = time.perf_counter()
        index.search(query, 5)
        times.append(time.perf_counter() - began)
    return median(times) * 1_000


def _made_up_lines(count: int, seed: int = 0) -> list[str]:
    """Lines of random words of the cast, with the cast's word frequencies."""
    chance = random.Random(seed)
    cast = [found.persona for found in list_personas().found if found.persona.language == "en"]
    words = [
        word
        for persona in cast
        for passage in (*demonstrations_of(persona), *knowledge_of(persona))
        for word in passage.text.split()
    ]
    return [
        " ".join(chance.choices(words, k=chance.randint(_LEAST_WORDS, _MOST_WORDS))) for _ in range(count)
    ]
