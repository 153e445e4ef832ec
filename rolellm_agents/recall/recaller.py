"""Recall for a strategy: from a line to the passages that go into the prompt, with the reasons."""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from rolellm_agents.errors import SettingsError
from rolellm_agents.persona import Persona
from rolellm_agents.plugins import load_plugin, plugin_names, qualified_name
from rolellm_agents.recall.bm25 import Bm25Index
from rolellm_agents.recall.chroma import ChromaIndex, ChromaStore
from rolellm_agents.recall.embeddings import DEFAULT_EMBEDDINGS, get_embeddings
from rolellm_agents.recall.fusion import FusedIndex
from rolellm_agents.recall.index import Hit, Index
from rolellm_agents.recall.passages import Passage
from rolellm_agents.recall.recalled import RecalledDemonstration, RecalledPassage
from rolellm_agents.text import did_you_mean, estimated_tokens

Method = Literal["bm25", "chroma", "hybrid"]
"""How passages are found: by words, by vectors, or by both, fused."""
METHODS: tuple[Method, ...] = get_args(Method)
"""Our own methods."""
IndexFactory = Callable[[Sequence[Passage], Persona, "RecallOptions"], Index]
"""`(passages, persona, options) -> index`: a custom recall method."""


@dataclass(frozen=True, kw_only=True)
class RecallOptions:
    """How passages are looked up."""

    method: str | IndexFactory | None = None
    """One of `METHODS`, an entry point of `rolellm.recall`, or a factory; the strategy's when None."""
    k: int = 5
    """The most passages; 5 as in the paper."""
    tokens: int = 1_000
    """Approximate number of tokens that all passages together may take."""
    floor: float | None = None
    """The closeness, from 0 to 1, below which a passage is left out; the method's own when None."""
    embeddings: str = DEFAULT_EMBEDDINGS
    """Embeddings for vectors; a name for `get_embeddings`."""
    chroma_url: str | None = None
    """URL of a Chroma server; a local folder when None."""
    chroma_folder: Path | None = None
    """Chroma's local folder; a folder in the user's cache when None."""

    @property
    def method_name(self) -> str | None:
        """The method as records name it; `module.name` of a factory."""
        return (
            self.method
            if self.method is None or isinstance(self.method, str)
            else qualified_name(self.method)
        )


def make_index(
    passages: Sequence[Passage], persona: Persona, method: str | IndexFactory, options: RecallOptions
) -> Index:
    """Create an index over a persona's passages.

    Raises:
        SettingsError: there is no such method.
        PluginError: the package that provides it cannot be used.
        StorageError: Chroma's store cannot be used.
        ModelError: the embeddings cannot be used.
    """
    if not isinstance(method, str):
        return method(passages, persona, options)
    match method:
        case "bm25":
            return Bm25Index(passages, persona.language, floor=options.floor)
        case "chroma":
            embeddings = get_embeddings(options.embeddings)
            store = ChromaStore(options.chroma_url, folder=options.chroma_folder)
            return ChromaIndex(passages, persona.id, embeddings, store, floor=options.floor)
        case "hybrid":
            return FusedIndex(
                [
                    make_index(passages, persona, "bm25", options),
                    make_index(passages, persona, "chroma", options),
                ]
            )
        case _:
            factory: IndexFactory | None = load_plugin("rolellm.recall", method)
            if factory is None:
                raise _unknown_method(method)
            return factory(passages, persona, options)


def method_named(name: str) -> str:
    """Check the name of a recall method, one of `METHODS` or an entry point of `rolellm.recall`.

    Returns:
        The name.

    Raises:
        SettingsError: there is no such method.
        PluginError: the package that provides it cannot be used.
    """
    if name in METHODS or load_plugin("rolellm.recall", name):
        return name
    raise _unknown_method(name)


def method_names() -> list[str]:
    """All names of recall methods: ours, then those of installed packages."""
    return [*METHODS, *plugin_names("rolellm.recall")]


def _unknown_method(name: str) -> SettingsError:
    known = method_names()
    return SettingsError(
        f"There is no recall method {name!r}{did_you_mean(name, known)}; known are {', '.join(known)}."
    )


class Recaller:
    """Finds the passages that are relevant to a line."""

    def __init__(
        self,
        passages: Sequence[Passage],
        persona: Persona,
        method: str | IndexFactory,
        options: RecallOptions,
    ) -> None:
        """Keep the passages; the first search builds the index, which may take a moment.

        The options may name another method; they say how many passages are returned, and how near they must
        be.
        """
        self._passages = list(passages)
        self._persona = persona
        self._method = options.method or method
        self.uses_vectors = self._method != "bm25"
        self._options = options
        self._lock = threading.Lock()
        self._index: Index | None = None

    def search(self, line: str) -> list[Hit]:
        """The `k` nearest passages at any distance, best first.

        Raises:
            StorageError: Chroma's store cannot be used.
            ModelError: the embeddings cannot be used.
        """
        if not self._passages or self._options.k <= 0:
            return []
        with self._lock:
            if self._index is None:
                self._index = make_index(self._passages, self._persona, self._method, self._options)
        return self._index.search(without_name(line, self._persona), self._options.k)

    def recall(
        self, line: str, *, tokens: int | None = None
    ) -> list[RecalledDemonstration | RecalledPassage]:
        """The hits of `search` that are near enough and fit the budget; the options' when None.

        Raises:
            StorageError: Chroma's store cannot be used.
            ModelError: the embeddings cannot be used.
        """
        budget = self._options.tokens if tokens is None else tokens
        return [_recalled(hit) for hit in within(self.search(line), budget)]


def without_name(line: str, persona: Persona) -> str:
    """The line without the persona's name, which says nothing about the question."""
    named = re.compile(rf"(?<!\w){re.escape(persona.name)}(?!\w)", re.IGNORECASE)
    if persona.language == "zh":
        named = re.compile(re.escape(persona.name))
    left = named.sub(" ", line)
    return left if re.search(r"\w", left) else line


def within(hits: Sequence[Hit], tokens: int) -> list[Hit]:
    """The near hits within a token budget, best first; a hit that does not fit is skipped."""
    kept: list[Hit] = []
    left = tokens
    for hit in hits:
        needed = estimated_tokens(hit.passage.text)
        if hit.is_near and needed <= left:
            kept.append(hit)
            left -= needed
    return kept


def _recalled(hit: Hit) -> RecalledDemonstration | RecalledPassage:
    passage = hit.passage
    if passage.kind == "demonstration":
        return RecalledDemonstration(
            kind="demonstration", index=passage.index, score=hit.score, why=hit.why
        )
    return RecalledPassage(
        kind="passage",
        of=passage.kind,
        text=passage.text,
        source=passage.source,
        score=hit.score,
        why=hit.why,
    )
