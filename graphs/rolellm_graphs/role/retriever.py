"""A persona's lines and knowledge as a LangChain retriever."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, PrivateAttr

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.recall import (
    Hit,
    Index,
    IndexFactory,
    LoreRecall,
    Passage,
    RecallOptions,
    demonstrations_of,
    knowledge_of,
    lore_of,
    make_index,
    method_named,
)
from rolellm_agents.recall.embeddings import DEFAULT_EMBEDDINGS
from rolellm_agents.recall.recaller import without_name
from rolellm_graphs.tracing.tags import run_metadata, run_tags

Searched = Literal["demonstration", "knowledge", "lore"]
"""The parts of a persona that can be searched."""


class PersonaRetriever(BaseRetriever):
    """Finds a persona's demonstrations, knowledge and lore, best first.

    Each document is one demonstration, one piece of knowledge, or one entry of a lorebook. Its `metadata`
    are `persona` (the id), `kind`, `title`, `place` (in the work, if known), `score` (the method's own;
    higher is nearer), `closeness` (from 0, nothing in common, to 1) and `why`.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    persona: Persona = Field(frozen=True)
    kinds: tuple[Searched, ...] = Field(frozen=True)
    """The parts that are searched."""
    k: int = Field(ge=0)
    """The most documents of a result; a call can override it."""
    floor: float = Field(ge=0, le=1)
    """The closeness below which a document is left out."""
    method: str | IndexFactory = Field(frozen=True)
    embeddings: str = Field(frozen=True)
    chroma_url: str | None = Field(frozen=True)
    chroma_folder: Path | None = Field(frozen=True)

    _played: Persona = PrivateAttr()
    _passages: list[Passage] = PrivateAttr()
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _index: Index | None = PrivateAttr(default=None)

    def __init__(
        self,
        persona: Persona | str,
        *,
        k: int = 5,
        kinds: Sequence[Searched] = ("demonstration", "knowledge"),
        method: str | IndexFactory = "bm25",
        floor: float = 0.0,
        embeddings: str = DEFAULT_EMBEDDINGS,
        chroma_url: str | None = None,
        chroma_folder: Path | None = None,
        user: str = DEFAULT_USER,
        **retriever: Any,
    ) -> None:
        """Collect the passages; the first call builds the index.

        Args:
            persona: a persona, or its id, name or path.
            k: the maximum number of documents of a result; `floor` may leave fewer.
            kinds: the parts to search: `demonstration`, `knowledge`, and `lore` without conditions other
                than keys.
            method: `bm25` (words), `chroma` (vectors), `hybrid` (both, fused), or a custom method.
            floor: the closeness, from 0 to 1, below which a document is left out; 0 keeps the `k` nearest
                documents at any distance.
            embeddings: the embeddings' name, for `rolellm_agents.recall.embeddings.get_embeddings`.
            chroma_url: URL of a Chroma server; None uses a local folder.
            chroma_folder: the local folder; defaults to one in the user's cache.
            user: the user's display name, for `{{user}}` in cards.
            retriever: options of every LangChain retriever, such as `tags` or `metadata`.

        Raises:
            PersonaError: there is no such persona, or its lorebook cannot be used.
            SettingsError: there is no such method.
        """
        found = load_persona(persona) if isinstance(persona, str) else persona
        traced = {
            "tags": [*run_tags(found), *(retriever.pop("tags", None) or [])],
            "metadata": {**run_metadata(found), **(retriever.pop("metadata", None) or {})},
        }
        super().__init__(
            persona=found,
            k=k,
            kinds=tuple(kinds),
            method=method_named(method) if isinstance(method, str) else method,
            floor=floor,
            embeddings=embeddings,
            chroma_url=chroma_url,
            chroma_folder=chroma_folder,
            **traced,
            **retriever,
        )
        self._played = with_macros(found, user)
        self._passages = _passages_of(self._played, self.kinds, user)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        limit = self.k if k is None else k
        if not self._passages or limit <= 0:
            return []
        with self._lock:
            if self._index is None:
                self._index = self._make_index()
        hits = self._index.search(without_name(query, self.persona), limit)
        return [self._document(hit) for hit in hits if hit.closeness >= self.floor]

    def _make_index(self) -> Index:
        options = RecallOptions(
            embeddings=self.embeddings, chroma_url=self.chroma_url, chroma_folder=self.chroma_folder
        )
        return make_index(self._passages, self.persona, self.method, options)

    def _document(self, hit: Hit) -> Document:
        title, place = self._title_and_place(hit.passage)
        return Document(
            id=hit.passage.id,
            page_content=hit.passage.text,
            metadata={
                "persona": self.persona.id,
                "kind": hit.passage.kind,
                "title": title,
                "place": place,
                "score": hit.score,
                "closeness": hit.closeness,
                "why": hit.why,
            },
        )

    def _title_and_place(self, passage: Passage) -> tuple[str, str]:
        if passage.kind == "demonstration":
            pair = self._played.demonstrations[passage.index]
            return pair.user, pair.place
        if passage.kind == "knowledge":
            piece = self._played.knowledge[passage.index]
            return piece.title, piece.place
        return passage.source, ""

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        # Every trace shows it, so the complete persona is left out.
        return [("persona", self.persona.id), ("method", self.method), ("k", self.k)]


def _passages_of(persona: Persona, kinds: Sequence[Searched], user: str) -> list[Passage]:
    passages: list[Passage] = []
    if "demonstration" in kinds:
        passages += demonstrations_of(persona)
    if "knowledge" in kinds:
        passages += knowledge_of(persona)
    if "lore" in kinds:
        passages += lore_of(LoreRecall(persona, user=user).books, persona, user)
    return passages
